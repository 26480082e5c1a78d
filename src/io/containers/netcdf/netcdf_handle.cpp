#include "io/containers/netcdf/netcdf_handle.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::io {

NetcdfHandle::NetcdfHandle(const std::string& path) : path_(path) {
  check(ncmpi_create(MPI_COMM_SELF, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id_), "ncmpi_create");
}

NetcdfHandle::~NetcdfHandle() {
  if (id_ >= 0) ncmpi_close(id_);
}

void NetcdfHandle::check(int status, const char* call, const std::string& variable) const {
  check_netcdf(status, call, variable.empty() ? path_ : fmt::format("{}, `{}`", path_, variable));
}

void NetcdfHandle::close() {
  check(ncmpi_close(std::exchange(id_, -1)), "ncmpi_close");
}

void check_netcdf(int status, const char* call, const std::string& where) {
  if (status != NC_NOERR) throw core::Error(fmt::format("{} failed: {}", call, ncmpi_strerror(status)), where);
}

nc_type netcdf_type(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return NC_FLOAT;
    case ElementType::float64:
      return NC_DOUBLE;
    case ElementType::int32:
      return NC_INT;
    case ElementType::int64:
      return NC_INT64;
  }
  return NC_NAT;
}

}  // namespace sidestream::io
