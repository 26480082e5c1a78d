#include "sidestream/io/result_file.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "io/hdf5/hdf5_handle.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

using mesh::Column;
using mesh::Result;
using Attribute = ResultAttributes::mapped_type;

// The names by which netCDF-4 marks what HDF5 has no word for.
constexpr const char* only_a_dimension = "This is a netCDF dimension but not a netCDF variable.";
constexpr const char* not_a_coordinate =
    "_nc4_non_coord_";  // prefix of a variable that has a dimension's name by chance
constexpr const char* dimension_id = "_Netcdf4Dimid";
constexpr const char* provenance = "_NCProperties";
constexpr unsigned ordered = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;

void put_attribute(hid_t object, const std::string& name, hid_t type, const void* value) {
  const SpaceHandle space(H5Screate(H5S_SCALAR), "H5Screate");
  const AttributeHandle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                                  "H5Acreate2");
  check_hdf5(H5Awrite(attribute, type, value), "H5Awrite");
}

void put_text(hid_t object, const std::string& name, const std::string& text) {
  const TypeHandle type(H5Tcopy(H5T_C_S1), "H5Tcopy");
  check_hdf5(H5Tset_size(type, std::max<std::size_t>(text.size(), 1)), "H5Tset_size");
  check_hdf5(H5Tset_cset(type, H5T_CSET_UTF8), "H5Tset_cset");
  put_attribute(object, name, type, text.c_str());
}

void put_value(hid_t object, const std::string& name, const Attribute& value) {
  if (const auto* text = std::get_if<std::string>(&value)) put_text(object, name, *text);
  if (const auto* number = std::get_if<double>(&value)) put_attribute(object, name, H5T_NATIVE_DOUBLE, number);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) put_attribute(object, name, H5T_NATIVE_INT64, integer);
}

bool is_coordinate(const Column& column) {
  return column.dimensions.size() == 1 && column.dimensions[0] == column.name;
}

// An HDF5 file in memory, so that the disk sees one plain write whose errors are ours to report.
class ResultWriter {
 public:
  explicit ResultWriter(const Result& result) : result_(result), file_(create()) {
    put_text(file_, provenance, "version=2,sidestream=" SIDESTREAM_VERSION);
  }

  void write_all(const ResultAttributes& extra) {
    write_dimensions();
    for (const Column& column : result_.columns)
      if (!is_coordinate(column)) write_variable(column);
    ResultAttributes attributes = extra;
    attributes.insert(result_.attributes.begin(), result_.attributes.end());
    if (!result_.summary.empty()) attributes["summary"] = result_.summary;
    for (const auto& [name, value] : attributes) put_value(file_, name, value);
  }

  std::string bytes() const {
    check_hdf5(H5Fflush(file_, H5F_SCOPE_GLOBAL), "H5Fflush");
    const ssize_t size = check_hdf5(H5Fget_file_image(file_, nullptr, 0), "H5Fget_file_image");
    std::string image(static_cast<std::size_t>(size), '\0');
    check_hdf5(H5Fget_file_image(file_, image.data(), image.size()), "H5Fget_file_image");
    return image;
  }

