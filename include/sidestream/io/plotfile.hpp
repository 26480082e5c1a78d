#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/file_content.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::io {

/// One variable of a plot file: `factor` times a component of a field on each level (owned cells only are written).
struct PlotfileField {
  std::string name;
  std::vector<const mesh::Field<double>*> levels;  ///< coarsest first; one on a uniform grid
  int component = 0;
  double factor = 1.0;
};

/// One number of each particle in a plot file: `factor` times the value, or `factor` for all.
struct PlotfileParticleReal {
  std::string name;
  std::vector<const std::vector<double>*> levels;  ///< the values of each level's particles; empty: `factor` for all
  double factor = 1.0;
};

/// What goes into a plot file. All fields share the layout of a level, whose boxes become the grids of the file: on a
/// refined mesh all blocks of the level, with averages in the refined ones. Boxes of a level lie in those of the next
/// coarser one and are twice as fine.
struct PlotfileContent {
  std::int64_t step = 0;
  double time = 0.0;                                       ///< [Mpc/(km/s)] or the simulation's unit
  double scale_factor = 1.0;                               ///< a = 1/(1+z); 1 when there is no expansion
  double omega_m = 0.0, omega_lambda = 0.0, hubble = 0.0;  ///< present day; `hubble` is h. All zero without cosmology.
  mesh::Geometry geometry;                                 ///< of level 0
  std::vector<PlotfileField> fields;
  /// Of this rank, a set for each level, each particle in a box of its rank on that level; an empty list on all ranks:
  /// none. Positions and ids are written from here.
  std::vector<const mesh::Particles*> particles;
  std::vector<PlotfileParticleReal> particle_reals;   ///< for Nyx: mass [Msun], xvel, yvel, zvel (peculiar) [km/s]
  Precision precision = Precision::double_precision;  ///< of the fields
  Precision particle_precision = Precision::single_precision;  ///< of the particles' positions and reals
  int files = 64;  ///< at most so many data files a level, each shared by a run of ranks
};

/// A way to write plot files, by name.
struct PlotfileFormat {
  std::string name, documentation;
  /// Collective on `comm`. The folder (or file) `path` appears complete or not at all, replacing one of that name.
  std::function<void(const comm::Communicator& comm, const std::string& path, const PlotfileContent& content)> write;
};

/// All formats there are.
std::span<const PlotfileFormat> plotfile_formats();

/// The format called `name`; throws core::Error naming the nearest when there is none.
const PlotfileFormat& plotfile_format(std::string_view name);

}  // namespace sidestream::io
