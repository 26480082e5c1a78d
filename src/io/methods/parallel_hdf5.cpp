#include "io/methods/parallel_hdf5.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

std::string reasons_of(std::uint32_t causes) {
  constexpr std::array<std::pair<std::uint32_t, const char*>, 6> known{
      {{H5D_MPIO_SET_INDEPENDENT, "it was asked to be independent"},
       {H5D_MPIO_DATATYPE_CONVERSION, "numbers are converted"},
       {H5D_MPIO_DATA_TRANSFORMS, "data are transformed"},
       {H5D_MPIO_MPI_OPT_TYPES_ENV_VAR_DISABLED, "HDF5_MPI_OPT_TYPES switches it off"},
       {H5D_MPIO_NOT_SIMPLE_OR_SCALAR_DATASPACES, "the selection is neither simple nor a number"},
       {H5D_MPIO_NOT_CONTIGUOUS_OR_CHUNKED_DATASET, "the array is neither contiguous nor chunked"}}};
  std::string text;
  for (const auto& [cause, reason] : known)
    if ((causes & cause) != 0) text += (text.empty() ? "" : ", ") + std::string(reason);
  return text.empty() ? fmt::format("cause {:#x}", causes) : text;
}

}  // namespace

ParallelAccess::ParallelAccess(const ArrayWrite& work) : path_(work.path), plain_(work.comm.split(0)) {}

FileHandle ParallelAccess::open() const {
  const PropertiesHandle access(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
  check_hdf5(H5Pset_fapl_mpio(access, plain_.raw(), info_.raw()), "H5Pset_fapl_mpio");
  return FileHandle(H5Fopen(path_.c_str(), H5F_ACC_RDWR, access), "H5Fopen");
}

ParallelHdf5Write::ParallelHdf5Write(const ArrayWrite& work, bool is_collective)
    : work_(work), transfer_(transfer_properties(is_collective)) {}

PropertiesHandle transfer_properties(bool is_collective) {
  PropertiesHandle transfer(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
  check_hdf5(H5Pset_dxpl_mpio(transfer, is_collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT),
             "H5Pset_dxpl_mpio");
  return transfer;
}

void require_collective(hid_t transfer, const std::string& array) {
  H5D_mpio_actual_io_mode_t mode = H5D_MPIO_NO_COLLECTIVE;
  check_hdf5(H5Pget_mpio_actual_io_mode(transfer, &mode), "H5Pget_mpio_actual_io_mode");
  std::uint32_t local = 0, global = 0;
  check_hdf5(H5Pget_mpio_no_collective_cause(transfer, &local, &global), "H5Pget_mpio_no_collective_cause");
  if (mode != H5D_MPIO_NO_COLLECTIVE && global == H5D_MPIO_COLLECTIVE) return;
  throw core::Error(
      fmt::format("HDF5 wrote an array independently that it was asked to write collectively: {}", reasons_of(global)),
      fmt::format("`{}`", array), "use the method `hdf5-independent`, which does not hide it, or `engine`");
}

DatasetHandle open_array(hid_t file, const Array& array, std::int64_t rows) {
  DatasetHandle dataset(H5Dopen2(file, array.name.c_str(), H5P_DEFAULT), "H5Dopen2");
  const TypeHandle type(H5Dget_type(dataset), "H5Dget_type");
  const SpaceHandle space(H5Dget_space(dataset), "H5Dget_space");
  const bool is_of_type = check_hdf5(H5Tequal(type, hdf5_type(array.type)), "H5Tequal") > 0;
  if (!is_of_type || H5Sget_simple_extent_npoints(space) != rows * array.row_elements())
    throw core::Error("an array of the file is not what is to be written into it", fmt::format("`{}`", array.name));
  return dataset;
}

SpaceHandle selected_rows(hid_t dataset, const Part& part) {
  SpaceHandle space(H5Dget_space(dataset), "H5Dget_space");
  std::vector<hsize_t> count(
      static_cast<std::size_t>(check_hdf5(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims")));
  check_hdf5(H5Sget_simple_extent_dims(space, count.data(), nullptr), "H5Sget_simple_extent_dims");
  std::vector<hsize_t> start(count.size(), 0);
  check_hdf5(H5Sselect_none(space), "H5Sselect_none");
  H5S_seloper_t operation = H5S_SELECT_SET;
  for (const Rows& rows : part.ranges) {
    start[0] = static_cast<hsize_t>(rows.first);
    count[0] = static_cast<hsize_t>(rows.count);
    check_hdf5(H5Sselect_hyperslab(space, operation, start.data(), nullptr, count.data(), nullptr),
               "H5Sselect_hyperslab");
    operation = H5S_SELECT_OR;
  }
  return space;
}

}  // namespace sidestream::io
