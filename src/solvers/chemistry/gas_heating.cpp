#include "sidestream/solvers/gas_heating.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sidestream/core/error.hpp"
#include "solvers/chemistry/growth_table.hpp"

namespace sidestream::solvers {

namespace {

constexpr double pressure_of_energy = 2.0 / 3.0;  // gamma - 1

// What the table of growth spans: densities over the mean, temperatures [K].
constexpr double thinnest = 1e-4, densest = 1e7, coldest = 1.0, hottest = 1e9;
// Of the pressure in half a step. Gas that changes by more has forgotten where it came from.
constexpr double least_growth = 0.5, most_growth = 2.0;

/// Specific energies and their rates of change of gas of one density, in units of the rows.
struct Column {
  std::vector<double> energy, rate;
};

Column column_of(const HeatingCooling::Epoch& epoch, const GasUnits& units, const GrowthTable& table,
                 std::int64_t density_node) {
  const auto n = static_cast<std::size_t>(table.energies);
  const double density = table.density(density_node);
  Column column{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i)
    column.energy[i] = table.energy(static_cast<std::int64_t>(i)) / pressure_of_energy;
  std::vector<double> heating(n), cooling(n), compton(n);
  GasEquilibrium rates;
  rates.heating = heating;
  rates.cooling = cooling;
  rates.compton = compton;
  epoch.equilibrium(std::vector<double>(n, density), column.energy, rates);
  const double factor = units.time / (units.energy * density * units.density);
  for (std::size_t i = 0; i < n; ++i) column.rate[i] = factor * (heating[i] - cooling[i] - compton[i]);
  return column;
}

/// Growth in a time `dt` by Euler's implicit method, linearised; where heat makes more heat, by the explicit one.
double growth(const Column& column, std::size_t node, double dt) {
  const std::size_t below = node > 0 ? node - 1 : node, above = std::min(node + 1, column.energy.size() - 1);
  const double slope = (column.rate[above] - column.rate[below]) / (column.energy[above] - column.energy[below]);
  const double change = dt * column.rate[node] / (1.0 - dt * std::min(slope, 0.0));
  return std::clamp(1.0 + change / column.energy[node], least_growth, most_growth);
}

}  // namespace

GasHeating::GasHeating(std::shared_ptr<const HeatingCooling> heating, core::Bill& bill)
    : heating_(std::move(heating)), bill_(bill) {}
GasHeating::~GasHeating() = default;

void GasHeating::begin(int level, double a, double dtau) {
  const GasUnits units = supercomoving_units(a);
  level_ = level;
  a_ = a;
  dtau_ = dtau;
  epoch_ = heating_->at(redshift(a), units);
  const HeatingMoment& moment = epoch_->moment();
  // Pressure over density of a Kelvin of neutral hydrogen and helium.
  const double kelvin = pressure_of_energy * (1.0 + moment.helium) / moment.theta_per_energy;
  growth_ = std::make_unique<GrowthTable>(thinnest * moment.mean_density, densest * moment.mean_density,
                                          coldest * kelvin, hottest * kelvin);
  for (std::int64_t d = 0; d < growth_->densities; ++d) {
    const Column column = column_of(*epoch_, units, *growth_, d);
    for (std::size_t e = 0; e < column.energy.size(); ++e)
      growth_->factors[static_cast<std::size_t>(d * growth_->energies) + e] = growth(column, e, 0.5 * dtau);
  }
}

void GasHeating::advance_half(int cells, const double* density, double* pressure) const {
  multiply_by_growth(*growth_, cells, density, pressure);
}

void GasHeating::complete(const mesh::Box& cells, core::View4<const double> before, core::View4<double> state,
                          double volume) {
  core::timed(bill_, "heating", [&] {
    for (mesh::Box plane = cells; plane.lo.z < cells.hi.z; plane.lo.z = plane.hi.z) {
      plane.hi.z = plane.lo.z + 1;
      try {
        const HeatingCounts counts = complete_plane(plane, before, state, volume / (a_ * a_));
        if (volume > 0.0) floors_ += counts.at_floor;
        if (counts.failed > 0) find_problem(plane);
      } catch (const core::Error&) {
        find_problem(plane);
      }
    }
  });
}

// Cells of a plane that was not advanced, one by one: which is the first that cannot be.
void GasHeating::find_problem(const mesh::Box& plane) {
  const auto told = [&](std::size_t n) -> std::string {
    double energy = energies_[n];
    try {
      const HeatingCounts counts = epoch_->advance(dtau_, {&density_[n], 1}, {&source_[n], 1}, {&energy, 1});
      return counts.failed > 0 ? "heating and cooling could not be integrated: " + counts.first_failed : "";
    } catch (const core::Error& error) {
      return error.message();
    }
  };
  const auto width = static_cast<std::size_t>(plane.extent().x);
  for (std::size_t n = 0; n < density_.size() && problem_.empty(); ++n)
    if (const std::string problem = told(n); !problem.empty())
      problem_ = fmt::format("{}, in cell ({}, {}, {}) of level {}", problem, plane.lo.x + static_cast<int>(n % width),
                             plane.lo.y + static_cast<int>(n / width), plane.lo.z, level_);
}

HeatingCounts GasHeating::complete_plane(const mesh::Box& plane, core::View4<const double> before,
                                         core::View4<double> state, double worth) {
  for (auto* values : {&density_, &source_, &energies_}) values->resize(static_cast<std::size_t>(plane.volume()));
  const std::int32_t k = plane.lo.z;
  std::size_t n = 0;
  for (std::int32_t j = plane.lo.y; j < plane.hi.y; ++j)
    for (std::int32_t i = plane.lo.x; i < plane.hi.x; ++i, ++n) {
      const double density_before = before(0, k, j, i), density_after = state(density, k, j, i);
      density_[n] = 0.5 * (density_before + density_after);
      energies_[n] = before(1, k, j, i) / density_before;
      source_[n] = (state(internal_energy, k, j, i) / density_after - energies_[n]) / dtau_;
    }
  const HeatingCounts counts = epoch_->advance(dtau_, density_, source_, energies_);
  if (counts.failed > 0) return counts;
  n = 0;
  for (std::int32_t j = plane.lo.y; j < plane.hi.y; ++j)
    for (std::int32_t i = plane.lo.x; i < plane.hi.x; ++i, ++n) {
      const double after = state(density, k, j, i) * energies_[n], gain = after - state(internal_energy, k, j, i);
      state(internal_energy, k, j, i) = after;
      state(total_energy, k, j, i) += gain;
      if (worth > 0.0) energy_.add(worth * gain);
    }
  return counts;
}

HeatingBooks GasHeating::take_books() {
  HeatingBooks books;
  energy_.add_to(books.energy);
  energy_ = {};
  books.floors = std::exchange(floors_, 0);
  return books;
}

}  // namespace sidestream::solvers
