#include "io/methods/pnetcdf_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "io/containers/netcdf/netcdf_handle.hpp"
#include "io/methods/mpi_file.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

NetcdfFile::NetcdfFile(const ArrayWrite& work) : path_(work.path) {
  const comm::Communicator plain = work.comm.split(0);
  const MpiInfo info;
  plain.agree_on(
      [&] { check_netcdf(ncmpi_open(plain.raw(), path_.c_str(), NC_WRITE, info.raw(), &id_), "ncmpi_open", path_); });
}

NetcdfFile::~NetcdfFile() {
  if (id_ >= 0) ncmpi_close(id_);
}

int NetcdfFile::variable(const Array& array, std::int64_t rows) const {
  const std::string where = fmt::format("{}, `{}`", path_, array.name);
  int variable = -1, dimensions = 0;
  nc_type type = NC_NAT;
  check_netcdf(ncmpi_inq_varid(id_, array.name.c_str(), &variable), "ncmpi_inq_varid", where);
  check_netcdf(ncmpi_inq_vartype(id_, variable, &type), "ncmpi_inq_vartype", where);
  check_netcdf(ncmpi_inq_varndims(id_, variable, &dimensions), "ncmpi_inq_varndims", where);
  std::vector<int> axes(static_cast<std::size_t>(dimensions));
  check_netcdf(ncmpi_inq_vardimid(id_, variable, axes.data()), "ncmpi_inq_vardimid", where);
  std::vector<std::int64_t> shape;
  for (const int axis : axes) {
    MPI_Offset length = 0;
    check_netcdf(ncmpi_inq_dimlen(id_, axis, &length), "ncmpi_inq_dimlen", where);
    shape.push_back(length);
  }
  std::vector<std::int64_t> wanted = array.row_shape;
  wanted.insert(wanted.begin(), rows);
  if (type != netcdf_type(array.type) || shape != wanted)
    throw core::Error("an array of the file is not what is to be written into it", where);
  return variable;
}

void NetcdfFile::close() {
  check_netcdf(ncmpi_close(std::exchange(id_, -1)), "ncmpi_close", path_);
}

NetcdfRanges::NetcdfRanges(const Array& array, const Part& part) {
  const std::size_t axes = array.row_shape.size() + 1;
  numbers_.assign(2 * axes * part.ranges.size(), 0);
  MPI_Offset* next = numbers_.data();
  for (const Rows& rows : part.ranges) {
    starts_.push_back(next);
    counts_.push_back(next + axes);
    next[0] = rows.first;
    next[axes] = rows.count;
    std::ranges::copy(array.row_shape, next + axes + 1);
    next += 2 * axes;
  }
}

MPI_Datatype netcdf_memory_type(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return MPI_FLOAT;
    case ElementType::float64:
      return MPI_DOUBLE;
    case ElementType::int32:
      return MPI_INT;
    case ElementType::int64:
      return MPI_LONG_LONG;
  }
  return MPI_DATATYPE_NULL;
}

void pack_native(const ArrayGroup& group, std::size_t array, std::span<std::byte> out) {
  pack_array(group, array, out);
  if constexpr (std::endian::native == std::endian::big) return;
  const auto size = static_cast<std::size_t>(size_of(group.arrays[array].type));
  for (std::size_t begin = 0; begin + size <= out.size(); begin += size) std::ranges::reverse(out.subspan(begin, size));
}

}  // namespace sidestream::io
