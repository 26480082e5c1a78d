#pragma once

namespace sidestream::sims {

/// Gas on one side of a membrane.
struct RiemannState {
  double rho = 1.0, u = 0.0, p = 1.0;
};

/// What becomes of two gases at rest or in motion when the membrane between them is taken away: exact (Toro 2009,
/// chapter 4).
class RiemannSolution {
 public:
  /// Throws core::Error when a vacuum forms.
  RiemannSolution(const RiemannState& left, const RiemannState& right, double gamma);

  static bool forms_vacuum(const RiemannState& left, const RiemannState& right, double gamma);

  /// Pressure and velocity between the waves.
  double middle_pressure() const { return p_; }
  double middle_velocity() const { return u_; }

  /// Speeds of the outermost waves.
  double left_front() const;
  double right_front() const;

  /// The gas at x / t = `speed`.
  RiemannState at(double speed) const;

  /// Mean density over [lo, hi] at `time` after the membrane at x = 0 went: from 64 points.
  double mean_density(double lo, double hi, double time) const;

 private:
  RiemannState left_, right_;
  double gamma_, p_ = 0.0, u_ = 0.0;
};

}  // namespace sidestream::sims
