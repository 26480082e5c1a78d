#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/disk/byte_order.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

/// The tables and arrays of a FLASH file under the names that they have in HDF5, whatever library holds them. Local.
/// Failures are core::Errors naming file and dataset.
class FlashSource {
 public:
  virtual ~FlashSource() = default;

  virtual const std::string& path() const = 0;
  virtual ByteOrder order() const = 0;
  virtual bool has(const std::string& name) const = 0;
  virtual std::vector<std::int64_t> shape(const std::string& name) const = 0;
  virtual std::vector<double> doubles(const std::string& name) const = 0;
  virtual std::vector<std::int64_t> integers(const std::string& name) const = 0;
  virtual std::vector<double> double_rows(const std::string& name, std::int64_t first, std::int64_t count) const = 0;
  /// As they stand in the file.
  virtual std::vector<std::byte> row_bytes(const std::string& name, ElementType type, std::int64_t first,
                                           std::int64_t count) const = 0;
  /// Where these rows stand in the file; nothing where they do not stand one behind the other.
  virtual std::optional<FilePlace> place_of_rows(const std::string& name, std::int64_t first,
                                                 std::int64_t count) const = 0;
  /// The file that has these rows, which may be a part of this one.
  virtual std::string path_of(const std::string& name, std::int64_t row) const = 0;
  /// Of real numbers: float32 or float64.
  virtual ElementType real_type(const std::string& name) const = 0;
  /// A list of short texts, without the blanks they end with.
  virtual std::vector<std::string> names(const std::string& name) const = 0;
  /// What Sidestream keeps beside FLASH's tables; empty: not written by Sidestream.
  virtual std::string metadata() const = 0;

  /// Scalars and runtime parameters by name; nothing where the file has none of the name.
  std::optional<double> number(const std::string& name) const;
  std::optional<std::string> text(const std::string& name) const;

 protected:
  std::map<std::string, double> numbers_;
  std::map<std::string, std::string> texts_;
};

std::unique_ptr<FlashSource> open_flash_hdf5(const std::string& path);
std::unique_ptr<FlashSource> open_flash_netcdf(const std::string& path);

/// The file that `source` opened, ours or another's; `is_committed`: its commit record is good. Local.
std::unique_ptr<SnapshotFile> open_flash(const std::string& format, std::unique_ptr<FlashSource> source,
                                         bool is_committed);

/// `text` without blanks and zeros at its end.
std::string without_padding(std::string text);

}  // namespace sidestream::io
