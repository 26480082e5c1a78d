#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/solvers/linear_power.hpp"

namespace sidestream::solvers {

namespace {

// Viel et al. 2005 (PRD 71, 063534): below 5 h/Mpc within percents of what CAMB and CMBFAST give for thermal relics.
class WarmTransfer {
 public:
  WarmTransfer(const CosmologyParameters& p, double mass_kev)
      : alpha_(0.049 * core::pow(mass_kev, -1.11) * core::pow((p.omega_m - p.omega_b) / 0.25, 0.11) *
               core::pow(p.hubble / 0.7, 1.22) / p.hubble) {}  // 7

  double operator()(double k) const { return core::pow(1.0 + core::pow(alpha_ * k, 2.0 * nu), -5.0 / nu); }  // 6

 private:
  static constexpr double nu = 1.12;
  double alpha_;  // Mpc
};

}  // namespace

double warm_transfer(const CosmologyParameters& parameters, double mass_kev, double k) {
  return WarmTransfer(parameters, mass_kev)(k);
}

LinearPower warm(const LinearPower& cold, const CosmologyParameters& parameters, double mass_kev) {
  if (!(parameters.omega_b < parameters.omega_m))
    throw core::Error("all matter is baryons: there is no dark matter that could be warm", "key `cosmology.wdm_mass`",
                      "`omega_m` counts all matter: give an omega_b below it, or leave `wdm_mass` out");
  const auto power = [cold, transfer = WarmTransfer(parameters, mass_kev)](double k) {
    const double amplitude = transfer(k);
    return cold(k) * amplitude * amplitude;
  };
  return LinearPower(power, cold.k_min(), cold.k_max(), parameters.ns);
}

}  // namespace sidestream::solvers
