#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/containers/hdf5/hdf5_handle.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

/// A new HDF5 file, replacing what is there, whose tables carry checksums of their own (format of HDF5 1.8 and later)
/// and whose large arrays begin at multiples of 4096 bytes. `creation_order`: flags of HDF5, whether the root group
/// keeps the order in which its members are made. Of `arrays` that are to come and are compressed the chunks of each
/// will follow each other, and take room in the file without being written. The first dataset begins at a
/// `record_place`.
FileHandle create_hdf5_file(const std::string& path, unsigned creation_order = 0, std::span<const Array> arrays = {});

/// The HDF5 type of an element in a file.
hid_t hdf5_type(ElementType type);

/// A contiguous dataset (rows, row_shape...) whose room in the file is fixed now and whose values are left to others;
/// missing groups in its name are made.
DatasetHandle create_array(hid_t file, const Array& array, std::int64_t rows);
/// The first byte of a contiguous dataset in the file; arrays without rows have none and give 0.
std::int64_t offset_of(const DatasetHandle& dataset);
/// Makes a dataset for an array as it goes to the disk, compressed or not, and tells its first byte in the file. The
/// chunks of one that is compressed follow each other from there on. One that is spread over other files has no byte
/// here.
std::int64_t place_array(hid_t file, const Array& array, std::int64_t rows);

/// A small dataset of its own, written now.
void put_dataset(hid_t file, const std::string& name, hid_t type, const std::vector<std::int64_t>& shape,
                 const void* values);
/// A text as a scalar dataset, and as an attribute (fixed length, closed by a zero).
void put_text_dataset(hid_t file, const std::string& name, const std::string& text);
void put_text_attribute(hid_t object, const std::string& name, const std::string& text);

/// How so many elements of a dataset are read: HDF5 converts through a buffer of 1 MiB, which it clears for each read
/// however few they are; this one is no larger than they are.
PropertiesHandle transfer_of(hid_t dataset, hid_t in_memory, std::int64_t elements);

/// An HDF5 file opened for reading, with its parts (`file_parts.hpp`) where it has any; local, one thread at a time.
/// Every failure is a core::Error naming file and dataset.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(std::string path);

  const std::string& path() const { return path_; }
  bool has(const std::string& name) const;
  /// Of a dataset; throws when a length is beyond what the file could hold.
  std::vector<std::int64_t> shape(const std::string& name) const;
  /// Whether the numbers of a dataset are integers, of whatever size.
  bool holds_integers(const std::string& name) const;
  std::string text(const std::string& name) const;
  /// All of a dataset, converted, and rows [first, first + count) of it.
  std::vector<double> doubles(const std::string& name) const;
  std::vector<std::int64_t> integers(const std::string& name) const;
  std::vector<double> double_rows(const std::string& name, std::int64_t first, std::int64_t count) const;
  std::vector<std::int64_t> integer_rows(const std::string& name, std::int64_t first, std::int64_t count) const;
  /// Bytes of these rows as they stand in the file, for checksums. `type` must be that of the dataset.
  std::vector<std::byte> row_bytes(const std::string& name, ElementType type, std::int64_t first,
                                   std::int64_t count) const;
  /// Where these rows stand in the file; nothing where they do not stand one behind the other.
  struct Bytes {
    std::int64_t offset = 0, count = 0;
  };
  std::optional<Bytes> place_of_rows(const std::string& name, std::int64_t first, std::int64_t count) const;
  /// Names of the links of a group, in the order of their names.
  std::vector<std::string> names(const std::string& group = "/") const;
  /// The file that has a row of a dataset: this one, or a part of it.
  std::string path_of(const std::string& name, std::int64_t row) const;
  hid_t file() const { return file_; }

 private:
  template <typename F>
  auto guarded(const std::string& name, F work) const;
  template <typename T>
  std::vector<T> rows(const std::string& name, hid_t type, std::int64_t first, std::int64_t count) const;

  const DatasetHandle& opened(const std::string& name) const;

  std::string path_;
  FileHandle file_;
  std::int64_t size_bytes_ = 0;  // with the parts
  mutable std::map<std::string, DatasetHandle> opened_;
  std::vector<FileHandle> parts_;  // open for as long as the master, or each look at an array would open them
};

}  // namespace sidestream::io
