#include "solvers/chemistry/rate_table.hpp"

#include <array>

#include "sidestream/core/math.hpp"

namespace sidestream::solvers {

namespace {

constexpr double step = 1e-5;    // in ln T or w, of the differences that give slopes
constexpr double aside = 1e-12;  // in ln T, from where a fit jumps

LeftOut left_out() {
  const BoltzmannPowers powers;
  const auto times = [](int power) { return power * boltzmann_unit; };
  return {.ionization_hi = times(powers.ionization_hi),
          .ionization_hei = times(powers.ionization_hei),
          .ionization_heii = times(powers.ionization_heii),
          .cooling_hi = times(powers.cooling_hi),
          .cooling_hei = times(powers.cooling_hei),
          .cooling_heii = times(powers.cooling_heii)};
}

using NodeValues = std::array<double, table_width>;

NodeValues values_at(double ln_t, RateFits fits) {
  const PrimordialRates rates = primordial_rates(core::exp(ln_t), fits, left_out());
  NodeValues values{};
  values[table_recombination_hii] = rates.recombination_hii;
  values[table_recombination_heii] = rates.recombination_heii + rates.dielectronic_heii;
  values[table_recombination_heiii] = rates.recombination_heiii;
  values[table_ionization_hi] = rates.ionization_hi;
  values[table_ionization_hei] = rates.ionization_hei;
  values[table_ionization_heii] = rates.ionization_heii;
  values[table_cooling_hi] = rates.cooling_hi;
  values[table_cooling_hei] = rates.cooling_hei;
  values[table_collisions_heii] = rates.cooling_heii;
  values[table_cooling_hii] = rates.recombination_cooling_hii + rates.free_free_1;
  values[table_cooling_heii] = rates.recombination_cooling_heii + rates.free_free_1;
  values[table_cooling_heiii] = rates.recombination_cooling_heiii + rates.free_free_2;
  return values;
}

}  // namespace

std::vector<double> rate_table(RateFits fits) {
  std::vector<double> table;
  for (int n = 0; n <= table_intervals; ++n) {
    const double ln_t = n / nodes_per_unit - aside;
    const NodeValues here = values_at(ln_t, fits), below = values_at(ln_t - step, fits),
                     further = values_at(ln_t - 2.0 * step, fits);
    table.insert(table.end(), here.begin(), here.end());
    for (std::size_t q = 0; q < table_width; ++q)
      table.push_back((3.0 * here[q] - 4.0 * below[q] + further[q]) / (2.0 * step * nodes_per_unit));
  }
  return table;
}

double self_shielding(double w) {
  const double ratio = core::exp(w), power = core::exp(1.64 * w);
  return 0.98 * core::pow(1.0 + power, -2.28) + 0.02 * core::pow(1.0 + ratio, -0.84);
}

std::vector<double> shielding_table() {
  std::vector<double> table;
  for (int n = 0; n <= shielding_intervals; ++n) {
    const double w = shielding_begin + static_cast<double>(n) / shielding_nodes_per_unit;
    table.push_back(self_shielding(w));
    table.push_back((self_shielding(w + step) - self_shielding(w - step)) / (2.0 * step * shielding_nodes_per_unit));
  }
  return table;
}

}  // namespace sidestream::solvers
