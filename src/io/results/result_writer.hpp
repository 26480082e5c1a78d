#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/containers/hdf5/hdf5_handle.hpp"
#include "io/results/result_rows.hpp"
#include "sidestream/io/result_file.hpp"

namespace sidestream::io {

/// Fills an HDF5 file as netCDF-4 readers expect it. Local, within a `QuietHdf5`.
class ResultWriter {
 public:
  /// `result` is that of the first rank and outlives the writer; of the distributed columns only room is made, for the
  /// rows that `spread` says.
  ResultWriter(FileHandle file, const mesh::Result& result, const std::vector<SpreadColumn>& spread,
               const std::map<std::string, std::int64_t>& lengths);

  void write_all(const ResultAttributes& extra);
  /// The first byte in the file of a distributed column.
  std::int64_t offset(const std::string& column) const { return offsets_.at(column); }
  /// The whole file, which is one in memory.
  std::string bytes() const;
  /// Writes what HDF5 still keeps and closes the file.
  void close();

 private:
  DatasetHandle create_dataset(const std::string& name, hid_t type, const std::vector<hsize_t>& shape,
                               bool has_room) const;
  DatasetHandle write_column(const std::string& name, const mesh::Column& column);
  DatasetHandle write_scale(const std::string& name, std::int64_t length);
  void write_dimensions();
  void write_variable(const mesh::Column& column);

  FileHandle file_;
  const mesh::Result& result_;
  const std::vector<SpreadColumn>& spread_;
  const std::map<std::string, std::int64_t>& lengths_;
  std::map<std::string, DatasetHandle> scales_;
  std::map<std::string, std::int64_t> offsets_;  // of distributed columns
};

/// A file that HDF5 keeps in memory, and one at `path`, both empty and in the order of their making.
FileHandle create_result_in_memory();
FileHandle create_result_at(const std::string& path);

}  // namespace sidestream::io
