#include "io/containers/hdf5/hdf5_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "io/containers/hdf5/hdf5_filters.hpp"
#include "io/containers/hdf5/hdf5_input.hpp"
#include "io/containers/hdf5/hdf5_inside.hpp"
#include "io/containers/hdf5/hdf5_places.hpp"
#include "io/disk/commit_record.hpp"
#include "io/disk/file_parts.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr hsize_t aligned_from_bytes = 65536, alignment_bytes = 4096;
// Room for what HDF5 says of datasets, so that it does not lie between them; a place of records is behind it.
constexpr hsize_t tables_bytes = 32768;

std::vector<hsize_t> full_shape(const std::vector<std::int64_t>& row_shape, std::int64_t rows) {
  std::vector<hsize_t> shape{static_cast<hsize_t>(rows)};
  for (const std::int64_t length : row_shape) shape.push_back(static_cast<hsize_t>(length));
  return shape;
}

template <typename Info>
herr_t collect_name(hid_t, const char* name, const Info*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t length : shape) count *= length;
  return count;
}

}  // namespace

namespace {

// Whatever HDF5 says of datasets and chunks has its place before the first chunk, and chunks begin at multiples of a
// word, wherever the one before has ended.
void keep_chunks_together(hid_t access, std::span<const Array> arrays) {
  constexpr hsize_t bytes_a_dataset = 1024, bytes_a_chunked_dataset = 8192, bytes_a_chunk = 192;
  hsize_t bytes = tables_bytes;
  for (const Array& array : arrays)
    bytes += array.chunks ? bytes_a_chunked_dataset + bytes_a_chunk * array.chunks->bytes.size() : bytes_a_dataset;
  check_hdf5(H5Pset_alignment(access, 1, 8), "H5Pset_alignment");
  const std::int64_t place = record_place(static_cast<std::int64_t>(bytes));
  check_hdf5(H5Pset_meta_block_size(access, static_cast<hsize_t>(place)), "H5Pset_meta_block_size");
  give_places_only(access);
}

}  // namespace

FileHandle create_hdf5_file(const std::string& path, unsigned creation_order, std::span<const Array> arrays) {
  const PropertiesHandle access(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate"),
      creation(H5Pcreate(H5P_FILE_CREATE), "H5Pcreate");
  const bool is_master = std::ranges::any_of(arrays, [](const Array& array) { return array.spread != nullptr; });
  check_hdf5(H5Pset_libver_bounds(access, H5F_LIBVER_V18, is_master ? H5F_LIBVER_V110 : H5F_LIBVER_V18),
             "H5Pset_libver_bounds");
  check_hdf5(H5Pset_alignment(access, aligned_from_bytes, alignment_bytes), "H5Pset_alignment");
  check_hdf5(H5Pset_meta_block_size(access, tables_bytes), "H5Pset_meta_block_size");
  if (std::ranges::any_of(arrays, [](const Array& array) { return array.chunks != nullptr; }))
    keep_chunks_together(access, arrays);
  check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");
  check_hdf5(H5Pset_link_creation_order(creation, creation_order), "H5Pset_link_creation_order");
  check_hdf5(H5Pset_attr_creation_order(creation, creation_order), "H5Pset_attr_creation_order");
  return FileHandle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access), "H5Fcreate");
}

hid_t hdf5_type(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return H5T_IEEE_F32LE;
    case ElementType::float64:
      return H5T_IEEE_F64LE;
    case ElementType::int32:
      return H5T_STD_I32LE;
    case ElementType::int64:
      return H5T_STD_I64LE;
  }
  return H5I_INVALID_HID;
}

namespace {

// A dataset (shape...) without values; missing groups in its name are made.
DatasetHandle create_dataset(hid_t file, const std::string& name, ElementType type, const std::vector<hsize_t>& shape,
                             hid_t creation) {
  const PropertiesHandle links(H5Pcreate(H5P_LINK_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");
  check_hdf5(H5Pset_create_intermediate_group(links, 1), "H5Pset_create_intermediate_group");
  const SpaceHandle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), "H5Screate_simple");
  return DatasetHandle(H5Dcreate2(file, name.c_str(), hdf5_type(type), space, links, creation, H5P_DEFAULT),
                       "H5Dcreate2");
}

}  // namespace

