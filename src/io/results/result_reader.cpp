#include "io/results/result_reader.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <hdf5_hl.h>

#include <filesystem>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/containers/hdf5/hdf5_inside.hpp"
#include "io/results/result_names.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

using mesh::Column;
using Attribute = decltype(mesh::Result::attributes)::mapped_type;

std::string text_of(hid_t attribute, hid_t type) {
  const auto size = H5Tget_size(type);
  if (size > (std::size_t{1} << 26)) throw core::Error("an attribute is absurdly long");
  std::string text(size, '\0');
  check_hdf5(H5Aread(attribute, type, text.data()), "H5Aread");
  return text.c_str();
}

std::string variable_text_of(hid_t attribute, hid_t type) {
  char* pointer = nullptr;
  check_hdf5(H5Aread(attribute, type, &pointer), "H5Aread");
  const std::string text = pointer == nullptr ? "" : pointer;
  if (pointer != nullptr) H5free_memory(pointer);
  return text;
}

Attribute get_value(hid_t object, const std::string& name) {
  const AttributeHandle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), "H5Aopen");
  const TypeHandle type(H5Aget_type(attribute), "H5Aget_type");
  const SpaceHandle space(H5Aget_space(attribute), "H5Aget_space");
  if (H5Sget_simple_extent_npoints(space) != 1)
    throw core::Error(fmt::format("the attribute `{}` is not one value", name));
  if (H5Tget_class(type) == H5T_STRING)
    return H5Tis_variable_str(type) > 0 ? variable_text_of(attribute, type) : text_of(attribute, type);
  if (H5Tget_class(type) == H5T_INTEGER) {
    std::int64_t value = 0;
    check_hdf5(H5Aread(attribute, H5T_NATIVE_INT64, &value), "H5Aread");
    return value;
  }
  double value = 0.0;
  check_hdf5(H5Aread(attribute, H5T_NATIVE_DOUBLE, &value), "H5Aread");
  return value;
}

bool has_attribute(hid_t object, const char* name) {
  return check_hdf5(H5Aexists(object, name), "H5Aexists") > 0;
}

std::int64_t get_integer(hid_t object, const char* name) {
  const Attribute value = get_value(object, name);
  if (!std::holds_alternative<std::int64_t>(value))
    throw core::Error(fmt::format("the attribute `{}` is no integer", name));
  return std::get<std::int64_t>(value);
}

std::string get_text(hid_t object, const char* name) {
  if (!has_attribute(object, name)) return "";
  const Attribute value = get_value(object, name);
  return std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : "";
}