 private:
  static FileHandle create() {
    const PropertiesHandle access(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate"),
        creation(H5Pcreate(H5P_FILE_CREATE), "H5Pcreate");
    check_hdf5(H5Pset_fapl_core(access, std::size_t{1} << 20, false), "H5Pset_fapl_core");
    check_hdf5(H5Pset_link_creation_order(creation, ordered), "H5Pset_link_creation_order");
    check_hdf5(H5Pset_attr_creation_order(creation, ordered), "H5Pset_attr_creation_order");
    check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");
    return FileHandle(H5Fcreate("result", H5F_ACC_TRUNC, creation, access), "H5Fcreate");
  }

  DatasetHandle create_dataset(const std::string& name, hid_t type, const std::vector<hsize_t>& shape) const {
    const PropertiesHandle creation(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
    check_hdf5(H5Pset_attr_creation_order(creation, ordered), "H5Pset_attr_creation_order");
    check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");  // the same result, the same bytes
    const SpaceHandle space(
        shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
        "H5Screate_simple");
    return DatasetHandle(H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                         "H5Dcreate2");
  }

  DatasetHandle write_column(const std::string& name, const Column& column) const {
    std::vector<hsize_t> shape;
    for (const std::string& dimension : column.dimensions)
      shape.push_back(static_cast<hsize_t>(result_.dimensions.at(dimension)));
    const bool is_double = std::holds_alternative<std::vector<double>>(column.values);
    const hid_t type = is_double ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64;
    DatasetHandle dataset = create_dataset(name, type, shape);
    std::visit(
        [&](const auto& values) {
          if (!values.empty())
            check_hdf5(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "H5Dwrite");
        },
        column.values);
    if (!column.unit.empty()) put_text(dataset, "units", column.unit);
    if (!column.description.empty()) put_text(dataset, "long_name", column.description);
    return dataset;
  }

  DatasetHandle write_scale(const std::string& name, std::int64_t length) const {
    const auto coordinate = std::find_if(result_.columns.begin(), result_.columns.end(), [&](const Column& column) {
      return column.name == name && is_coordinate(column);
    });
    if (coordinate != result_.columns.end()) {
      DatasetHandle dataset = write_column(name, *coordinate);
      check_hdf5(H5DSset_scale(dataset, name.c_str()), "H5DSset_scale");
      return dataset;
    }
    DatasetHandle dataset = create_dataset(name, H5T_IEEE_F32BE, {static_cast<hsize_t>(length)});
    check_hdf5(H5DSset_scale(dataset, fmt::format("{}{:10}", only_a_dimension, length).c_str()), "H5DSset_scale");
    return dataset;
  }

  void write_dimensions() {
    int id = 0;
    for (const auto& [name, length] : result_.dimensions) {
      scales_.emplace(name, write_scale(name, length));
      put_attribute(scales_.at(name), dimension_id, H5T_NATIVE_INT, &id);
      ++id;
    }
  }

  void write_variable(const Column& column) {
    const bool shares_name = result_.dimensions.contains(column.name);
    const DatasetHandle dataset = write_column((shares_name ? not_a_coordinate : "") + column.name, column);
    for (unsigned axis = 0; axis < column.dimensions.size(); ++axis)
      check_hdf5(H5DSattach_scale(dataset, scales_.at(column.dimensions[axis]), axis), "H5DSattach_scale");
  }

  const Result& result_;
  FileHandle file_;
  std::map<std::string, DatasetHandle> scales_;
};

void check_consistent(const Result& result) {
  std::set<std::string> names;
  for (const Column& column : result.columns) {
    std::int64_t count = 1;
    for (const std::string& dimension : column.dimensions) {
      if (!result.dimensions.contains(dimension))
        throw core::Error(fmt::format("column `{}` has the unknown dimension `{}`", column.name, dimension));
      count *= result.dimensions.at(dimension);
    }
    const auto size = std::visit([](const auto& values) { return values.size(); }, column.values);
    if (static_cast<std::int64_t>(size) != count)
      throw core::Error(fmt::format("column `{}` has {} values, its dimensions {}", column.name, size, count));
    if (!names.insert(column.name).second) throw core::Error(fmt::format("there are two columns `{}`", column.name));
  }
}

// --- reading
// -------------------------------------------------------------------------------------------------------------------

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

std::string get_text(hid_t object, const std::string& name) {
  if (check_hdf5(H5Aexists(object, name.c_str()), "H5Aexists") == 0) return "";
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

  Result read() {
    std::vector<std::string> names;
    check_hdf5(H5Literate(file_, H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, collect_name<H5L_info_t>, &names),
               "H5Literate");
    for (const std::string& name : names) read_dataset(name);
    read_attributes();
    return std::move(result_);
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
    const DatasetHandle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), "H5Dopen2");
    const std::vector<hsize_t> shape = shape_of(dataset);
    const bool is_scale = check_hdf5(H5DSis_scale(dataset), "H5DSis_scale") > 0;
    if (is_scale && shape.size() == 1) result_.dimensions[name] = static_cast<std::int64_t>(shape[0]);
    if (is_scale && get_text(dataset, "NAME").starts_with(only_a_dimension)) return;
    Column column;
    column.name = name.starts_with(not_a_coordinate) ? name.substr(std::string(not_a_coordinate).size()) : name;
    column.unit = get_text(dataset, "units");
    column.description = get_text(dataset, "long_name");
    column.dimensions = is_scale ? std::vector{name} : dimensions_of(dataset, shape.size());
    read_values(dataset, column);
    result_.columns.push_back(std::move(column));
  }

  static std::vector<std::string> dimensions_of(hid_t dataset, std::size_t count) {
    std::vector<std::string> dimensions(count);
    for (unsigned axis = 0; axis < count; ++axis)
      check_hdf5(H5DSiterate_scales(dataset, axis, nullptr, keep_scale_name, &dimensions[axis]), "H5DSiterate_scales");
    return dimensions;
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
  Result result_;
};

}  // namespace

void write_result(const std::string& path, const mesh::Result& result, const ResultAttributes& extra) {
  const QuietHdf5 quiet;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::string bytes;
  try {
    check_consistent(result);
    ResultWriter writer(result);
    writer.write_all(extra);
    bytes = writer.bytes();
  } catch (const core::Error& error) {
    throw core::Error(error.message(), path, error.hint());
  }
  if (!folder.empty()) make_folder(folder);
  write_file_atomically(path, bytes);
}

mesh::Result read_result(const std::string& path) {
  const QuietHdf5 quiet;
  try {
    InputFile exists(path);
    return ResultReader(path).read();
  } catch (const core::Error& error) {
    throw core::Error(error.where().empty() ? "this is not a sound result file: " + error.message() : error.message(),
                      path, error.hint());
  }
}

}  // namespace sidestream::io
