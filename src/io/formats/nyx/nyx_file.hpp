#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/formats/nyx/fab.hpp"
#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

/// What the headers of a folder in the format of Nyx say beyond its description.
struct NyxTables {
  /// Where the data of a box are.
  struct Grid {
    std::string file;  ///< relative to the folder
    std::int64_t offset = 0;
  };
  struct Level {
    std::vector<Grid> grids;
    std::int32_t ghost = 0;
    std::vector<std::vector<double>> minima, maxima;  ///< [box][field]; empty where the file has none
    std::vector<std::uint64_t> checksums;             ///< [box][field]; empty in folders of other codes
  };
  struct ParticleGrid {
    int level = 0, file = 0;
    std::int64_t count = 0, offset = 0;
  };

  std::vector<Level> levels;
  int components = 0;  ///< fields in the data
  std::int64_t particle_count = 0;
  int particle_integers = 0;       ///< 32-bit words of a particle, its id first
  std::size_t particle_reals = 0;  ///< beside position
  bool has_double_particles = false, has_ids = false, has_packed_ids = false;
  std::vector<ParticleGrid> particle_grids;
  std::vector<std::uint64_t> particle_checksums;  ///< of each grid; empty in folders of other codes
};

/// A folder (plot file or checkpoint) as Nyx, and every code on the same library, writes it. In those of Sidestream all
/// checksums are verified: of the headers on opening, of the data on reading.
class NyxFile final : public SnapshotFile {
 public:
  explicit NyxFile(const std::string& path);

  const NyxTables& tables() const { return tables_; }
  mesh::Particles read_table(int rank, int ranks) const override;
  void check_data_files(int rank, int ranks) const override;

 protected:
  std::vector<double> read_box(std::size_t field, int level, std::int32_t box) const override;

 private:
  std::string particle_data_path(const NyxTables::ParticleGrid& grid) const;
  // Of the data of a box.
  const FabHeader& header_of(int level, std::int32_t box, const InputFile& file) const;
  void append_particles(std::size_t grid, std::int64_t start, std::int64_t first, std::int64_t last,
                        mesh::Particles& out) const;

  NyxTables tables_;
  mutable std::map<std::pair<int, std::int32_t>, FabHeader> headers_;  // of the boxes that were read
};

bool is_nyx_folder(const std::string& path);
std::unique_ptr<SnapshotFile> open_nyx_folder(const std::string& path);

/// Reads the headers of the folder `description.state.source` into `description` and `tables`.
void read_nyx_headers(FileDescription& description, NyxTables& tables);

}  // namespace sidestream::io
