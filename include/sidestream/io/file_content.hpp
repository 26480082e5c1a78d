#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/field_view.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/moment.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::io {

enum class Precision { single_precision, double_precision };

/// One variable of a file: `factor` times a component of cells on each level (owned cells only are written), or what
/// `fill` makes. Names are those of `vocabulary.hpp` where it has one.
struct FileField {
  std::string name, unit;
  std::vector<mesh::FieldView<const double>> levels;  ///< coarsest first; one on a uniform grid
  int component = 0;
  double factor = 1.0;
  /// Where there are no `levels`: fills the cells of `box`, one of this rank's of a level. Local.
  std::function<void(int level, const mesh::Box& box, const core::View4<double>& out)> fill{};
};

/// One number of each particle in a file: `factor` times the value, or `factor` for all.
struct FileParticleReal {
  std::string name, unit;
  std::vector<const std::vector<double>*> levels;  ///< the values of each level's particles; empty: `factor` for all
  double factor = 1.0;
};

/// What goes into a file, whatever its format: a plot file (chosen variables, units of the format's readers) or a
/// checkpoint (all that a run needs to go on, bit exact). The boxes of `levels` are the blocks of the file: on a
/// refined mesh all blocks of a level, with averages in the refined ones. Boxes of a level lie in those of the next
/// coarser one and are twice as fine (flat axes excepted).
struct FileContent {
  /// Time in Mpc/(km/s) or the simulation's unit; as attributes what else a restart needs, bit exact (none: a plot
  /// file).
  mesh::Moment moment;
  double omega_m = 0.0, omega_lambda = 0.0, hubble = 0.0;  ///< present day; `hubble` is h. All zero without cosmology.
  double gamma = 5.0 / 3.0;                                ///< ratio of specific heats of the gas
  bool is_stored = false;                                  ///< a stored snapshot, with all attributes of its moment
  std::map<std::string, std::string> texts;                ///< what else a restart needs, as text
  std::string config;                                      ///< the resolved configuration
  mesh::Geometry geometry;                                 ///< of level 0
  std::string length_unit;                                 ///< "Mpc" (comoving); empty: the problem's own
  std::vector<mesh::Layout> levels;                        ///< all blocks of each level, coarsest first
  int rank = 0;                                            ///< the owner in `levels` that this process is
  std::vector<FileField> fields;                           ///< each with the layouts `levels`
  /// Of this rank, a set for each level, each particle in a box of its rank on that level; an empty list on all ranks:
  /// none. Positions and ids are written from here.
  std::vector<const mesh::Particles*> particles;
  std::vector<FileParticleReal> particle_reals;
  std::shared_ptr<const void> memory;                          ///< keeps what the particles point to
  Precision precision = Precision::double_precision;           ///< of the fields
  Precision particle_precision = Precision::double_precision;  ///< of the particles' positions and reals
};

/// Throws a core::Error unless the parts of `content` fit together. Local.
void check(const FileContent& content);

/// Number of blocks of all levels, and the place of the first block of each level among them (levels + 1 numbers): the
/// order of blocks in files, level by level.
std::vector<std::int64_t> block_starts(const FileContent& content);

}  // namespace sidestream::io
