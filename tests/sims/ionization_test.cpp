#include "sims/quantities/ionization.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "analysis/grid.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/units.hpp"
#include "sims/quantities/common_quantities.hpp"
#include "support/heated_gas.hpp"

namespace sidestream::sims {
namespace {

using mesh::Int3;
using testing::HasSubstr;

constexpr Int3 cells{4, 3, 2};
constexpr double redshift = 3.0;

mesh::Field<double> constant(double value) {
  mesh::Field<double> field(test::one_box(cells), 0);
  std::ranges::fill(field.all(), value);
  return field;
}

// Gas of half the mean density in some cells and three times that in others; what else is known of it is to be added.
mesh::Snapshot density_of_gas() {
  mesh::Snapshot snapshot = test::snapshot_on(test::one_box(cells), 1.0);
  snapshot.length_unit = "Mpc";
  snapshot.moment.scale_factor = solvers::scale_factor(redshift);
  snapshot.moment.attributes = {{"omega_m", 0.275}, {"hubble", 0.702}, {"redshift", redshift}};
  mesh::Field<double> density = constant(0.5 * test::cosmology_n().baryon_density());
  for (std::size_t i = 0; i < density.all().size(); i += 2) density.all()[i] *= 3.0;
  snapshot.add({"gas_density", "Msun/Mpc^3"}, std::move(density));
  return snapshot;
}

// `kelvin` everywhere.
mesh::Snapshot gas(double kelvin) {
  mesh::Snapshot snapshot = density_of_gas();
  snapshot.add({"temperature", "K"}, constant(kelvin));
  return snapshot;
}

double at(const mesh::Snapshot& snapshot, const std::string& name, Int3 cell) {
  return snapshot.field(name).view(0)(cell.z, cell.y, cell.x);
}

class Ionization : public testing::Test {
 protected:
  comm::Communicator self{MPI_COMM_SELF};
  solvers::HeatingConfig config{};
};

TEST_F(Ionization, IsThatOfTheGasInProperUnits) {
  mesh::Snapshot file = gas(1.2e4);
  add_ionization(self, config, {}, file);

  const solvers::HeatingCooling physics(config, test::cosmology_n());
  const double hydrogen = at(file, "gas_density", {1, 0, 0}) * core::units::gram_per_cm3 * std::pow(1.0 + redshift, 3) /
                          test::gram_per_hydrogen;
  const test::CellEquilibrium cell = test::at_temperature(physics.at(redshift, solvers::cgs_units), hydrogen, 1.2e4);
  EXPECT_NEAR(at(file, "neutral_hydrogen", {1, 0, 0}) / (cell.hi * hydrogen), 1.0, 1e-12);
  EXPECT_NEAR(at(file, "singly_ionized_helium", {1, 0, 0}) / (cell.heii * hydrogen), 1.0, 1e-12);
  EXPECT_NEAR(at(file, "electron_fraction", {1, 0, 0}) / cell.electrons, 1.0, 1e-12);
}

// The mean of the gas stands for omega_b in the density where shielding sets in.
TEST_F(Ionization, ShieldsDenseGasAsARunDoes) {
  config.self_shielding = true;
  mesh::Snapshot file = gas(1.2e4);
  mesh::Field<double> density = constant(0.5 * test::cosmology_n().baryon_density());
  density.all()[0] += 0.5 * 24.0 * test::cosmology_n().baryon_density();
  file.add({"gas_density", "Msun/Mpc^3"}, std::move(density));
  add_ionization(self, config, {}, file);

  const solvers::HeatingCooling physics(config, test::cosmology_n());
  const double a = solvers::scale_factor(redshift), dense = at(file, "gas_density", {0, 0, 0}), kelvin = 1.2e4;
  const auto epoch = physics.at(redshift, {core::units::gram_per_cm3 / (a * a * a), 1.0, 1.0});
  double neutral = 0.0;
  solvers::GasEquilibrium out;
  out.hi = {&neutral, 1};
  epoch.equilibrium_at_temperature({&dense, 1}, {&kelvin, 1}, out);
  EXPECT_NEAR(at(file, "neutral_hydrogen", {0, 0, 0}) / (neutral * dense * epoch.moment().hydrogen_per_density), 1.0,
              1e-12);
}

TEST_F(Ionization, LeavesWhatTheFileHasAndWhatTasksDeclare) {
  mesh::Snapshot file = gas(1.2e4);
  file.add({"electron_fraction", "1"}, constant(0.25));
  add_ionization(self, config, {"neutral_hydrogen"}, file);

  EXPECT_EQ(at(file, "electron_fraction", {0, 0, 0}), 0.25);
  EXPECT_EQ(at(file, "temperature", {0, 0, 0}), 1.2e4);
  EXPECT_FALSE(file.has("neutral_hydrogen"));
}

TEST_F(Ionization, IsTheSameWhoeverHasReadTheTemperatureBefore) {
  const auto neutral = [&](bool after_temperature) {
    mesh::Snapshot file = density_of_gas();
    file.add({"specific_internal_energy", "(km/s)^2"}, constant(250.0));
    add_ionization(self, config, {}, file);
    if (after_temperature) file.field("temperature");
    const auto field = file.field("neutral_hydrogen");
    return std::array{field.view(0)(0, 0, 0), field.view(0)(1, 2, 3)};
  };

  EXPECT_EQ(neutral(true), neutral(false));
  EXPECT_GT(neutral(true)[0], 0.0);
}

TEST_F(Ionization, NeedsNoTemperatureThatATaskDeclares) {
  mesh::Snapshot file = density_of_gas();
  file.add({"specific_internal_energy", "(km/s)^2"}, constant(250.0));
  add_ionization(self, config, {"temperature"}, file);

  EXPECT_FALSE(file.has("temperature"));
  EXPECT_GT(at(file, "neutral_hydrogen", {1, 0, 0}), 0.0);
}

TEST_F(Ionization, CellsWithoutGasHaveNone) {
  mesh::Snapshot file = gas(1.2e4);
  mesh::Field<double> density = constant(1e10);
  density.all()[2] = 0.0;
  file.add({"gas_density", "Msun/Mpc^3"}, std::move(density));
  add_ionization(self, config, {}, file);

  EXPECT_TRUE(std::isnan(at(file, "neutral_hydrogen", {2, 0, 0})));
  EXPECT_GT(at(file, "neutral_hydrogen", {1, 0, 0}), 0.0);
  EXPECT_GT(at(file, "neutral_hydrogen", {3, 0, 0}), 0.0);
}

TEST_F(Ionization, SaysWhatTheFileLacks) {
  const auto problem = [&](mesh::Snapshot file) -> std::string {
    try {
      add_ionization(self, config, {}, file);
    } catch (const core::Error& error) {
      return error.message();
    }
    return "none";
  };
  mesh::Snapshot lost = gas(1e4), thin = test::snapshot_on(test::one_box(cells), 1.0);
  thin.moment = lost.moment;
  thin.length_unit = "Mpc";
  lost.moment.attributes.erase("hubble");

  EXPECT_THAT(problem(std::move(lost)), HasSubstr("of what universe"));
  EXPECT_THAT(problem(std::move(thin)), HasSubstr("how dense and how warm"));
}

// From each of the energies that files have, where the gas moves.
TEST(SpecificInternalEnergy, FollowsFromEachEnergy) {
  constexpr double density = 3.0, momentum[] = {6.0, -9.0, 1.5}, internal = 40.0,
                   kinetic = 0.5 * (36.0 + 81.0 + 2.25) / density;
  const std::pair<const char*, double> energies[] = {{"gas_internal_energy", internal},
                                                     {"gas_total_energy", internal + kinetic},
                                                     {"specific_total_energy", (internal + kinetic) / density}};
  for (const auto& [name, value] : energies) {
    mesh::Snapshot snapshot = test::snapshot_on(test::one_box(cells), 1.0);
    snapshot.add({"gas_density", "1"}, constant(density));
    for (int axis = 0; axis < 3; ++axis)
      snapshot.add({std::string("gas_momentum_") + "xyz"[axis], "1"}, constant(momentum[axis]));
    snapshot.add({name, "1"}, constant(value));

    add_common_quantities(snapshot);

    EXPECT_NEAR(at(snapshot, "specific_internal_energy", {1, 1, 1}), internal / density, 1e-13) << name;
    EXPECT_EQ(at(snapshot, "velocity_y", {1, 1, 1}), -3.0);
  }
}

}  // namespace
}  // namespace sidestream::sims
