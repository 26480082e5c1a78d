#include "sidestream/solvers/cosmology_parameters.hpp"

#include <numbers>

#include "sidestream/core/units.hpp"

namespace sidestream::solvers {

namespace units = core::units;

double CosmologyParameters::hubble_constant() const {
  return units::hubble_100 * hubble;
}

double CosmologyParameters::critical_density() const {
  return 3.0 * hubble_constant() * hubble_constant() / (8.0 * std::numbers::pi * units::gravitational_constant);
}

core::Table<CosmologyParameters> cosmology_table() {
  const CosmologyParameters standard;
  core::Table<CosmologyParameters> table("The universe that is simulated");
  table.option("omega_m", &CosmologyParameters::omega_m, standard.omega_m)
      .range(1e-6, 10.0)
      .doc("All matter today in units of the critical density");
  table.option("omega_b", &CosmologyParameters::omega_b, standard.omega_b)
      .range(0.0, 10.0)
      .doc("Baryons today in units of the critical density; part of omega_m");
  table.option("omega_lambda", &CosmologyParameters::omega_lambda, std::nullopt)
      .range(-10.0, 10.0)
      .doc("Cosmological constant; without it, space is flat");
  table.option("hubble", &CosmologyParameters::hubble, standard.hubble)
      .range(1e-3, 10.0)
      .doc("h, the Hubble constant today over 100 km/s/Mpc");
  table.option("sigma8", &CosmologyParameters::sigma8, standard.sigma8)
      .range(0.0, 100.0)
      .doc("Linear rms density contrast at z = 0 in spheres of 8 Mpc/h");
  table.option("ns", &CosmologyParameters::ns, standard.ns)
      .range(-3.0, 4.0)
      .doc("Spectral index of the primordial fluctuations");
  table.option("t_cmb", &CosmologyParameters::t_cmb, standard.t_cmb)
      .range(0.1, 100.0)
      .doc("Temperature of the microwave background today in K");
  return table;
}

void check(const CosmologyParameters& parameters) {
  const CosmologyParameters& p = parameters;
  if (!(p.omega_m > 0.0))
    throw core::Error("omega_m is not above zero", "key `cosmology.omega_m`",
                      "the expansion needs matter; 0.3 is near what is observed");
  if (!(p.hubble > 0.0))
    throw core::Error("hubble is not above zero", "key `cosmology.hubble`", "give h, such as 0.68, not H0 in km/s/Mpc");
  if (!(p.omega_b >= 0.0 && p.omega_b <= p.omega_m))
    throw core::Error("omega_b is not between 0 and omega_m", "key `cosmology.omega_b`",
                      "omega_m counts all matter, baryons included");
}

}  // namespace sidestream::solvers
