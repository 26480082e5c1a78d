#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sidestream/io/plotfile.hpp"

namespace sidestream::io {

/// Writes a plot file directory in the layout of Nyx (one component a field). Collective on `comm`, whose ranks own the
/// boxes of the fields' layouts. Written under a temporary name, made durable, then renamed. When one rank
/// fails (disk full), all throw its core::Error and nothing of the new file is left.
void write_nyx_plotfile(const comm::Communicator& comm, const std::string& path, const PlotfileContent& content);

/// A plot file directory as Nyx (and every code on the same library) writes it, opened for reading. Opening reads the
/// text headers only. Nothing in a file is trusted: damage is a core::Error naming the file and the line or offset.
/// Every member is local, so that ranks read what they need without each other; wrap calls in `comm.agree_on` where all
/// must succeed.
class NyxPlotfile {
 public:
  /// Where the data of a box are.
  struct Grid {
    std::string file;  ///< relative to the plot file
    std::int64_t offset = 0;
  };
  struct Level {
    mesh::Layout layout;        ///< boxes and domain of the level; all owned by rank 0
    mesh::Int3 ratio{1, 1, 1};  ///< cells of this level in one of the next coarser, along x, y, z
    std::vector<Grid> grids;
    std::int32_t ghost = 0;
    std::vector<std::vector<double>> minima, maxima;  ///< [box][field]; empty where the file has none
  };

  explicit NyxPlotfile(std::string path);

  const std::string& path() const { return path_; }
  const std::vector<std::string>& fields() const { return fields_; }
  bool has(const std::string& field) const;
  const std::vector<Level>& levels() const { return levels_; }
  /// Of the coarsest level. Boundaries count as periodic: the format does not say.
  const mesh::Geometry& geometry() const { return geometry_; }
  std::int64_t step() const { return step_; }
  double time() const { return time_; }
  /// 1 when the file does not give one.
  double scale_factor() const { return scale_factor_; }
  double redshift() const { return 1.0 / scale_factor_ - 1.0; }
  /// What `job_info` says of `omega_m`, `omega_lambda`, `hubble` (h), as far as it does.
  const std::map<std::string, double>& cosmology() const { return cosmology_; }

  /// The field `name` of `level` on the boxes that `rank` owns in `layout` (cells of that level), read from the boxes
  /// that overlap them. Throws when the file does not cover them.
  mesh::Field<double> read_field(const std::string& name, const mesh::Layout& layout, int rank, int level = 0) const;
  /// The same with each cell from the finest level up to `level` that has it; a coarser cell gives its value to all
  /// finer ones in it. Throws when the coarsest level does not cover the boxes.
  mesh::Field<double> read_covering(const std::string& name, const mesh::Layout& layout, int rank, int level) const;

  bool has_particles() const { return particles_.count > 0; }
  std::int64_t particle_count() const { return particles_.count; }
  const std::vector<std::string>& particle_reals() const { return particles_.reals; }
  /// The share of the particles of `rank` of `ranks`, a contiguous part of the file, wherever they are: migrate them
  /// afterwards. Ids number the particles of the file; attributes are the file's reals by name.
  mesh::Particles read_particles(int rank = 0, int ranks = 1) const;

 private:
  struct ParticleGrid {
    int level = 0, file = 0;
    std::int64_t count = 0, offset = 0;
  };
  struct ParticleTable {
    std::int64_t count = 0;
    int integers = 0;  ///< 32-bit words of a particle, its id first
    bool is_double = false, has_ids = false, has_packed_ids = false;
    std::vector<std::string> reals;
    std::vector<ParticleGrid> grids;
  };
  struct Parser;
  int component_of(const std::string& field) const;
  void check_level(int level, const mesh::Box& domain) const;
  std::int64_t copy_level(int component, int level, mesh::Int3 ratio, mesh::Field<double>& into) const;
  void append_particles(const ParticleGrid& grid, std::int64_t first, std::int64_t last, mesh::Particles& out) const;

  std::string path_;
  std::vector<std::string> fields_;
  std::vector<Level> levels_;
  mesh::Geometry geometry_;
  std::array<double, 3> origin_{};
  std::int64_t step_ = 0;
  double time_ = 0.0, scale_factor_ = 1.0;
  std::map<std::string, double> cosmology_;
  ParticleTable particles_;
};

}  // namespace sidestream::io