template <typename Info>
herr_t collect_name(hid_t, const char* name, const Info*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

herr_t keep_scale_name(hid_t, unsigned, hid_t scale, void* name) {
  char text[256] = "";
  H5Iget_name(scale, text, sizeof text);
  *static_cast<std::string*>(name) = text[0] == '/' ? text + 1 : text;
  return 1;
}

class ResultReader {
 public:
  explicit ResultReader(const std::string& path)
      : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen"),
        size_bytes_(static_cast<std::int64_t>(std::filesystem::file_size(path))) {}

  /// Whether the file says that a record ends it.
  bool promises_record() const { return get_text(file_, provenance).find(record_promise) != std::string::npos; }

  StoredResult read() {
    std::vector<std::string> names;
    check_hdf5(H5Literate(file_, H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, collect_name<H5L_info_t>, &names),
               "H5Literate");
    for (const std::string& name : names) read_dataset(name);
    read_attributes();
    return {std::move(result_), std::move(spread_)};
  }

 private:
  std::vector<hsize_t> shape_of(hid_t dataset) const {
    const SpaceHandle space(H5Dget_space(dataset), "H5Dget_space");
    std::vector<hsize_t> shape(
        static_cast<std::size_t>(check_hdf5(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims")));
    if (!shape.empty())
      check_hdf5(H5Sget_simple_extent_dims(space, shape.data(), nullptr), "H5Sget_simple_extent_dims");
    return shape;
  }

  void read_dataset(const std::string& name) {
    const DatasetHandle dataset = open_dataset(file_, name);
    const std::vector<hsize_t> shape = shape_of(dataset);
    const bool is_scale = check_hdf5(H5DSis_scale(dataset), "H5DSis_scale") > 0;
    if (is_scale && shape.size() == 1) {
      result_.dimensions[name] = static_cast<std::int64_t>(shape[0]);
      if (has_attribute(dataset, distributed_mark)) result_.distributed.insert(name);
    }
    if (is_scale && get_text(dataset, "NAME").starts_with(only_a_dimension)) return;
    Column column;
    column.name = name.starts_with(not_a_coordinate) ? name.substr(std::string(not_a_coordinate).size()) : name;
    column.unit = get_text(dataset, "units");
    column.description = get_text(dataset, "long_name");
    column.dimensions = is_scale ? std::vector{name} : dimensions_of(dataset, shape.size());
    if (is_spread(result_, column))
      find_rows(dataset, column);
    else
      read_values(dataset, column);
    result_.columns.push_back(std::move(column));
  }

  static std::vector<std::string> dimensions_of(hid_t dataset, std::size_t count) {
    std::vector<std::string> dimensions(count);
    for (unsigned axis = 0; axis < count; ++axis)
      check_hdf5(H5DSiterate_scales(dataset, axis, nullptr, keep_scale_name, &dimensions[axis]), "H5DSiterate_scales");
    return dimensions;
  }

  // Scales are read first, in the order in which they were made, so that all distributed dimensions are known by now.
  void find_rows(const DatasetHandle& dataset, Column& column) {
    const TypeHandle type(H5Dget_type(dataset), "H5Dget_type");
    const PropertiesHandle creation(H5Dget_create_plist(dataset), "H5Dget_create_plist");
    SpreadColumn spread{column.name, column.unit, column.description, column.dimensions[0]};
    spread.is_double = H5Tget_class(type) == H5T_FLOAT;
    spread.rows = result_.dimensions.at(spread.dimension);
    spread.offset = offset_of(dataset);
    spread.checksum = get_integer(dataset, rows_checksum);
    const hid_t expected = hdf5_type(spread.is_double ? ElementType::float64 : ElementType::int64);
    if (column.dimensions.size() != 1 || H5Pget_layout(creation) != H5D_CONTIGUOUS || H5Tequal(type, expected) <= 0 ||
        spread.rows > (size_bytes_ - spread.offset) / 8)
      throw core::Error(fmt::format("the rows of `{}` do not lie in the file as Sidestream writes them", column.name));
    if (!spread.is_double) column.values = std::vector<std::int64_t>();
    spread_.push_back(std::move(spread));
  }

  void read_values(hid_t dataset, Column& column) const {
    const TypeHandle type(H5Dget_type(dataset), "H5Dget_type");
    const SpaceHandle space(H5Dget_space(dataset), "H5Dget_space");
    const std::int64_t count = check_hdf5(H5Sget_simple_extent_npoints(space), "H5Sget_simple_extent_npoints");
    if (count > size_bytes_)
      throw core::Error(fmt::format("`{}` claims {} values, more than the file can hold", column.name, count));
    const auto fill = [&](auto values, hid_t memory_type) {
      values.resize(static_cast<std::size_t>(count));
      if (count > 0) check_hdf5(H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "H5Dread");
      column.values = std::move(values);
    };
    if (H5Tget_class(type) == H5T_INTEGER)
      fill(std::vector<std::int64_t>(), H5T_NATIVE_INT64);
    else
      fill(std::vector<double>(), H5T_NATIVE_DOUBLE);
  }

  void read_attributes() {
    std::vector<std::string> names;
    check_hdf5(H5Aiterate2(file_, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name<H5A_info_t>, &names),
               "H5Aiterate2");
    for (const std::string& name : names)
      if (name != provenance && name != "summary") result_.attributes[name] = get_value(file_, name);
    result_.summary = get_text(file_, "summary");
  }

  FileHandle file_;
  std::int64_t size_bytes_;
  mesh::Result result_;
  std::vector<SpreadColumn> spread_;
};

}  // namespace

namespace {

// Runs `work(reader, whether a record ends the file)`, whose errors are to name the file.
template <typename F>
auto with_reader(const std::string& path, F work) {
  const QuietHdf5 quiet;
  try {
    const bool has_record = check_commit_record(path);
    ResultReader reader(path);
    if (!has_record && reader.promises_record())
      throw core::Error("the record at its end is missing", path,
                        "it was cut short, or another program opened it for writing: if you did, delete its attribute "
                        "`_NCProperties`, and it is taken without a checksum");
    return work(reader, has_record);
  } catch (const core::Error& error) {
    throw core::Error(error.where().empty() ? "this is not a sound result file: " + error.message() : error.message(),
                      path, error.hint());
  }
}

}  // namespace

StoredResult read_stored_result(const std::string& path) {
  return with_reader(path, [](ResultReader& reader, bool has_record) {
    StoredResult stored = reader.read();
    // Of these, earlier versions have a record without saying so.
    if (!stored.result.distributed.empty() && !has_record) throw core::Error("the record at its end is missing");
    return stored;
  });
}

bool has_right_record(const std::string& path) {
  return with_reader(path, [](const ResultReader&, bool has_record) { return has_record; });
}

}  // namespace sidestream::io
