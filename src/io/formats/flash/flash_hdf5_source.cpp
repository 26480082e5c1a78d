#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/containers/hdf5/hdf5_inside.hpp"
#include "io/formats/flash/flash_source.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

std::optional<double> FlashSource::number(const std::string& name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> FlashSource::text(const std::string& name) const {
  const auto found = texts_.find(name);
  return found == texts_.end() ? std::nullopt : std::optional(found->second);
}

std::string without_padding(std::string text) {
  text.resize(std::min(text.size(), text.find('\0')));
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

namespace {

constexpr std::size_t longest_text = 4096, most_texts = 1 << 14;

std::size_t text_length(hid_t type) {
  const std::size_t length = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 || length == 0 || length > longest_text)
    throw core::Error("texts of fixed length were expected");
  return length;
}

std::size_t count_of(hid_t dataset) {
  const SpaceHandle space(H5Dget_space(dataset), "H5Dget_space");
  const hssize_t count = check_hdf5(H5Sget_simple_extent_npoints(space), "H5Sget_simple_extent_npoints");
  if (static_cast<std::size_t>(count) > most_texts) throw core::Error("the table is absurdly long");
  return static_cast<std::size_t>(count);
}

// The texts `bytes` of equal length.
std::vector<std::string> cut(const std::string& bytes, std::size_t length) {
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin + length <= bytes.size(); begin += length)
    texts.push_back(without_padding(bytes.substr(begin, length)));
  return texts;
}

// The same text type, so that HDF5 hands out the bytes of the file.
TypeHandle text_in_memory(hid_t in_file) {
  TypeHandle type(H5Tcopy(in_file), "H5Tcopy");
  text_length(type);
  return type;
}

template <typename F>
auto with_dataset(const Hdf5Reader& reader, const std::string& name, F work) {
  const QuietHdf5 quiet;
  try {
    const DatasetHandle dataset = open_dataset(reader.file(), name);
    return work(dataset);
  } catch (const core::Error& error) {
    throw core::Error(error.message(), fmt::format("{}, `{}`", reader.path(), name),
                      error.hint().empty() ? "the file is damaged" : error.hint());
  }
}

class Hdf5FlashSource : public FlashSource {
 public:
  explicit Hdf5FlashSource(const std::string& path) : reader_(path) {
    for (const char* kind : {"scalars", "runtime parameters"}) {
      for (const char* type : {"integer", "real", "logical"}) read_pairs(fmt::format("{} {}", type, kind), false);
      read_pairs(fmt::format("string {}", kind), true);
    }
  }

  const std::string& path() const override { return reader_.path(); }
  ByteOrder order() const override { return ByteOrder::little; }
  bool has(const std::string& name) const override { return reader_.has(name); }
  std::vector<std::int64_t> shape(const std::string& name) const override { return reader_.shape(name); }
  std::vector<double> doubles(const std::string& name) const override { return reader_.doubles(name); }
  std::vector<std::int64_t> integers(const std::string& name) const override { return reader_.integers(name); }
  std::vector<double> double_rows(const std::string& name, std::int64_t first, std::int64_t count) const override {
    return reader_.double_rows(name, first, count);
  }
  std::vector<std::byte> row_bytes(const std::string& name, ElementType type, std::int64_t first,
                                   std::int64_t count) const override {
    return reader_.row_bytes(name, type, first, count);
  }
  std::optional<FilePlace> place_of_rows(const std::string& name, std::int64_t first,
                                         std::int64_t count) const override {
    const auto place = reader_.place_of_rows(name, first, count);
    return place ? std::optional(FilePlace{path(), place->offset, place->count}) : std::nullopt;
  }
  std::string path_of(const std::string& name, std::int64_t row) const override { return reader_.path_of(name, row); }
  ElementType real_type(const std::string& name) const override {
    return with_dataset(reader_, name, [](const DatasetHandle& dataset) {
      const TypeHandle type(H5Dget_type(dataset), "H5Dget_type");
      return H5Tget_size(type) == 4 ? ElementType::float32 : ElementType::float64;
    });
  }
  std::vector<std::string> names(const std::string& name) const override {
    return with_dataset(reader_, name, [](const DatasetHandle& dataset) {
      const TypeHandle in_file(H5Dget_type(dataset), "H5Dget_type"), type = text_in_memory(in_file);
      const std::size_t length = H5Tget_size(type), count = count_of(dataset);
      std::string bytes(count * length, '\0');
      if (count > 0) check_hdf5(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), "H5Dread");
      return cut(bytes, length);
    });
  }
  std::string metadata() const override { return has("sidestream") ? reader_.text("sidestream") : ""; }

 private:
  // A column of a table of names and values.
  static std::string column(hid_t dataset, const char* name, hid_t type) {
    const TypeHandle pair(H5Tcreate(H5T_COMPOUND, H5Tget_size(type)), "H5Tcreate");
    check_hdf5(H5Tinsert(pair, name, 0, type), "H5Tinsert");
    const std::size_t count = count_of(dataset);
    std::string bytes(count * H5Tget_size(type), '\0');
    if (bytes.empty()) return bytes;
    const PropertiesHandle transfer = transfer_of(dataset, pair, static_cast<std::int64_t>(count));
    check_hdf5(H5Dread(dataset, pair, H5S_ALL, H5S_ALL, transfer, bytes.data()), "H5Dread");
    return bytes;
  }
  static std::vector<std::string> text_column(hid_t dataset, hid_t table, const char* name) {
    const int member = check_hdf5(H5Tget_member_index(table, name), "H5Tget_member_index");
    const TypeHandle in_file(H5Tget_member_type(table, static_cast<unsigned>(member)), "H5Tget_member_type"),
        type = text_in_memory(in_file);
    return cut(column(dataset, name, type), H5Tget_size(type));
  }

  void read_pairs(const std::string& name, bool are_texts) {
    if (!has(name)) return;
    with_dataset(reader_, name, [&](const DatasetHandle& dataset) {
      const TypeHandle table(H5Dget_type(dataset), "H5Dget_type");
      if (H5Tget_class(table) != H5T_COMPOUND) throw core::Error("a table of names and values was expected");
      const std::vector<std::string> keys = text_column(dataset, table, "name");
      if (are_texts) {
        const std::vector<std::string> values = text_column(dataset, table, "value");
        for (std::size_t i = 0; i < keys.size(); ++i) texts_[keys[i]] = values[i];
        return;
      }
      const std::string bytes = column(dataset, "value", H5T_NATIVE_DOUBLE);
      for (std::size_t i = 0; i < keys.size(); ++i)
        std::memcpy(&numbers_[keys[i]], bytes.data() + i * sizeof(double), sizeof(double));
    });
  }

  Hdf5Reader reader_;
};

}  // namespace

std::unique_ptr<FlashSource> open_flash_hdf5(const std::string& path) {
  return std::make_unique<Hdf5FlashSource>(path);
}

}  // namespace sidestream::io
