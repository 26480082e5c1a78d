#pragma once

namespace sidestream::sims {

/// The blast wave of a point (three dimensions) or line (two) explosion of energy E into gas of density rho and no
/// pressure, in the closed form of Sedov (1959) as Kamm & Timmes (2007, LA-UR-07-2849) write it.
class SedovSolution {
 public:
  /// Whether the closed form holds: gamma in (1, 7), not 2.
  static bool exists(double gamma);

  /// `dimensions`: 2 (energy per unit length of the line) or 3. Throws core::Error unless `exists(gamma)`.
  SedovSolution(int dimensions, double gamma);

  /// R = beta (E t^2 / rho)^(1 / (dimensions + 2)).
  double beta() const { return beta_; }
  double shock_radius(double energy, double rho, double time) const;

  /// At the radius `xi` in units of R, inside the shock: density over that of the ambient gas, velocity over that of
  /// the shock, pressure over ambient density times shock speed squared. Outside: the ambient gas, {1, 0, 0}.
  struct Profile {
    double rho, u, p;
  };
  Profile at(double xi) const;

 private:
  struct Point {
    double xi;
    Profile profile;
  };
  Point point(double y) const;

  int dimensions_;
  double gamma_, beta_ = 0.0;
  double a0_ = 0.0, a1_ = 0.0, a2_ = 0.0, a3_ = 0.0, a4_ = 0.0, a5_ = 0.0;  // exponents
};

}  // namespace sidestream::sims
