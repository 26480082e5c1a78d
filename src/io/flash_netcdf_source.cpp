#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "flash_names.hpp"
#include "flash_rows.hpp"
#include "flash_source.hpp"
#include "netcdf_handle.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr std::int64_t longest_attribute = std::int64_t{1} << 28;

struct Variable {
  int id = -1;
  nc_type type = NC_NAT;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;
  bool has_records = false;  // rows between those of other variables
};

std::int64_t size_of_type(nc_type type) {
  switch (type) {
    case NC_BYTE:
    case NC_UBYTE:
    case NC_CHAR:
      return 1;
    case NC_SHORT:
    case NC_USHORT:
      return 2;
    case NC_INT:
    case NC_UINT:
    case NC_FLOAT:
      return 4;
    default:
      return 8;
  }
}

class NetcdfFlashSource : public FlashSource {
 public:
  explicit NetcdfFlashSource(const std::string& path) : file_(path, NetcdfHandle::Open::read), bytes_(path) {
    for (const char* name : {"scalars", "runtime_parameters"}) {
      int id = -1;
      if (ncmpi_inq_varid(file_.id(), name, &id) == NC_NOERR) read_attributes(id);
    }
    read_attributes(NC_GLOBAL);
  }

  const std::string& path() const override { return file_.path(); }
  ByteOrder order() const override { return ByteOrder::big; }

