#pragma once

#include "solvers/chemistry/lanes.hpp"
#include "solvers/chemistry/rate_table.hpp"

/// The table of rates at the temperatures of the lanes, and that of self-shielding. For one file of kernels,
/// `heating_rows.cpp`, as `lanes.hpp`: what is large is static, so that the compiler does not inline it everywhere.
namespace sidestream::solvers {

/// Rates of two-body processes at the temperatures of the lanes: those that ionisation follows from, and all.
struct IonizationRates {
  Lanes recombination_hii, recombination_heii, recombination_heiii, ionization_hi, ionization_hei, ionization_heii;
};
struct ProcessRates : IonizationRates {
  Lanes cooling_hi, cooling_hei, collisions_heii, cooling_hii, cooling_heii, cooling_heiii;
};

/// Weights of Hermite's cubics at `f` in [0, 1]: of the values below and above, of the slopes below and above.
struct HermiteWeights {
  explicit HermiteWeights(Lanes f)
      : above(f * f * (3.0 - 2.0 * f)), slope_below(f * (1.0 - f) * (1.0 - f)), slope_above(f * f * (f - 1.0)) {
    below = 1.0 - above;
  }
  Lanes below, above, slope_below, slope_above;
};

/// Where lanes are in a table.
struct TablePlace {
  TablePlace(Lanes nodes, int intervals) {
    const Lanes inside = larger_of(smaller_of(nodes, all(intervals)), all(0.0));
    const Places whole = __builtin_convertvector(smaller_of(inside, all(intervals - 1)), Places);
    first = whole;
    fraction = inside - __builtin_convertvector(whole, Lanes);
  }
  Places first;
  Lanes fraction;
};

/// The first columns of the table at the temperatures of the lanes.
template <int Columns>
struct TableColumns {
  [[gnu::always_inline]] TableColumns(const double* table, Lanes log_temperature) {
    const TablePlace place(log_temperature * nodes_per_unit, table_intervals);
    const HermiteWeights weights(place.fraction);
    for (int l = 0; l < lanes; ++l) {
      const double* node = table + place.first[l] * (2 * table_width);
      for (int part = 0; part < Columns; part += lanes) {
        const Lanes row = load(node + part) * weights.below[l] +
                          load(node + table_width + part) * weights.slope_below[l] +
                          load(node + 2 * table_width + part) * weights.above[l] +
                          load(node + 3 * table_width + part) * weights.slope_above[l];
        __builtin_memcpy(&rows[l][part], &row, sizeof row);
      }
    }
  }
  [[gnu::always_inline]] Lanes operator()(TableRate rate) const {
    Lanes values;
    for (int l = 0; l < lanes; ++l) values[l] = rows[l][rate];
    return values;
  }
  alignas(64) double rows[lanes][table_width];
};

/// Powers of the Boltzmann factor that the table leaves out.
struct BoltzmannFactors {
  [[gnu::always_inline]] explicit BoltzmannFactors(Lanes temperature)
      : once(exponential(-boltzmann_unit / temperature)),
        power_3(once * once * once),
        power_4(power_3 * once),
        power_7(power_4 * power_3),
        power_12(power_4 * power_4 * power_4),
        power_16(power_12 * power_4) {}
  Lanes once, power_3, power_4, power_7, power_12, power_16;
};
constexpr int ionization_columns = (table_cooling_hi + lanes - 1) / lanes * lanes;
constexpr BoltzmannPowers powers;
static_assert(powers.ionization_hi == 4 && powers.ionization_hei == 7 && powers.ionization_heii == 16);
static_assert(powers.cooling_hi == 3 && powers.cooling_hei == 7 && powers.cooling_heii == 12);

template <int Columns>
[[gnu::always_inline]] inline IonizationRates ionization_rates(const TableColumns<Columns>& column,
                                                               const BoltzmannFactors& factor) {
  return {column(table_recombination_hii),
          column(table_recombination_heii),
          column(table_recombination_heiii),
          column(table_ionization_hi) * factor.power_4,
          column(table_ionization_hei) * factor.power_7,
          column(table_ionization_heii) * factor.power_16};
}

[[gnu::always_inline]] inline ProcessRates rates_at(const double* table, Lanes log_temperature, Lanes temperature) {
  const TableColumns<table_width> column(table, log_temperature);
  const BoltzmannFactors factor(temperature);
  return {ionization_rates(column, factor),
          column(table_cooling_hi) * factor.power_3,
          column(table_cooling_hei) * factor.power_7,
          column(table_collisions_heii) * factor.power_12,
          column(table_cooling_hii),
          column(table_cooling_heii),
          column(table_cooling_heiii)};
}

static Lanes shielded_share(const double* table, Lanes w) {
  const TablePlace place((w - shielding_begin) * shielding_nodes_per_unit, shielding_intervals);
  const HermiteWeights weights(place.fraction);
  Lanes share;
  for (int l = 0; l < lanes; ++l) {
    const double* node = table + 2 * place.first[l];
    share[l] = node[0] * weights.below[l] + node[1] * weights.slope_below[l] + node[2] * weights.above[l] +
               node[3] * weights.slope_above[l];
  }
  return share;
}

}  // namespace sidestream::solvers
