#pragma once

#include <array>
#include <complex>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/core/view.hpp"
#include "sidestream/mesh/any_field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/moment.hpp"
#include "sidestream/mesh/quantity.hpp"
#include "sidestream/mesh/species.hpp"

namespace sidestream::mesh {

/// The names of the real and the imaginary part of a complex quantity.
std::array<std::string, 2> complex_parts(const std::string& name);

/// The state of a simulation at a moment, read-only: quantities, particles, and what a restart needs beside them. The
/// one description of a state: analyses eat it, plot files and checkpoints are made of it. Quantities live on levels of
/// refinement, of which the leaves together tile the domain, each cell of it once. On a uniform grid there is one
/// level. A quantity is a view of cells that lie in memory, or is computed on first use and then kept, so only what
/// somebody asks for costs anything.
class Snapshot {
 public:
  /// Gives the cells of a level, of one component, float or double, on the leaves or on all blocks of the
  /// level: called by all ranks together.
  using Provider = std::function<AnyField(int level)>;
  /// Fills the cells of `box`, one of this rank's of `blocks()[level]`. Local.
  using Kernel = std::function<void(int level, const Box& box, const core::View4<double>& out)>;
  /// Fills `out` on `box` from the cells `of` of other quantities. Local.
  using Derivation = std::function<void(const Box& box, std::span<const core::View4<const double>> of,
                                        const core::View4<double>& out)>;

  Moment moment;
  Geometry geometry;                 ///< of level 0
  std::string length_unit;           ///< "Mpc" (comoving); empty: the problem's own
  double gamma = 5.0 / 3.0;          ///< ratio of specific heats of the gas
  std::vector<Layout> levels;        ///< the leaves of each level, coarsest first; a level may be empty of boxes
  std::vector<Layout> with_refined;  ///< all blocks of each level, where some are refined; see `blocks`
  int rank = 0;                      ///< the owner in `levels` that this process is
  // Of files and restarts; analyses do not have these by every transport.
  std::map<std::string, double> state_numbers;  ///< that a restart needs, to the bit
  std::map<std::string, std::string> texts;     ///< that the file keeps beside the state it was read from
  std::string source;                           ///< that file, for messages

  /// Its moment, geometry, unit of length and gamma alone: what goes with cells that are handed on.
  Snapshot frame() const;

  int finest_level() const { return static_cast<int>(levels.size()) - 1; }
  bool is_refined() const { return levels.size() > 1; }
  /// All blocks of each level: the leaves and those that finer ones cover, which hold their averages.
  const std::vector<Layout>& blocks() const { return with_refined.empty() ? levels : with_refined; }

  /// Adds another grid, at the moment of this one, with quantities of its own: the modes of a spectrum, a coarser mesh,
  /// skewers, a slice.
  void add_grid(const std::string& name, Snapshot on_it);
  /// What there is on the grid `name`; this snapshot itself where it is empty. Throws core::Error naming the grids
  /// there are.
  const Snapshot& on_grid(const std::string& name) const;
  bool has_grid(const std::string& name) const { return name.empty() || grids_.contains(name); }

  void add(Quantity quantity, Provider provide);
  /// Adds a quantity of which all levels are at hand, coarsest first.
  void add(Quantity quantity, std::vector<Field<double>> fields);
  void add(Quantity quantity, Field<double> field);
  void add_computed(Quantity quantity, Kernel fill);
  /// Adds one that follows, cell by cell, from the quantities `of`.
  void add_derived(Quantity quantity, std::vector<std::string> of, Derivation derive);
  /// Adds `factor` times what a simulation stores: component `component` on all blocks of each level, coarsest first.
  void add_stored(Quantity quantity, std::vector<FieldView<const double>> stored, int component, double factor = 1.0);

  /// Adds a complex quantity as two real ones, `complex_parts(quantity.name)`; `stored`: all blocks of each level,
  /// coarsest first.
  void add_complex(const Quantity& quantity, const std::vector<FieldView<const std::complex<double>>>& stored);

  /// Adds particles of a kind that the snapshot does not have yet.
  void add_species(Species species);
  /// In the order in which they were added.
  const std::vector<Species>& species() const { return species_; }
  /// Throws core::Error naming those there are.
  const Species& species(const std::string& name) const;
  bool has_particles() const { return !species_.empty(); }
  /// The particles of a species of this rank, without a name those of the first one; null where there are none.
  const Particles* particles(const std::string& species = "") const;

  bool has(const std::string& name) const { return quantities_.contains(name); }
  /// In the order in which they were added.
  const std::vector<Quantity>& quantities() const { return order_; }
  const Quantity& quantity(const std::string& name) const { return entry(name).quantity; }
  const std::string& unit(const std::string& name) const { return quantity(name).unit; }
  /// The cells of the leaves. Throws core::Error naming the quantities there are. What is not at hand as doubles is
  /// made and kept. The view lives as long as the snapshot, and as what it was made of.
  FieldView<const double> field(const std::string& name, int level = 0) const;
  /// Writes the cells of this rank's blocks of `into`, which are blocks of `blocks()[level]`, to its component
  /// `component`; what is made for it is not kept. All ranks together.
  void read(const std::string& name, int level, Field<double>& into, int component = 0) const;
  /// Makes what all ranks have to make together, so that `write` is local.
  void prepare(const std::string& name) const;
  /// Writes the cells of `box`, one of this rank's of `blocks()[level]`, to `out` without keeping them; local after
  /// `prepare`.
  void write(const std::string& name, int level, const Box& box, const core::View4<double>& out) const;
  /// What a simulation stores of a quantity: `factor` times component `component` of `levels` is the quantity.
  struct Stored {
    std::vector<FieldView<const double>> levels;  ///< all blocks of each; none: it is not stored
    int component = 0;
    double factor = 1.0;
  };
  const Stored& stored(const std::string& name) const { return entry(name).stored; }

 private:
  struct Entry {
    Quantity quantity{};
    Provider provide{};
    Kernel fill{};
    std::vector<std::string> of{};
    Derivation derive{};
    Stored stored{};
    mutable std::vector<AnyField> levels{};                 // at hand
    mutable std::vector<FieldView<const double>> leaves{};  // as somebody read them
  };
  void put(Entry entry);
  const Entry& entry(const std::string& name) const;
  Field<double> filled(const Entry& entry, int level) const;
  AnyField& at_hand(const Entry& entry, int level) const;
  void make(const Entry& entry, int level, const Box& box, const core::View4<double>& out) const;
  std::map<std::string, Entry> quantities_;
  std::vector<Quantity> order_;
  std::map<std::string, std::shared_ptr<const Snapshot>> grids_;
  std::vector<Species> species_;
};

}  // namespace sidestream::mesh