  bool has(const std::string& name) const override {
    if (is_empty_array(name)) return true;
    int id = -1;
    return ncmpi_inq_varid(file_.id(), flash_netcdf_name(name).c_str(), &id) == NC_NOERR;
  }
  std::vector<std::int64_t> shape(const std::string& name) const override {
    if (name == "tracer particles" && is_empty_array(name))
      return {0, static_cast<std::int64_t>(names("particle names").size())};
    return is_empty_array(name) ? std::vector<std::int64_t>{0} : variable(name).shape;
  }
  std::vector<double> doubles(const std::string& name) const override {
    const Variable found = variable(name);
    std::vector<double> values(elements(found));
    if (!values.empty())
      file_.check(ncmpi_get_var_double_all(file_.id(), found.id, values.data()), "ncmpi_get_var_double_all", name);
    return values;
  }
  std::vector<std::int64_t> integers(const std::string& name) const override {
    const Variable found = variable(name);
    std::vector<long long> values(elements(found));
    if (!values.empty())
      file_.check(ncmpi_get_var_longlong_all(file_.id(), found.id, values.data()), "ncmpi_get_var_longlong_all", name);
    return {values.begin(), values.end()};
  }
  std::vector<double> double_rows(const std::string& name, std::int64_t first, std::int64_t count) const override {
    const Variable found = variable(name);
    check_rows(found, name, first, count);
    std::vector<MPI_Offset> start(found.shape.size(), 0), length(found.shape.begin(), found.shape.end());
    start[0] = first;
    length[0] = count;
    std::vector<double> values(elements(found) / static_cast<std::size_t>(std::max<std::int64_t>(1, found.shape[0])) *
                               static_cast<std::size_t>(count));
    if (!values.empty())
      file_.check(ncmpi_get_vara_double_all(file_.id(), found.id, start.data(), length.data(), values.data()),
                  "ncmpi_get_vara_double_all", name);
    return values;
  }
  std::vector<std::byte> row_bytes(const std::string& name, ElementType type, std::int64_t first,
                                   std::int64_t count) const override {
    const Variable found = variable(name);
    check_rows(found, name, first, count);
    if (found.type != netcdf_type(type) || found.has_records) fail("the array has another type of numbers", name);
    const std::int64_t row =
        std::accumulate(found.shape.begin() + 1, found.shape.end(), size_of_type(found.type), std::multiplies{});
    return bytes_.bytes(found.offset + first * row, count * row);
  }
  ElementType real_type(const std::string& name) const override {
    return variable(name).type == NC_FLOAT ? ElementType::float32 : ElementType::float64;
  }
  std::vector<std::string> names(const std::string& name) const override {
    const char* const stem = name == "unknown names" ? "unknown_" : "particle_props_name_";
    std::vector<std::string> found;
    while (const auto each = text(fmt::format("{}{}", stem, found.size()))) found.push_back(*each);
    return found;
  }
  std::string metadata() const override { return text("sidestream").value_or(""); }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& name) const {
    throw core::Error(what, fmt::format("{}, `{}`", path(), name), "the file is damaged");
  }

  // Arrays of no particles are not there: netCDF has no axis without length.
  bool is_empty_array(const std::string& name) const {
    if (name == "particle names") return text("particle_props_name_0").has_value();
    int id = -1;
    return (name == "tracer particles" || name == "particle ids") && text("sidestream") &&
           text("particle_props_name_0") && ncmpi_inq_varid(file_.id(), "particles", &id) != NC_NOERR;
  }

  std::size_t elements(const Variable& variable) const {
    return static_cast<std::size_t>(
        std::accumulate(variable.shape.begin(), variable.shape.end(), std::int64_t{1}, std::multiplies{}));
  }

  // Its length is checked against that of the file: PnetCDF reads zeros from behind the end.
  Variable variable(const std::string& name) const {
    const std::string in_file = flash_netcdf_name(name);
    Variable found;
    int axes = 0, record_axis = -1;
    file_.check(ncmpi_inq_varid(file_.id(), in_file.c_str(), &found.id), "ncmpi_inq_varid", in_file);
    file_.check(ncmpi_inq_vartype(file_.id(), found.id, &found.type), "ncmpi_inq_vartype", in_file);
    file_.check(ncmpi_inq_varndims(file_.id(), found.id, &axes), "ncmpi_inq_varndims", in_file);
    file_.check(ncmpi_inq_unlimdim(file_.id(), &record_axis), "ncmpi_inq_unlimdim", in_file);
    std::vector<int> ids(static_cast<std::size_t>(axes));
    file_.check(ncmpi_inq_vardimid(file_.id(), found.id, ids.data()), "ncmpi_inq_vardimid", in_file);
    MPI_Offset offset = 0;
    file_.check(ncmpi_inq_varoffset(file_.id(), found.id, &offset), "ncmpi_inq_varoffset", in_file);
    found.offset = offset;
    std::int64_t left = (bytes_.size_bytes() - offset) / size_of_type(found.type);
    for (const int id : ids) {
      MPI_Offset length = 0;
      file_.check(ncmpi_inq_dimlen(file_.id(), id, &length), "ncmpi_inq_dimlen", in_file);
      if (length < 0 || (length > 0 && left / length == 0)) fail("the file is shorter than its arrays", in_file);
      if (length > 0) left /= length;
      found.shape.push_back(length);
      found.has_records = found.has_records || id == record_axis;
    }
    return found;
  }

  void check_rows(const Variable& variable, const std::string& name, std::int64_t first, std::int64_t count) const {
    if (variable.shape.empty() || first < 0 || count < 0 || first > variable.shape[0] - count)
      fail(fmt::format("there are no rows {} to {}", first, first + count), name);
  }

  void read_attributes(int variable) {
    int count = 0;
    if (variable == NC_GLOBAL)
      file_.check(ncmpi_inq_natts(file_.id(), &count), "ncmpi_inq_natts");
    else
      file_.check(ncmpi_inq_varnatts(file_.id(), variable, &count), "ncmpi_inq_varnatts");
    for (int number = 0; number < count; ++number) {
      std::array<char, NC_MAX_NAME + 1> name{};
      file_.check(ncmpi_inq_attname(file_.id(), variable, number, name.data()), "ncmpi_inq_attname");
      read_attribute(variable, name.data());
    }
  }

  void read_attribute(int variable, const std::string& name) {
    nc_type type = NC_NAT;
    MPI_Offset length = 0;
    file_.check(ncmpi_inq_att(file_.id(), variable, name.c_str(), &type, &length), "ncmpi_inq_att", name);
    if (length < 0 || length > std::min(longest_attribute, bytes_.size_bytes()))
      fail("the text claims to be longer than the file", name);
    if (type == NC_CHAR) {
      std::string value(static_cast<std::size_t>(length), '\0');
      file_.check(ncmpi_get_att_text(file_.id(), variable, name.c_str(), value.data()), "ncmpi_get_att_text", name);
      texts_[name] = without_padding(std::move(value));
    } else if (length == 1) {
      file_.check(ncmpi_get_att_double(file_.id(), variable, name.c_str(), &numbers_[name]), "ncmpi_get_att_double",
                  name);
    }
  }

  NetcdfHandle file_;
  InputFile bytes_;
};

}  // namespace

std::unique_ptr<FlashSource> open_flash_netcdf(const std::string& path) {
  return std::make_unique<NetcdfFlashSource>(path);
}

}  // namespace sidestream::io
