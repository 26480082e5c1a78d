#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "io/containers/netcdf/netcdf_header.hpp"
#include "io/formats/flash/flash_names.hpp"
#include "io/formats/flash/flash_source.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

NetcdfType netcdf_type_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return NetcdfType::float32;
    case ElementType::float64:
      return NetcdfType::float64;
    case ElementType::int32:
      return NetcdfType::int32;
    case ElementType::int64:
      return NetcdfType::int64;
  }
  return NetcdfType::text;
}

class NetcdfFlashSource : public FlashSource {
 public:
  explicit NetcdfFlashSource(const std::string& path) : file_(path), header_(read_netcdf_header(file_)) {
    for (const char* name : {"scalars", "runtime_parameters"})
      if (const auto found = header_.variables.find(name); found != header_.variables.end())
        take_attributes(found->second.attributes);
    take_attributes(header_.attributes);
  }

  const std::string& path() const override { return file_.path(); }
  ByteOrder order() const override { return ByteOrder::big; }

  bool has(const std::string& name) const override {
    return is_empty_array(name) || header_.variables.contains(flash_netcdf_name(name));
  }
  std::vector<std::int64_t> shape(const std::string& name) const override {
    if (name == "tracer particles" && is_empty_array(name))
      return {0, static_cast<std::int64_t>(names("particle names").size())};
    return is_empty_array(name) ? std::vector<std::int64_t>{0} : variable(name).shape;
  }
  std::vector<double> doubles(const std::string& name) const override {
    const NetcdfVariable& found = variable(name);
    return netcdf_doubles(found.type, rows(found, name, 0, found.shape.empty() ? 1 : found.shape[0]));
  }
  std::vector<std::int64_t> integers(const std::string& name) const override {
    const NetcdfVariable& found = variable(name);
    return netcdf_integers(found.type, rows(found, name, 0, found.shape.empty() ? 1 : found.shape[0]));
  }
  std::vector<double> double_rows(const std::string& name, std::int64_t first, std::int64_t count) const override {
    const NetcdfVariable& found = variable(name);
    return netcdf_doubles(found.type, rows(found, name, first, count));
  }
  std::vector<std::byte> row_bytes(const std::string& name, ElementType type, std::int64_t first,
                                   std::int64_t count) const override {
    const NetcdfVariable& found = variable(name);
    if (found.type != netcdf_type_of(type)) fail("the array has another type of numbers", name);
    return rows(found, name, first, count);
  }
  std::optional<FilePlace> place_of_rows(const std::string& name, std::int64_t first,
                                         std::int64_t count) const override {
    const NetcdfVariable& found = variable(name);
    return FilePlace{path(), found.offset + first * row_bytes_of(found), count * row_bytes_of(found)};
  }
  std::string path_of(const std::string&, std::int64_t) const override { return path(); }
  ElementType real_type(const std::string& name) const override {
    return variable(name).type == NetcdfType::float32 ? ElementType::float32 : ElementType::float64;
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
    return (name == "tracer particles" || name == "particle ids") && text("sidestream") &&
           text("particle_props_name_0") && !header_.variables.contains("particles");
  }

  const NetcdfVariable& variable(const std::string& name) const {
    const auto found = header_.variables.find(flash_netcdf_name(name));
    if (found == header_.variables.end()) fail("there is no array of this name", name);
    if (found->second.has_records) fail("arrays that grow by records are not FLASH's", name);
    return found->second;
  }

  std::vector<std::byte> rows(const NetcdfVariable& of, const std::string& name, std::int64_t first,
                              std::int64_t count) const {
    const std::int64_t total = of.shape.empty() ? 1 : of.shape[0];
    if (first < 0 || count < 0 || first > total - count)
      fail(fmt::format("there are no rows {} to {}", first, first + count), name);
    return file_.bytes(of.offset + first * row_bytes_of(of), count * row_bytes_of(of));
  }

  static std::int64_t row_bytes_of(const NetcdfVariable& of) {
    std::int64_t row = size_of(of.type);
    for (std::size_t axis = 1; axis < of.shape.size(); ++axis) row *= of.shape[axis];
    return row;
  }

  void take_attributes(const NetcdfAttributes& attributes) {
    for (const auto& [name, attribute] : attributes)
      if (attribute.type == NetcdfType::text)
        texts_[name] = without_padding({reinterpret_cast<const char*>(attribute.bytes.data()), attribute.bytes.size()});
      else if (const auto values = netcdf_doubles(attribute.type, attribute.bytes); values.size() == 1)
        numbers_[name] = values[0];
  }

  InputFile file_;
  NetcdfHeader header_;
};

}  // namespace

std::unique_ptr<FlashSource> open_flash_netcdf(const std::string& path) {
  return std::make_unique<NetcdfFlashSource>(path);
}

}  // namespace sidestream::io
