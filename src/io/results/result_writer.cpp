#include "io/results/result_writer.hpp"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <algorithm>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/results/result_names.hpp"

namespace sidestream::io {

namespace {

using mesh::Column;
using Attribute = ResultAttributes::mapped_type;

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

}  // namespace

FileHandle create_result_in_memory() {
  const PropertiesHandle access(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate"),
      creation(H5Pcreate(H5P_FILE_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_fapl_core(access, std::size_t{1} << 20, false), "H5Pset_fapl_core");
  check_hdf5(H5Pset_link_creation_order(creation, ordered), "H5Pset_link_creation_order");
  check_hdf5(H5Pset_attr_creation_order(creation, ordered), "H5Pset_attr_creation_order");
  check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");
  return FileHandle(H5Fcreate("result", H5F_ACC_TRUNC, creation, access), "H5Fcreate");
}

FileHandle create_result_at(const std::string& path) {
  return create_hdf5_file(path, ordered);
}

ResultWriter::ResultWriter(FileHandle file, const mesh::Result& result, const std::vector<SpreadColumn>& spread,
                           const std::map<std::string, std::int64_t>& lengths)
    : file_(std::move(file)), result_(result), spread_(spread), lengths_(lengths) {
  put_text(file_, provenance, fmt::format("version=2,sidestream={},{}", SIDESTREAM_VERSION, record_promise));
}

void ResultWriter::write_all(const ResultAttributes& extra) {
  write_dimensions();
  for (const Column& column : result_.columns)
    if (!is_coordinate(column)) write_variable(column);
  ResultAttributes attributes = extra;
  attributes.insert(result_.attributes.begin(), result_.attributes.end());
  if (!result_.summary.empty()) attributes["summary"] = result_.summary;
  for (const auto& [name, value] : attributes) put_value(file_, name, value);
}

std::string ResultWriter::bytes() const {
  check_hdf5(H5Fflush(file_, H5F_SCOPE_GLOBAL), "H5Fflush");
  const ssize_t size = check_hdf5(H5Fget_file_image(file_, nullptr, 0), "H5Fget_file_image");
  std::string image(static_cast<std::size_t>(size), '\0');
  check_hdf5(H5Fget_file_image(file_, image.data(), image.size()), "H5Fget_file_image");
  return image;
}

void ResultWriter::close() {
  scales_.clear();
  file_.close("H5Fclose");
}

DatasetHandle ResultWriter::create_dataset(const std::string& name, hid_t type, const std::vector<hsize_t>& shape,
                                           bool has_room) const {
  const PropertiesHandle creation(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_attr_creation_order(creation, ordered), "H5Pset_attr_creation_order");
  check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");  // the same result, the same bytes
  if (has_room) {
    check_hdf5(H5Pset_layout(creation, H5D_CONTIGUOUS), "H5Pset_layout");
    check_hdf5(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
    check_hdf5(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  }
  const SpaceHandle space(
      shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
      "H5Screate_simple");
  return DatasetHandle(H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT), "H5Dcreate2");
}

DatasetHandle ResultWriter::write_column(const std::string& name, const Column& column) {
  std::vector<hsize_t> shape;
  for (const std::string& dimension : column.dimensions) shape.push_back(static_cast<hsize_t>(lengths_.at(dimension)));
  const bool is_double = std::holds_alternative<std::vector<double>>(column.values);
  const hid_t type = is_double ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64;
  const auto spread = std::ranges::find(spread_, column.name, &SpreadColumn::name);
  const bool has_room = spread != spread_.end();
  DatasetHandle dataset = create_dataset(name, type, shape, has_room);
  if (has_room)
    offsets_[column.name] = offset_of(dataset);
  else if (!bytes_of(column).empty())
    check_hdf5(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes_of(column).data()), "H5Dwrite");
  if (!column.unit.empty()) put_text(dataset, "units", column.unit);
  if (!column.description.empty()) put_text(dataset, "long_name", column.description);
  if (has_room) put_attribute(dataset, rows_checksum, H5T_NATIVE_INT64, &spread->checksum);
  return dataset;
}

DatasetHandle ResultWriter::write_scale(const std::string& name, std::int64_t length) {
  const auto coordinate = std::ranges::find_if(
      result_.columns, [&](const Column& column) { return column.name == name && is_coordinate(column); });
  if (coordinate != result_.columns.end()) {
    DatasetHandle dataset = write_column(name, *coordinate);
    check_hdf5(H5DSset_scale(dataset, name.c_str()), "H5DSset_scale");
    return dataset;
  }
  DatasetHandle dataset = create_dataset(name, H5T_IEEE_F32BE, {static_cast<hsize_t>(length)}, false);
  check_hdf5(H5DSset_scale(dataset, fmt::format("{}{:10}", only_a_dimension, length).c_str()), "H5DSset_scale");
  return dataset;
}

void ResultWriter::write_dimensions() {
  constexpr std::int64_t yes = 1;
  int id = 0;
  for (const auto& [name, length] : lengths_) {
    scales_.emplace(name, write_scale(name, length));
    put_attribute(scales_.at(name), dimension_id, H5T_NATIVE_INT, &id);
    if (result_.distributed.contains(name)) put_attribute(scales_.at(name), distributed_mark, H5T_NATIVE_INT64, &yes);
    ++id;
  }
}

void ResultWriter::write_variable(const Column& column) {
  const bool shares_name = lengths_.contains(column.name);
  const DatasetHandle dataset = write_column((shares_name ? not_a_coordinate : "") + column.name, column);
  for (unsigned axis = 0; axis < column.dimensions.size(); ++axis)
    check_hdf5(H5DSattach_scale(dataset, scales_.at(column.dimensions[axis]), axis), "H5DSattach_scale");
}

}  // namespace sidestream::io
