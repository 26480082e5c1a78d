#include "hdf5_objects.hpp"

namespace sidestream::bench {

hid_t hdf5_type(io::ElementType type) {
  switch (type) {
    case io::ElementType::float32:
      return H5T_IEEE_F32LE;
    case io::ElementType::float64:
      return H5T_IEEE_F64LE;
    case io::ElementType::int32:
      return H5T_STD_I32LE;
    case io::ElementType::int64:
      return H5T_STD_I64LE;
  }
  return H5I_INVALID_HID;
}

Hdf5Dataset create_dataset(hid_t file, const std::string& name, io::ElementType type,
                           const std::vector<std::int64_t>& shape) {
  const Hdf5Properties creation(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate"),
      links(H5Pcreate(H5P_LINK_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
  check_hdf5(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  check_hdf5(H5Pset_create_intermediate_group(links, 1), "H5Pset_create_intermediate_group");
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  const Hdf5Space space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), "H5Screate_simple");
  return Hdf5Dataset(H5Dcreate2(file, name.c_str(), hdf5_type(type), space, links, creation, H5P_DEFAULT),
                     "H5Dcreate2");
}

Hdf5File create_serial_file(const std::string& path) {
  return Hdf5File(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "H5Fcreate");
}

Hdf5File open_serial_file(const std::string& path) {
  return Hdf5File(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen");
}

}  // namespace sidestream::bench
