#pragma once

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/content/file_content.hpp"
#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

// The index of the formats `raw` and `files`: a line "MAGIC VERSION CHECKSUM BYTES", then so many bytes: a line of JSON
// and binary tables (little-endian), so that a million boxes cost no more than their tables. The checksum is the XXH3
// of what follows the line.

struct Index {
  nlohmann::json root = nlohmann::json::object();
  std::string tables;

  template <typename T>
  void append(const std::vector<T>& rows) {
    const std::size_t end = tables.size();
    tables.resize(end + rows.size() * sizeof(T));
    if (!rows.empty()) std::memcpy(tables.data() + end, rows.data(), rows.size() * sizeof(T));
  }
};

/// `ends_at_record`: with as many blanks behind the JSON as bring its end to a `record_place`.
std::string index_text(std::string_view magic, const Index& index, bool ends_at_record = false);

/// Takes the parts of an index in the order in which they were put together. Anything else is a core::Error naming the
/// file.
class IndexReader {
 public:
  /// Reads the index that the file at `path` begins with.
  IndexReader(const std::string& path, std::string_view magic);

  const nlohmann::json& root() const { return index_.root; }
  const std::string& path() const { return path_; }
  /// Bytes from the beginning of the file to the end of the index.
  std::int64_t end() const { return end_; }

  /// The next table.
  template <typename T>
  std::vector<T> take(std::int64_t rows) {
    const std::size_t left = index_.tables.size() - taken_;
    if (rows < 0 || static_cast<std::uint64_t>(rows) > left / sizeof(T)) fail("a table is cut short");
    std::vector<T> table(static_cast<std::size_t>(rows));
    if (rows > 0) std::memcpy(table.data(), index_.tables.data() + taken_, table.size() * sizeof(T));
    taken_ += table.size() * sizeof(T);
    return table;
  }
  void expect_end() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string path_;
  Index index_;
  std::int64_t end_ = 0;
  std::size_t taken_ = 0;
};

/// What `take_description` gives back: all of `content` but the numbers. `particles`: of all ranks.
void put_description(const FileContent& content, std::int64_t particles, Index& index);

struct IndexDescription {
  FileDescription description;
  Precision precision = Precision::double_precision, particle_precision = Precision::double_precision;
};
IndexDescription take_description(IndexReader& index, const std::string& format, const std::string& path);

/// Whether the file at `path` begins with `magic`; never throws.
bool begins_with(const std::string& path, std::string_view magic);

}  // namespace sidestream::io
