// Cost of heating and cooling on one core, in CPU time a cell and call, for gas of the intergalactic medium at z = 3:
// densities with a lognormal distribution (sigma of ln Delta is 1.2), temperatures T0 Delta^(gamma - 1), steps of a
// hydrodynamic solver. Beside it CVODE of SUNDIALS on the same cells with the tolerance that Nyx has. Caveats: CVODE
// takes its rates from the same kernel, one cell a call, which leaves the other lanes of the vectors idle; the cells
// fit the second cache.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "report.hpp"
#include "sidestream/core/instruction_set.hpp"
#include "sidestream/core/random.hpp"
#include "support/cvode.hpp"
#include "support/heated_gas.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

constexpr std::size_t cells = 8192, cells_of_cvode = 512;
constexpr double mean_hydrogen = 1.238e-5, mean_temperature = 1.188e4, gamma_of_gas = 1.48;  // at z = 3 [1/cm^3], [K]
constexpr double cvode_accuracy = 1e-4;                                                      // of energies

struct Rows {
  std::vector<double> density, energy, source;
};

/// In cgs; half of the cells are compressed or expand, by which their energy would change by up to 5 % in `dt`.
Rows intergalactic_gas(const solvers::HeatingCooling::Epoch& epoch, double dt) {
  Rows rows{std::vector<double>(cells), std::vector<double>(cells), std::vector<double>(cells)};
  std::vector<double> temperature(cells);
  for (std::size_t n = 0; n < cells; ++n) {
    const double delta = std::exp(1.2 * core::normal(3, 1, n) - 0.72);
    rows.density[n] = delta * mean_hydrogen * test::gram_per_hydrogen;
    temperature[n] = mean_temperature * std::pow(delta, gamma_of_gas - 1.0);
  }
  solvers::GasEquilibrium equilibrium;
  equilibrium.energy = rows.energy;
  epoch.equilibrium_at_temperature(rows.density, temperature, equilibrium);
  for (std::size_t n = 0; n < cells; n += 2)
    rows.source[n] = 0.1 * (core::uniform(3, 2, n) - 0.5) * rows.energy[n] / dt;
  return rows;
}

/// CPU time of `work` over `items`, in microseconds, of several repeats.
template <typename F>
json microseconds_each(std::size_t items, int repeats, F work) {
  return bench::cpu_time_each(comm::Communicator(MPI_COMM_SELF), static_cast<double>(items), bench::microsecond,
                              repeats, work);
}

/// The energies of some cells after `dt`, by CVODE in ln of the energy.
std::vector<double> by_cvode(const solvers::HeatingCooling::Epoch& epoch, const Rows& rows, double dt, long& calls) {
  std::vector<double> energy(cells_of_cvode);
  std::size_t cell = 0;
  double heating = 0.0, cooling = 0.0, compton = 0.0;
  solvers::GasEquilibrium rates;
  rates.heating = {&heating, 1};
  rates.cooling = {&cooling, 1};
  rates.compton = {&compton, 1};
  test::Cvode cvode(
      [&](double ln_energy) {
        const double e = std::exp(ln_energy), density = rows.density[cell];
        epoch.equilibrium({&density, 1}, {&e, 1}, rates);
        ++calls;
        return (rows.source[cell] + (heating - cooling - compton) / density) * dt / e;
      },
      0.0, cvode_accuracy);
  for (; cell < cells_of_cvode; ++cell) energy[cell] = std::exp(cvode.integrate(std::log(rows.energy[cell]), 1.0));
  return energy;
}

json measure(const solvers::HeatingCooling::Epoch& epoch, double myr) {
  const double dt = myr * test::seconds_per_myr;
  const Rows rows = intergalactic_gas(epoch, dt);
  std::vector<double> ours, theirs;
  solvers::HeatingCounts counts;
  json result{{"step_Myr", myr}};
  result["us_per_cell"] = microseconds_each(cells, 21, [&] {
    ours = rows.energy;
    counts = epoch.advance(dt, rows.density, rows.source, ours);
  });
  long calls = 0;
  result["us_per_cell_cvode"] =
      microseconds_each(cells_of_cvode, 5, [&] { calls = 0, theirs = by_cvode(epoch, rows, dt, calls); });
  result["steps_per_cell"] = static_cast<double>(counts.steps) / cells;
  result["rates_per_cell_cvode"] = static_cast<double>(calls) / cells_of_cvode;
  double difference = 0.0;
  for (std::size_t n = 0; n < cells_of_cvode; ++n)
    difference = std::max(difference, std::abs(ours[n] / theirs[n] - 1.0));
  result["largest_difference"] = difference;
  result["ratio_to_cvode"] =
      result["us_per_cell"]["min"].get<double>() / result["us_per_cell_cvode"]["min"].get<double>();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  json report = bench::header(comm::Communicator(MPI_COMM_SELF), "heating");
  report["instruction_set"] = core::instruction_set();
  for (const bool shielding : {false, true}) {
    const solvers::HeatingCooling heating({.self_shielding = shielding}, test::cosmology_n());
    for (const double myr : {1.0, 5.0, 30.0}) {
      json result = measure(heating.at(3.0, solvers::cgs_units), myr);
      result["self_shielding"] = shielding;
      report["cases"].push_back(result);
    }
  }
  std::cout << report.dump(2) << '\n';
}
