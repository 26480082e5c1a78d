#include "io/containers/hdf5/hdf5_attributes.hpp"

#include <fmt/format.h>

#include "io/containers/hdf5/hdf5_inside.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

std::optional<std::vector<double>> numbers_of_attribute(const Hdf5Reader& file, const std::string& object,
                                                        const std::string& attribute) {
  if (!file.has(object)) return std::nullopt;
  constexpr hssize_t most = 1024;
  const QuietHdf5 quiet;
  try {
    const ObjectHandle owner = open_object(file.file(), object);
    if (check_hdf5(H5Aexists(owner, attribute.c_str()), "H5Aexists") == 0) return std::nullopt;
    const AttributeHandle opened(H5Aopen(owner, attribute.c_str(), H5P_DEFAULT), "H5Aopen");
    const TypeHandle type(H5Aget_type(opened), "H5Aget_type");
    const SpaceHandle space(H5Aget_space(opened), "H5Aget_space");
    const hssize_t count = check_hdf5(H5Sget_simple_extent_npoints(space), "H5Sget_simple_extent_npoints");
    if (H5Tget_class(type) != H5T_INTEGER && H5Tget_class(type) != H5T_FLOAT)
      throw core::Error("the attribute is no number");
    if (count < 1 || count > most) throw core::Error(fmt::format("the attribute has {} numbers", count));
    std::vector<double> values(static_cast<std::size_t>(count));
    check_hdf5(H5Aread(opened, H5T_NATIVE_DOUBLE, values.data()), "H5Aread");
    return values;
  } catch (const core::Error& error) {
    throw core::Error(error.message(), fmt::format("{}, attribute `{}` of `{}`", file.path(), attribute, object),
                      "the file is damaged");
  }
}

}  // namespace sidestream::io
