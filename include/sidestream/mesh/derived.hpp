#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sidestream/core/config.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::mesh {

/// A function of numbers of a cell, in expressions of derived quantities.
struct CellFunction {
  std::string name, documentation;
  std::size_t arguments = 1;
  double (*of)(double a, double b, double c) = nullptr;
};
/// All there are.
const core::Registry<CellFunction>& cell_functions();

/// What expressions of derived quantities know that is the same in all cells.
struct CellConstants {
  double scale_factor = 1.0, gamma = 5.0 / 3.0;
};

/// A quantity that follows from others cell by cell: `[quantity.mach] expression = "..."`.
class DerivedQuantity {
 public:
  /// `expression` is a text of a configuration; its names are quantities, `gamma`, `redshift` or `scale_factor`. Throws
  /// core::Error with the place.
  DerivedQuantity(Quantity quantity, const core::Node& expression);

  const Quantity& quantity() const { return quantity_; }
  /// The quantities that it follows from.
  const std::vector<std::string>& of() const { return of_; }
  /// Throws core::Error with the place unless all names are those of `quantities`, or of the moment where there is a
  /// redshift.
  void check(const std::vector<std::string>& quantities, bool has_redshift) const;
  void add_to(Snapshot& snapshot) const;
  /// Fills `out` on `box` from the cells of the quantities `of()`, in their order.
  void fill(const Box& box, std::span<const core::View4<const double>> of, const CellConstants& constants,
            const core::View4<double>& out) const;

  struct Term;

 private:
  Quantity quantity_;
  std::string text_, where_;
  std::vector<std::string> of_;
  std::vector<std::size_t> columns_;  // where they are named first
  std::shared_ptr<const Term> term_;
};

/// Why no derived quantity may be called so; empty where one may.
std::string problem_of_name(const std::string& name);

/// The tables `[quantity.NAME]` of the configuration `root`, each after those that it follows from. `known`: what the
/// simulation has. Stores them in `resolved` unless null. Throws core::Error with the place.
std::vector<DerivedQuantity> read_derived(const core::Node& root, const std::vector<Quantity>& known, bool has_redshift,
                                          core::Node* resolved = nullptr);
/// The options of every `[quantity.NAME]`, for the reference.
std::vector<core::Option> quantity_options();

}  // namespace sidestream::mesh