DatasetHandle create_array(hid_t file, const Array& array, std::int64_t rows) {
  const PropertiesHandle creation(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_layout(creation, H5D_CONTIGUOUS), "H5Pset_layout");
  check_hdf5(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
  return create_dataset(file, array.name, array.type, full_shape(array.row_shape, rows), creation);
}

std::int64_t offset_of(const DatasetHandle& dataset) {
  const haddr_t offset = H5Dget_offset(dataset);
  return offset == HADDR_UNDEF ? 0 : static_cast<std::int64_t>(offset);
}

namespace {

// HDF5 gives each chunk the next place in the file; nothing of it is written here.
std::vector<std::int64_t> place_chunks(hid_t file, hid_t dataset, const Chunks& chunks, std::int64_t rows_a_chunk) {
  const std::vector<std::byte> nothing(static_cast<std::size_t>(*std::ranges::max_element(chunks.bytes)));
  std::vector<hsize_t> start(chunks.row_shape.size() + 1, 0);
  const PlacedChunks placed(file);
  for (std::size_t chunk = 0; chunk < chunks.bytes.size(); ++chunk) {
    start[0] = chunk * static_cast<hsize_t>(rows_a_chunk);
    check_hdf5(H5Dwrite_chunk(dataset, H5P_DEFAULT, left_out_filters(chunks, chunk), start.data(),
                              static_cast<std::size_t>(chunks.bytes[chunk]), nothing.data()),
               "H5Dwrite_chunk");
  }
  return placed.places();
}

std::int64_t place_chunked(hid_t file, const std::string& name, const Chunks& chunks) {
  const auto count = static_cast<std::int64_t>(chunks.bytes.size());
  const PropertiesHandle creation(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  const std::vector<hsize_t> chunk = full_shape(chunks.row_shape, chunks.rows / count);
  check_hdf5(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "H5Pset_chunk");
  set_filters(creation, chunks);
  const DatasetHandle dataset =
      create_dataset(file, name, chunks.type, full_shape(chunks.row_shape, chunks.rows), creation);
  const std::vector<std::int64_t> places = place_chunks(file, dataset, chunks, chunks.rows / count);
  core::require(places.size() == chunks.bytes.size(), "HDF5 writes each chunk once");
  for (std::size_t c = 1; c < places.size(); ++c)
    core::require(places[c] == places[c - 1] + in_words(chunks.bytes[c - 1]), "the chunks of an array have no gaps");
  return places.front();
}

std::int64_t rows_of(const RowsElsewhere& part) {
  std::int64_t rows = 0;
  for (const RowRange& range : part.rows) rows += range.count;
  return rows;
}

// What is shown where a part is missing.
void set_fill(hid_t creation, ElementType type) {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  if (type == ElementType::float32 || type == ElementType::float64)
    check_hdf5(H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &nothing), "H5Pset_fill_value");
}

// A dataset without bytes that shows rows of datasets in other files.
void show_spread(hid_t file, const Array& array, std::int64_t rows) {
  const PropertiesHandle creation(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  const std::vector<hsize_t> shape = full_shape(array.row_shape, rows);
  set_fill(creation, array.type);
  for (const RowsElsewhere& part : *array.spread) {
    if (part.rows.empty()) continue;
    const SpaceHandle whole(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                            "H5Screate_simple");
    H5S_seloper_t how = H5S_SELECT_SET;
    for (const RowRange& range : part.rows) {
      std::vector<hsize_t> start(shape.size(), 0), extent = shape;
      start[0] = static_cast<hsize_t>(range.first);
      extent[0] = static_cast<hsize_t>(range.count);
      check_hdf5(
          H5Sselect_hyperslab(whole, std::exchange(how, H5S_SELECT_OR), start.data(), nullptr, extent.data(), nullptr),
          "H5Sselect_hyperslab");
    }
    const std::vector<hsize_t> own = full_shape(array.row_shape, rows_of(part));
    const SpaceHandle there(H5Screate_simple(static_cast<int>(own.size()), own.data(), nullptr), "H5Screate_simple");
    check_hdf5(H5Pset_virtual(creation, whole, part.file.c_str(), part.array.c_str(), there), "H5Pset_virtual");
  }
  create_dataset(file, array.name, array.type, shape, creation);
}

}  // namespace

std::int64_t place_array(hid_t file, const Array& array, std::int64_t rows) {
  if (array.spread && rows > 0) {
    show_spread(file, array, rows);
    return 0;
  }
  return array.chunks ? place_chunked(file, array.name, *array.chunks) : offset_of(create_array(file, array, rows));
}

void put_dataset(hid_t file, const std::string& name, hid_t type, const std::vector<std::int64_t>& shape,
                 const void* values) {
  const PropertiesHandle creation(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate"),
      links(H5Pcreate(H5P_LINK_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");
  check_hdf5(H5Pset_create_intermediate_group(links, 1), "H5Pset_create_intermediate_group");
  const std::vector<hsize_t> lengths(shape.begin(), shape.end());
  const SpaceHandle space(lengths.empty() ? H5Screate(H5S_SCALAR)
                                          : H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr),
                          "H5Screate_simple");
  const DatasetHandle dataset(H5Dcreate2(file, name.c_str(), type, space, links, creation, H5P_DEFAULT), "H5Dcreate2");
  if (product(shape) > 0) check_hdf5(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
}

namespace {

TypeHandle text_type(const std::string& text) {
  TypeHandle type(H5Tcopy(H5T_C_S1), "H5Tcopy");
  check_hdf5(H5Tset_size(type, text.size() + 1), "H5Tset_size");
  return type;
}

}  // namespace

void put_text_dataset(hid_t file, const std::string& name, const std::string& text) {
  put_dataset(file, name, text_type(text), {}, text.c_str());
}

void put_text_attribute(hid_t object, const std::string& name, const std::string& text) {
  const TypeHandle type = text_type(text);
  const SpaceHandle space(H5Screate(H5S_SCALAR), "H5Screate");
  const AttributeHandle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                                  "H5Acreate2");
  check_hdf5(H5Awrite(attribute, type, text.c_str()), "H5Awrite");
}

// --- reading
// -------------------------------------------------------------------------------------------------------------------

template <typename F>
auto Hdf5Reader::guarded(const std::string& name, F work) const {
  const QuietHdf5 quiet;
  try {
    return work();
  } catch (const core::Error& error) {
    throw core::Error(error.message(), fmt::format("{}, `{}`", path_, name),
                      error.hint().empty() ? "the file is damaged" : error.hint());
  }
}

namespace {

std::vector<std::int64_t> shape_of(hid_t dataset) {
  const SpaceHandle space(H5Dget_space(dataset), "H5Dget_space");
  std::vector<hsize_t> shape(
      static_cast<std::size_t>(check_hdf5(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims")));
  if (!shape.empty()) check_hdf5(H5Sget_simple_extent_dims(space, shape.data(), nullptr), "H5Sget_simple_extent_dims");
  return {shape.begin(), shape.end()};
}

// Before memory is taken: compressed data may be larger than the file, but not without bound.
void check_size(const std::vector<std::int64_t>& shape, std::int64_t file_bytes) {
  std::int64_t left = file_bytes * core::most_compression;
  for (const std::int64_t length : shape) {
    if (length < 0 || (length > 0 && left / length == 0))
      throw core::Error("the array claims more values than the file can hold");
    if (length > 0) left /= length;
  }
}

std::vector<hsize_t> row_start(const std::vector<std::int64_t>& shape, std::int64_t first) {
  std::vector<hsize_t> start(shape.size(), 0);
  start[0] = static_cast<hsize_t>(first);
  return start;
}

}  // namespace

PropertiesHandle transfer_of(hid_t dataset, hid_t in_memory, std::int64_t elements) {
  constexpr std::int64_t least_bytes = 4 << 10, most_bytes = 1 << 20;
  const TypeHandle in_file(H5Dget_type(dataset), "H5Dget_type");
  const auto element = static_cast<std::int64_t>(std::max(H5Tget_size(in_file), H5Tget_size(in_memory)));
  PropertiesHandle transfer(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
  const std::int64_t wanted = elements < most_bytes / element ? elements * element : most_bytes;
  check_hdf5(
      H5Pset_buffer(transfer, static_cast<std::size_t>(std::max({wanted, element, least_bytes})), nullptr, nullptr),
      "H5Pset_buffer");
  return transfer;
}

namespace {

// Rows of a dataset, read as `type` into `out` after `take(count of elements)` made room.
template <typename Take>
void read_rows(hid_t dataset, hid_t type, std::int64_t first, std::int64_t count, Take take) {
  std::vector<std::int64_t> shape = shape_of(dataset);
  if (shape.empty() || first < 0 || count < 0 || first > shape[0] - count)
    throw core::Error(fmt::format("there are no rows {} to {}", first, first + count));
  const std::vector<hsize_t> start = row_start(shape, first);
  shape[0] = count;
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  void* const out = take(product(shape));
  if (product(shape) == 0) return;
  const SpaceHandle in_file(H5Dget_space(dataset), "H5Dget_space"),
      in_memory(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), "H5Screate_simple");
  check_hdf5(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr),
             "H5Sselect_hyperslab");
  const PropertiesHandle transfer = transfer_of(dataset, type, product(shape));
  check_hdf5(H5Dread(dataset, type, in_memory, in_file, transfer, out), "H5Dread");
}

template <typename T>
std::vector<T> read_all(hid_t dataset, hid_t type, std::int64_t file_bytes) {
  const std::vector<std::int64_t> shape = shape_of(dataset);
  check_size(shape, file_bytes);
  std::vector<T> values(static_cast<std::size_t>(product(shape)));
  const PropertiesHandle transfer = transfer_of(dataset, type, std::ssize(values));
  if (!values.empty()) check_hdf5(H5Dread(dataset, type, H5S_ALL, H5S_ALL, transfer, values.data()), "H5Dread");
  return values;
}

}  // namespace

namespace {

std::string beside(const std::string& path, const std::string& name) {
  return (std::filesystem::path(path).parent_path() / name).string();
}

// The name of the file that a row of a spread dataset lies in; empty of others.
std::string part_with_row(hid_t dataset, std::int64_t row) {
  const PropertiesHandle creation(H5Dget_create_plist(dataset), "H5Dget_create_plist");
  if (H5Pget_layout(creation) != H5D_VIRTUAL) return "";
  std::vector<std::int64_t> shape = shape_of(dataset);
  const std::vector<hsize_t> start = row_start(shape, row);
  shape[0] = 1;
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  const std::size_t count = number_of_sources(creation);
  for (std::size_t source = 0; source < count; ++source) {
    const SpaceHandle rows(H5Pget_virtual_vspace(creation, source), "H5Pget_virtual_vspace");
    check_hdf5(H5Sselect_hyperslab(rows, H5S_SELECT_AND, start.data(), nullptr, extent.data(), nullptr),
               "H5Sselect_hyperslab");
    if (H5Sget_select_npoints(rows) > 0) return file_of_source(creation, source);
  }
  return "";
}

}  // namespace

Hdf5Reader::Hdf5Reader(std::string path)
    : path_(std::move(path)), file_(open_hdf5(path_)), size_bytes_(size_bytes_of(file_)) {
  if (!has(part_seals_name)) return;
  const std::vector<std::int64_t> shape = this->shape(part_seals_name), seals = integers(part_seals_name);
  if (shape.size() != 2 || shape[1] != 3) throw core::Error("the seals of the parts are damaged", path_);
  for (std::size_t p = 0; p < seals.size() / 3; ++p) {
    const std::string part = beside(path_, part_name(static_cast<std::int64_t>(p)));
    check_part(part, {seals[3 * p], seals[3 * p + 1], seals[3 * p + 2]});
    size_bytes_ += seals[3 * p];
    parts_.push_back(open_hdf5(part));
  }
}

std::string Hdf5Reader::path_of(const std::string& name, std::int64_t row) const {
  return guarded(name, [&] {
    const std::string part = part_with_row(opened(name), row);
    return part.empty() ? path_ : beside(path_, part);
  });
}

// Datasets stay open: those of a file in parts have its parts opened with them.
const DatasetHandle& Hdf5Reader::opened(const std::string& name) const {
  constexpr std::size_t most = 64;
  if (const auto found = opened_.find(name); found != opened_.end()) return found->second;
  if (opened_.size() == most) opened_.clear();
  return opened_.emplace(name, open_dataset(file_, name)).first->second;
}

bool Hdf5Reader::has(const std::string& name) const {
  const QuietHdf5 quiet;
  // Every group on the way must be there before HDF5 may be asked for the next.
  for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
    if (!has_link(file_, name.substr(0, end))) return false;
    if (end == std::string::npos) return true;
  }
}

std::vector<std::int64_t> Hdf5Reader::shape(const std::string& name) const {
  return guarded(name, [&] {
    const DatasetHandle& dataset = opened(name);
    std::vector<std::int64_t> shape = shape_of(dataset);
    check_size(shape, size_bytes_);
    return shape;
  });
}

bool Hdf5Reader::holds_integers(const std::string& name) const {
  return guarded(name, [&] {
    const DatasetHandle& dataset = opened(name);
    const TypeHandle type(H5Dget_type(dataset), "H5Dget_type");
    return H5Tget_class(type) == H5T_INTEGER;
  });
}

std::string Hdf5Reader::text(const std::string& name) const {
  return guarded(name, [&] {
    const DatasetHandle& dataset = opened(name);
    const TypeHandle type(H5Dget_type(dataset), "H5Dget_type");
    const auto size = static_cast<std::int64_t>(H5Tget_size(type));
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 || product(shape_of(dataset)) != 1)
      throw core::Error("a text of fixed length was expected");
    if (size > size_bytes_) throw core::Error("the text claims to be longer than the file");
    std::string text(static_cast<std::size_t>(size), '\0');
    check_hdf5(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), "H5Dread");
    return std::string(text.c_str());
  });
}

std::vector<double> Hdf5Reader::doubles(const std::string& name) const {
  return guarded(name, [&] { return read_all<double>(opened(name), H5T_NATIVE_DOUBLE, size_bytes_); });
}

std::vector<std::int64_t> Hdf5Reader::integers(const std::string& name) const {
  return guarded(name, [&] { return read_all<std::int64_t>(opened(name), H5T_NATIVE_INT64, size_bytes_); });
}

template <typename T>
std::vector<T> Hdf5Reader::rows(const std::string& name, hid_t type, std::int64_t first, std::int64_t count) const {
  return guarded(name, [&] {
    const DatasetHandle& dataset = opened(name);
    check_size(shape_of(dataset), size_bytes_);
    std::vector<T> values;
    read_rows(dataset, type, first, count, [&](std::int64_t elements) {
      values.resize(static_cast<std::size_t>(elements));
      return values.data();
    });
    return values;
  });
}

std::vector<double> Hdf5Reader::double_rows(const std::string& name, std::int64_t first, std::int64_t count) const {
  return rows<double>(name, H5T_NATIVE_DOUBLE, first, count);
}

std::vector<std::int64_t> Hdf5Reader::integer_rows(const std::string& name, std::int64_t first,
                                                   std::int64_t count) const {
  return rows<std::int64_t>(name, H5T_NATIVE_INT64, first, count);
}

std::vector<std::byte> Hdf5Reader::row_bytes(const std::string& name, ElementType type, std::int64_t first,
                                             std::int64_t count) const {
  return guarded(name, [&] {
    const DatasetHandle& dataset = opened(name);
    const TypeHandle in_file(H5Dget_type(dataset), "H5Dget_type");
    if (check_hdf5(H5Tequal(in_file, hdf5_type(type)), "H5Tequal") == 0)
      throw core::Error("the array has another type of numbers");
    check_size(shape_of(dataset), size_bytes_);
    std::vector<std::byte> bytes;
    read_rows(dataset, in_file, first, count, [&](std::int64_t elements) {
      bytes.resize(static_cast<std::size_t>(elements * size_of(type)));
      return bytes.data();
    });
    return bytes;
  });
}

std::optional<Hdf5Reader::Bytes> Hdf5Reader::place_of_rows(const std::string& name, std::int64_t first,
                                                           std::int64_t count) const {
  return guarded(name, [&]() -> std::optional<Bytes> {
    const DatasetHandle& dataset = opened(name);
    const haddr_t begin = H5Dget_offset(dataset);
    const std::vector<std::int64_t> shape = shape_of(dataset);
    if (begin == HADDR_UNDEF || shape.empty() || shape[0] == 0) return std::nullopt;
    check_size(shape, size_bytes_);
    const TypeHandle type(H5Dget_type(dataset), "H5Dget_type");
    const std::int64_t row_bytes = product(shape) / shape[0] * static_cast<std::int64_t>(H5Tget_size(type));
    return Bytes{static_cast<std::int64_t>(begin) + first * row_bytes, count * row_bytes};
  });
}

std::vector<std::string> Hdf5Reader::names(const std::string& group) const {
  return guarded(group, [&] {
    const ObjectHandle object = open_object(file_, group);
    std::vector<std::string> all;
    check_hdf5(H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name<H5L_info_t>, &all), "H5Literate");
    return all;
  });
}

}  // namespace sidestream::io
