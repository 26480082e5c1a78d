#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sidestream::sims {

/// The energies of the matter in a box, proper [Msun (km/s)^2]: of peculiar motions, of motions inside the cells of the
/// gas (its unresolved energy, see `solvers::Hydro`), of heat, and W, half the integral of (density - mean) phi.
struct Energies {
  double dark_kinetic = 0.0, gas_kinetic = 0.0, unresolved = 0.0, thermal = 0.0, potential = 0.0;

  double kinetic() const { return dark_kinetic + gas_kinetic + unresolved; }
  double total() const { return kinetic() + thermal + potential; }
};

/// Holds a run to the equation of Layzer and Irvine with the heat of the gas,
///     d(K + U + W) = -(2 K + 3 (gamma - 1) U + W) dln a
/// (docs/concepts/cosmology.md). Whoever runs measures the energies where `is_due` says so and at the end.
class EnergyBalance {
 public:
  explicit EnergyBalance(double gamma) : gamma_(gamma) {}

  /// Goes on from what `attributes` gave.
  void restore(const std::map<std::string, double>& attributes);

  /// Whether the universe has grown by a tenth since the last measurement, and ten steps have passed.
  bool is_due(std::int64_t step, double a) const;
  /// Takes note, after each step, of the energy added to the gas since the start beside solving its equations: heat may
  /// come all at once, anywhere between two measurements.
  void follow(double a, double booked);
  /// Begins at the scale factor `a`, or goes on to it. Between both measurements the rate of loss is that of what was
  /// booked, from step to step, and one linear in the scale factor, which it is while structure grows linearly.
  void add(std::int64_t step, double a, const Energies& energies, double booked);

  /// Somebody has changed the matter since the last measurement, without a step: what that has brought is no error.
  void allow(const Energies& after) {
    start_ += after.total() - last_.total();
    last_ = after;
  }

  /// When the energies were measured last; 0 before.
  double scale_factor() const { return a_; }
  /// What the equation leaves over: energy that came from nowhere.
  double residual() const { return last_.total() - start_ + lost_ - booked_; }

  nlohmann::json to_json() const;
  std::map<std::string, double> attributes() const;

 private:
  double heat_rate(double heat) const { return 3.0 * (gamma_ - 1.0) * heat; }
  double rate(const Energies& energies) const {
    return 2.0 * energies.kinetic() + heat_rate(energies.thermal) + energies.potential;
  }

  double gamma_, a_ = 0.0;
  std::int64_t step_ = 0;
  Energies last_;
  double start_ = 0.0;   // K + U + W at the start
  double lost_ = 0.0;    // to the expansion since
  double booked_ = 0.0;  // added to the gas since, beside solving its equations, until energies were measured
  // As it was followed since: until when, what was booked then, and the integral of what has come in over ln a.
  double followed_a_ = 0.0, followed_booked_ = 0.0, followed_heat_ = 0.0;
};

}  // namespace sidestream::sims
