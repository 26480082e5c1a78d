#include "sims/cosmology/energies.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numbers>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"
#include "sims/cosmology/universe.hpp"

namespace sidestream::sims {

namespace {

/// Measurements are so many steps apart at least, and the scale factor has grown by so much: each costs a fiftieth of a
/// step.
constexpr std::int64_t steps_between_measurements = 10;
constexpr double growth_between_measurements = 1.1;

/// Cells of a row that are added up before their sum is added exactly. Groups begin at multiples of the global index:
/// their sums do not depend on ranks.
constexpr int group = 8;

// `value(k, j, i)` of all cells of `box`.
template <typename F>
void add_cells(const mesh::Box& box, core::ExactSum& sum, F value) {
  core::for_each_row(box, [&](int k, int j) {
    for (int begin = box.lo.x; begin < box.hi.x;) {
      const int end = std::min(begin + group - begin % group, box.hi.x);
      double part = 0.0;
      for (int i = begin; i < end; ++i) part += value(k, j, i);
      sum.add(part);
      begin = end;
    }
  });
}

// w^2 of each particle in units of the mass of those that weigh most.
void add_squares(const mesh::Particles& particles, core::ExactSum& sum) {
  const auto& x = particles.attribute(solvers::momentum_names[0]);
  const auto& y = particles.attribute(solvers::momentum_names[1]);
  const auto& z = particles.attribute(solvers::momentum_names[2]);
  const auto* const fractions =
      solvers::has_mass_fractions(particles) ? &particles.attribute(solvers::mass_fraction_name) : nullptr;
  for (std::size_t p = 0; p < particles.size(); ++p) {
    const double square = x[p] * x[p] + y[p] * y[p] + z[p] * z[p];
    sum.add(fractions != nullptr ? (*fractions)[p] * square : square);
  }
}

}  // namespace

Energies Universe::energies(double a) const {
  enum { squares, moving, total, heat, bound, count };
  std::array<core::ExactSum, count> sums;
  for (const mesh::Particles& particles : particles_) add_squares(particles, sums[squares]);
  const double mean = config_.parameters.matter_density();
  for (int level = 0; level <= finest_level(); ++level) {
    const double volume = hierarchy_.geometry(level).cell_volume();
    const auto own = hierarchy_.layout(level).boxes_of(comm_.rank());
    const mesh::Field<double>& density = density_[static_cast<std::size_t>(level)];
    for (int b = 0; b < density.blocks(); ++b) {
      if (!hierarchy_.is_leaf(level, own[static_cast<std::size_t>(b)])) continue;
      const mesh::Box box = density.box(b);
      add_cells(box, sums[bound], [=, rho = density.view(b), psi = potential(level).view(b)](int k, int j, int i) {
        return volume * (rho(k, j, i) - mean) * psi(k, j, i);
      });
      if (!gas_) continue;
      const auto state = gas(level).view(b);
      add_cells(box, sums[moving], [=](int k, int j, int i) {
        const double x = state(solvers::momentum_x, k, j, i), y = state(solvers::momentum_y, k, j, i),
                     z = state(solvers::momentum_z, k, j, i);
        return 0.5 * volume * (x * x + y * y + z * z) / state(solvers::density, k, j, i);
      });
      add_cells(box, sums[total], [=](int k, int j, int i) { return volume * state(solvers::total_energy, k, j, i); });
      add_cells(box, sums[heat],
                [=](int k, int j, int i) { return volume * state(solvers::internal_energy, k, j, i); });
    }
  }
  comm_.sum(std::span(sums));
  const double pull = 4.0 * std::numbers::pi * core::units::gravitational_constant / a;
  const double unresolved = sums[total].value() - sums[moving].value() - sums[heat].value();
  return {0.5 * particles_.front().mass * sums[squares].value() / (a * a), sums[moving].value() / (a * a),
          unresolved / (a * a), sums[heat].value() / (a * a), 0.5 * pull * sums[bound].value()};
}

bool EnergyBalance::is_due(std::int64_t step, double a) const {
  return step >= step_ + steps_between_measurements && a >= growth_between_measurements * a_;
}

void EnergyBalance::follow(double a, double booked) {
  followed_heat_ += core::log(a / followed_a_) * 0.5 * ((followed_booked_ - booked_) + (booked - booked_));
  followed_a_ = a;
  followed_booked_ = booked;
}

void EnergyBalance::add(std::int64_t step, double a, const Energies& energies, double booked) {
  if (a_ == 0.0) {
    start_ = energies.total();
  } else {
    if (a > followed_a_) follow(a, booked);
    const double growth = core::log(a / a_), before = rate(last_), now = rate(energies) - heat_rate(booked - booked_);
    lost_ += before * growth + (now - before) * (1.0 - a_ * growth / (a - a_)) + heat_rate(followed_heat_);
  }
  step_ = step;
  a_ = a;
  last_ = energies;
  booked_ = booked;
  followed_a_ = a;
  followed_booked_ = booked;
  followed_heat_ = 0.0;
}

nlohmann::json EnergyBalance::to_json() const {
  return {{"kinetic_dark_matter", last_.dark_kinetic},
          {"kinetic_gas", last_.gas_kinetic},
          {"unresolved", last_.unresolved},
          {"thermal", last_.thermal},
          {"potential", last_.potential},
          {"lost_to_expansion", lost_},
          {"booked", booked_},
          {"residual", residual()},
          {"scale_factor", a_}};
}

std::map<std::string, double> EnergyBalance::attributes() const {
  return {{"energy_dark_kinetic", last_.dark_kinetic},
          {"energy_gas_kinetic", last_.gas_kinetic},
          {"energy_unresolved", last_.unresolved},
          {"energy_thermal", last_.thermal},
          {"energy_potential", last_.potential},
          {"energy_scale_factor", a_},
          {"energy_start", start_},
          {"energy_lost", lost_},
          {"energy_step", static_cast<double>(step_)},
          {"energy_booked", booked_},
          {"energy_followed_scale_factor", followed_a_},
          {"energy_followed_booked", followed_booked_},
          {"energy_followed_heat", followed_heat_}};
}

void EnergyBalance::restore(const std::map<std::string, double>& attributes) {
  last_ = {attributes.at("energy_dark_kinetic"), attributes.at("energy_gas_kinetic"),
           attributes.at("energy_unresolved"), attributes.at("energy_thermal"), attributes.at("energy_potential")};
  a_ = attributes.at("energy_scale_factor");
  start_ = attributes.at("energy_start");
  lost_ = attributes.at("energy_lost");
  step_ = static_cast<std::int64_t>(attributes.at("energy_step"));
  booked_ = attributes.at("energy_booked");
  // Checkpoints of versions that did not follow it have none of these.
  const auto value = [&](const char* name, double otherwise) {
    const auto found = attributes.find(name);
    return found != attributes.end() ? found->second : otherwise;
  };
  followed_a_ = value("energy_followed_scale_factor", a_);
  followed_booked_ = value("energy_followed_booked", booked_);
  followed_heat_ = value("energy_followed_heat", 0.0);
}

}  // namespace sidestream::sims
