#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/formats/enzo/enzo_state.hpp"
#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

/// A file of grids opened for reading, with the checksums it keeps.
struct EnzoGridFile {
  explicit EnzoGridFile(const std::string& path) : hdf5(path) {}
  Hdf5Reader hdf5;
  std::vector<std::int64_t> field_checksums, particle_checksums;
};

/// That an array has as many rows as its grid has `particles` by the hierarchy; to be called before it is read.
void check_rows(const EnzoGridFile& file, const std::string& dataset, std::int64_t particles);

/// A grid as a box of a level.
struct EnzoBoxGrid {
  EnzoGrid text;
  std::int64_t number = 0;    // from 1
  std::int64_t position = 0;  // among the grids of its file, level by level
};

/// Files that are in use, opened once.
class EnzoGridFiles {
 public:
  EnzoGridFiles(std::string folder, bool has_checksums) : folder_(std::move(folder)), has_checksums_(has_checksums) {}

  std::shared_ptr<const EnzoGridFile> open(const std::string& name) const;

 private:
  std::string folder_;
  bool has_checksums_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const EnzoGridFile>> open_;
  mutable std::set<std::string> checked_;
};

/// The grids of Enzo files, ours (with checksums) or others'.
class EnzoFile final : public SnapshotFile {
 public:
  EnzoFile(FileDescription description, const std::string& folder, EnzoTables tables,
           std::vector<std::vector<EnzoBoxGrid>> grids, bool is_own)
      : SnapshotFile(std::move(description)),
        tables_(std::move(tables)),
        grids_(std::move(grids)),
        is_own_(is_own),
        files_(folder, is_own) {}

  mesh::Particles read_table(int rank, int ranks) const override;
  void check_data_files(int rank, int ranks) const override;
  void verify(int rank, int ranks) const override;

 protected:
  std::vector<double> read_box(std::size_t field, int level, std::int32_t box) const override;

 private:
  std::shared_ptr<const EnzoGridFile> open(const EnzoBoxGrid& grid) const;
  static std::string dataset_of(const EnzoGridFile& file, const EnzoBoxGrid& grid, const std::string& name);
  void check_sum(const std::vector<std::byte>& bytes, const std::vector<std::int64_t>& sums, std::int64_t number,
                 const EnzoGridFile& file, const std::string& dataset) const;
  std::vector<std::byte> particle_bytes(const EnzoGridFile& file, const EnzoBoxGrid& grid, std::size_t column) const;
  std::vector<double> particle_values(const EnzoGridFile& file, const EnzoBoxGrid& grid,
                                      const std::string& dataset) const;
  std::vector<std::int64_t> particle_ids(const EnzoGridFile& file, const EnzoBoxGrid& grid, std::int64_t first) const;
  void add_particles(const EnzoBoxGrid& grid, int level, std::int64_t first, std::int64_t begin, std::int64_t end,
                     mesh::Particles& into) const;
  std::size_t column_number(const std::string& dataset) const;

  EnzoTables tables_;
  std::vector<std::vector<EnzoBoxGrid>> grids_;  // of each level
  bool is_own_;
  EnzoGridFiles files_;
};

}  // namespace sidestream::io
