#pragma once

#include <vector>

#include "sidestream/solvers/primordial_rates.hpp"

namespace sidestream::solvers {

/// What stands in the table of rates, in the order of a node. Sums stand for what is always added.
enum TableRate : int {
  table_recombination_hii,
  table_recombination_heii,  ///< with the dielectronic
  table_recombination_heiii,
  table_ionization_hi,  // each without the Boltzmann factor of its place in `boltzmann_powers`
  table_ionization_hei,
  table_ionization_heii,
  table_cooling_hi,
  table_cooling_hei,
  table_collisions_heii,
  table_cooling_hii,   ///< recombination and free-free
  table_cooling_heii,  ///< the same
  table_cooling_heiii  ///< the same
};
constexpr int table_width = 16;  ///< numbers of a node that are values; as many slopes follow

/// Boltzmann factors that the table leaves out are powers of exp(-`boltzmann_unit` / T).
constexpr double boltzmann_unit = 1.18415e5 / 3.0;  // [K]
struct BoltzmannPowers {
  int ionization_hi = 4, ionization_hei = 7, ionization_heii = 16, cooling_hi = 3, cooling_hei = 7, cooling_heii = 12;
};

/// Nodes are at ln T = n / `nodes_per_unit`, T from 1 K to 1e10 K; powers of ten are among them. Between them, cubics
/// of Hermite's kind.
constexpr int nodes_per_decade = 92, table_intervals = 10 * nodes_per_decade;
constexpr double nodes_per_unit = nodes_per_decade / 2.30258509299404568402;

/// The nodes of the table one after the other: `table_width` values of rates, then their slopes times the distance of
/// nodes. Where a fit jumps, as at 1e5 and 1e6 K, a node has the side of lower temperature, and the interval above it
/// passes over the jump.
std::vector<double> rate_table(RateFits fits);

/// Share of the ionising background that reaches gas of the density n_H = n_SSh e^w (Rahmati et al. 2013, MNRAS 430,
/// 2427, equation 14).
double self_shielding(double w);

/// Nodes are at w = `shielding_begin` + n / `shielding_nodes_per_unit`.
constexpr double shielding_begin = -12.0;
constexpr int shielding_nodes_per_unit = 20, shielding_intervals = 42 * shielding_nodes_per_unit;

/// Values and slopes (times the distance of nodes) of `self_shielding`, node by node.
std::vector<double> shielding_table();

}  // namespace sidestream::solvers
