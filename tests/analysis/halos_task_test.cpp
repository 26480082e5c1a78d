// The analysis `halos`: which columns it has for which snapshots, and what they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <optional>
#include <set>

#include "analysis/run.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/units.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using testing::HasSubstr;

constexpr mesh::Periodicity periodic{true, true, true};
constexpr Int3 cells{16, 12, 8};

struct Moment {
  mesh::Snapshot snapshot;
  mesh::Particles particles;
};

// Gas with velocities, dark matter, and particles that lie on random ranks.
void fill(Moment& moment, const mesh::Layout& layout, const comm::Communicator& comm, bool has_gas) {
  moment.snapshot = test::cosmology_snapshot(layout, comm.rank(), has_gas);
  mesh::Snapshot& snapshot = moment.snapshot;
  snapshot.moment.attributes["omega_m"] = 0.3;
  if (has_gas)
    for (const std::uint64_t axis : {1u, 2u}) {
      test::Grid velocity(cells);
      for (std::size_t i = 0; i < velocity.values.size(); ++i) velocity.values[i] = 100 * core::normal(42, 5 + axis, i);
      snapshot.add({std::string("velocity_") + "xyz"[axis], "km/s"}, velocity.on(layout, comm.rank()));
    }
  mesh::Particles& particles = moment.particles;
  particles.mass = 5e10;
  for (const char axis : {'x', 'y', 'z'}) particles.attributes.push_back({std::string("momentum_") + axis, "km/s", {}});
  for (std::uint64_t i = 0; i < 4000; ++i) {
    if (static_cast<int>(core::uniform(3, 3, i) * comm.size()) != comm.rank()) continue;
    particles.id.push_back(static_cast<std::int64_t>(i));
    for (std::size_t a = 0; a < 3; ++a) {
      particles.position[a].push_back(core::uniform(4, a, i) * snapshot.geometry.length[a]);
      particles.attributes[a].values.push_back(30 * core::normal(5, a, i));
    }
  }
  snapshot.add_species({mesh::dark_matter, &particles});
}

std::set<std::string> names_of(const mesh::Result& result) {
  std::set<std::string> names;
  for (const mesh::Column& column : result.columns) names.insert(column.name);
  return names;
}

const std::string task = "analysis = 'halos'\nt_boundary = '5 mean'\nt_halo = '20 mean'\n";
const std::vector<std::string> kinematics{"particles",           "particle_mass",      "velocity_x",
                                          "velocity_dispersion", "angular_momentum_z", "spin"};

TEST(HalosTask, FindsTheSameBitsOnAnyLayoutAndForAnyDealOfTheParticles) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const auto analysis = test::analysis_of(task + "kinematics = true");
  for (const bool has_gas : {true, false}) {
    Moment alone;
    fill(alone, test::one_box(cells), self, has_gas);
    const auto expected = analysis->run(self, alone.snapshot);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      Moment moment;
      fill(moment, test::random_layout(cells, periodic, world.size(), 1 + 9 * static_cast<int>(seed), seed), world,
           has_gas);

      const auto result = analysis->run(world, moment.snapshot);

      if (world.rank() == 0) {
        EXPECT_TRUE(test::are_identical(result, expected)) << seed;
      }
    }
    ASSERT_GT(expected.dimensions.at("halo"), 3);
    for (const std::string& name : kinematics) EXPECT_TRUE(names_of(expected).contains(name)) << name;
    for (const mesh::Column& column : expected.columns)
      EXPECT_FALSE(column.description.empty() || column.unit.empty()) << column.name;
    EXPECT_THAT(test::integers(expected, "particles"), testing::Contains(testing::Gt(10)));
    EXPECT_THAT(test::numbers(expected, "velocity_dispersion"), testing::Contains(testing::Gt(50.0)));
    EXPECT_THAT(test::numbers(expected, "spin"), testing::Contains(testing::Gt(0.01)));
  }
}

TEST(HalosTask, AsksForNoMoreThanItIsToldTo) {
  const auto plain = test::analysis_of(task), moving = test::analysis_of(task + "kinematics = true");
  const auto plain_fields = plain->fields(), moving_fields = moving->fields();

  EXPECT_TRUE(plain->species().empty());
  EXPECT_EQ(moving->species(), std::vector<std::string>{""});
  EXPECT_THAT(plain_fields, testing::Not(testing::Contains("velocity_x?")));
  for (const char* name : {"velocity_x?", "velocity_y?", "velocity_z?", "gas_density?"})
    EXPECT_THAT(moving_fields, testing::Contains(name));
}

TEST(HalosTask, LeavesOutWhatTheSnapshotCannotTell) {
  const comm::Communicator self(MPI_COMM_SELF);
  const auto analysis = test::analysis_of(task + "kinematics = true");
  mesh::Snapshot bare = test::snapshot_on(test::one_box(cells), 10.0);
  bare.add({"gas_density", "1"}, test::wave_field(16).on(test::one_box({16, 16, 16}), 0));
  bare.geometry.domain = mesh::domain_of({16, 16, 16});
  bare.levels = {test::one_box({16, 16, 16})};

  const auto names = names_of(analysis->run(self, bare));

  for (const char* name : {"id", "volume", "axis_a", "axis_b", "axis_c", "m200m", "r200m", "inside"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const std::string& name : kinematics) EXPECT_FALSE(names.contains(name)) << name;
  for (const char* name : {"m200c", "r500c", "mvir"}) EXPECT_FALSE(names.contains(name)) << name;
}

TEST(HalosTask, CountsParticlesWithoutVelocities) {
  const comm::Communicator world(MPI_COMM_WORLD);
  Moment moment;
  fill(moment, mesh::split(mesh::domain_of(cells), {1, 1, world.size()}), world, false);
  moment.particles.attributes.clear();

  const auto result = test::analysis_of(task + "kinematics = true")->run(world, moment.snapshot);

  if (world.rank() != 0) return;
  EXPECT_TRUE(names_of(result).contains("particle_mass"));
  EXPECT_FALSE(names_of(result).contains("velocity_x"));
  const auto& counts = test::integers(result, "particles");
  for (std::size_t h = 0; h < counts.size(); ++h)
    EXPECT_NEAR(test::numbers(result, "particle_mass")[h], 5e10 * static_cast<double>(counts[h]), 1.0);
}

TEST(HalosTask, TakesVelocitiesOfParticlesAsTheyAreOrAsMomentaOverTheScaleFactor) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto analysis = test::analysis_of(task + "kinematics = true\nspherical_overdensity = []");
  const auto velocities = [&](const char* name, double factor) {
    Moment moment;
    fill(moment, mesh::split(mesh::domain_of(cells), {1, world.size(), 1}), world, false);
    for (std::size_t a = 0; a < 3; ++a) {
      moment.particles.attributes[a].name = std::string(name) + "xyz"[a];
      for (double& value : moment.particles.attributes[a].values) value *= factor;
    }
    const auto result = analysis->run(world, moment.snapshot);
    return world.rank() == 0 ? test::numbers(result, "velocity_x") : std::vector<double>{};
  };

  EXPECT_EQ(velocities("momentum_", 1.0), velocities("velocity_", 4.0));  // z = 3
}

TEST(HalosTask, FindsSpheresOfTheDensitiesOfTheCosmology) {
  const comm::Communicator self(MPI_COMM_SELF);
  Moment moment;
  fill(moment, test::one_box(cells), self, true);

  const auto result = test::analysis_of(task)->run(self, moment.snapshot);

  const auto attribute = [&](const std::string& name) { return std::get<double>(result.attributes.at(name)); };
  const double mean = attribute("mean_density"), matter = 0.3 * 64 / (0.3 * 64 + 0.7), x = matter - 1;
  const double virial = 18 * std::numbers::pi * std::numbers::pi + 82 * x - 39 * x * x;
  EXPECT_NEAR(attribute("density_200m"), 200 * mean, 1e-9 * mean);
  EXPECT_NEAR(attribute("density_200c"), 200 * mean / matter, 1e-9 * mean);
  EXPECT_NEAR(attribute("density_500c"), 500 * mean / matter, 1e-9 * mean);
  EXPECT_NEAR(attribute("density_vir"), virial * mean / matter, 1e-9 * mean);
  for (const std::string name : {"200m", "200c", "500c", "vir"}) {
    const auto &mass = test::numbers(result, "m" + name), &radius = test::numbers(result, "r" + name);
    for (std::size_t h = 0; h < mass.size(); ++h)
      EXPECT_NEAR(mass[h], 4 * std::numbers::pi / 3 * attribute("density_" + name) * std::pow(radius[h], 3),
                  1e-11 * mass[h]);
  }
  const auto none = names_of(test::analysis_of(task + "spherical_overdensity = []")->run(self, moment.snapshot));
  EXPECT_FALSE(none.contains("m200m") || none.contains("inside"));
}

TEST(HalosTask, OfFlatDomainsHasNoSpheres) {
  const comm::Communicator self(MPI_COMM_SELF);
  const auto layout = test::one_box({12, 12, 1});
  mesh::Snapshot flat = test::snapshot_on(layout, 1.0);
  flat.add({"gas_density", "1"}, test::random_field({12, 12, 1}, 5).on(layout, 0));

  const auto result =
      test::analysis_of("analysis = 'halos'\nt_boundary = '1.5 mean'\nt_halo = '1.8 mean'")->run(self, flat);

  EXPECT_GT(result.dimensions.at("halo"), 0);
  EXPECT_FALSE(names_of(result).contains("m200m"));
}

TEST(HalosTask, OfFieldsWithoutMatterIsEmpty) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of(cells), {world.size(), 1, 1});
  for (const double value : {0.0, 3.0}) {
    mesh::Snapshot snapshot = test::snapshot_on(layout, 10.0);
    snapshot.add({"total_density", "Msun/Mpc^3"}, test::Grid(cells, value).on(layout, world.rank()));

    const auto result = test::analysis_of("analysis = 'halos'\nkinematics = true")->run(world, snapshot);

    if (world.rank() == 0) {
      EXPECT_EQ(result.dimensions.at("halo"), 0);
      EXPECT_EQ(result.summary, value == 0.0 ? "no halos: `total_density` is zero everywhere"
                                             : "no halos: `total_density` reaches 1 times the mean, t_halo is 200 "
                                               "times the mean");
    }
  }
}

TEST(HalosTask, FieldsThatAreNoDensityOfMatterAreSearchedInTheirDeviations) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of(cells), {1, 1, world.size()});
  test::Grid temperature(cells);
  double sum = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < temperature.values.size(); ++i)
    sum += temperature.values[i] = -300.0 + core::normal(7, 0, i) + (i == 99 ? 20.0 : 0.0);
  const double count = static_cast<double>(temperature.values.size()), mean = sum / count;
  for (const double value : temperature.values) squares += (value - mean) * (value - mean);
  const double sigma = std::sqrt(squares / count);
  const auto halos_of = [&](const std::string& keys, const test::Grid& grid, const std::string& unit) {
    mesh::Snapshot snapshot = test::snapshot_on(layout, 10.0);
    snapshot.add({"total_density", unit}, grid.on(layout, world.rank()));
    return test::analysis_of("analysis = 'halos'\n" + keys)->run(world, snapshot);
  };

  const auto found = halos_of("", temperature, "K");
  const auto none = halos_of("t_halo = '50 sigma'", temperature, "K"), flat = halos_of("", test::Grid(cells, 3.0), "");

  if (world.rank() != 0) return;
  EXPECT_NEAR(std::get<double>(found.attributes.at("t_boundary")), mean + 2.0 * sigma, 1e-10);
  EXPECT_NEAR(std::get<double>(found.attributes.at("t_halo")), mean + 3.0 * sigma, 1e-10);
  EXPECT_GE(found.dimensions.at("halo"), 1);
  EXPECT_EQ(none.dimensions.at("halo"), 0);
  EXPECT_THAT(none.summary, HasSubstr("t_halo is "));
  EXPECT_THAT(none.summary, HasSubstr("50 standard deviations above the mean; t_halo = \""));
  EXPECT_THAT(none.summary, HasSubstr(" sigma\" would find some"));
  EXPECT_EQ(flat.dimensions.at("halo"), 0);
  EXPECT_EQ(flat.summary, "no halos: `total_density` is 3 everywhere");
}

TEST(HalosTask, ThresholdsThatWouldFindSomeAreWrittenAsPeopleWriteThem) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of(cells), {1, 1, world.size()});
  const auto summary_of = [&](double highest) {
    test::Grid density(cells, 1.0);
    density.values[99] = highest;
    mesh::Snapshot snapshot = test::snapshot_on(layout, 10.0);
    snapshot.add({"total_density", "Msun/Mpc^3"}, density.on(layout, world.rank()));
    return test::analysis_of("analysis = 'halos'")->run(world, snapshot).summary;
  };

  const std::string high = summary_of(200.0), low = summary_of(2.1);

  if (world.rank() != 0) return;
  EXPECT_THAT(high, HasSubstr("t_halo = \"159 mean\", t_boundary = \"80 mean\" would find some"));
  EXPECT_THAT(low, HasSubstr("t_halo = \"1.9 mean\", t_boundary = \"1 mean\" would find some"));
}

TEST(HalosTask, DensitiesOfMatterAreSearchedInTheirMeans) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of(cells), {1, 1, world.size()});
  const auto boundary_of = [&](const std::string& unit, std::optional<double> scale_factor) {
    mesh::Snapshot snapshot = test::snapshot_on(layout, 10.0);
    snapshot.moment.scale_factor = scale_factor;
    snapshot.add({"total_density", unit}, test::Grid(cells, 2.0).on(layout, world.rank()));
    const auto result = test::analysis_of("analysis = 'halos'")->run(world, snapshot);
    return world.broadcast(world.rank() == 0 ? std::get<double>(result.attributes.at("t_boundary")) : 0.0);
  };

  EXPECT_DOUBLE_EQ(boundary_of("Msun/Mpc^3", std::nullopt), 163.32);
  EXPECT_DOUBLE_EQ(boundary_of("g/cm^3", 0.5), 163.32);
  EXPECT_DOUBLE_EQ(boundary_of("", 0.5), 163.32);
  EXPECT_DOUBLE_EQ(boundary_of("g/cm^3", std::nullopt), 2.0);
}

TEST(HalosTask, SaysWhatIsWrongWithItsThresholdsAndSpheres) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of(cells), {1, 1, world.size()});
  const auto error_of = [&](const std::string& keys, double value) {
    return test::message_of([&] {
      mesh::Snapshot snapshot = test::snapshot_on(layout, 10.0);
      snapshot.add({"total_density", "Msun/Mpc^3"}, test::Grid(cells, value).on(layout, world.rank()));
      test::analysis_of("analysis = 'halos'\n" + keys)->run(world, snapshot);
    });
  };

  EXPECT_THAT(error_of("t_boundary = '300 mean'", 1.0), HasSubstr("below `t_boundary`"));
  EXPECT_THAT(error_of("t_halo = '3'", 1.0), HasSubstr("raise t_halo or lower t_boundary"));
  EXPECT_THAT(error_of("t_boundary = 'inf'", 1.0), HasSubstr("not a finite number"));
  EXPECT_THAT(error_of("t_halo = '1e308 mean'", 1e6), HasSubstr("give a finite density"));
  EXPECT_THAT(error_of("", -1.0), HasSubstr("its multiples are no thresholds"));
  EXPECT_THAT(error_of("spherical_overdensity = ['200m', '200m']", 1.0), HasSubstr("`200m` is named twice"));
  EXPECT_THAT(error_of("spherical_overdensity = ['300m']", 1.0), HasSubstr("300m"));
  EXPECT_THAT(error_of("species = 'stars'", 1.0), HasSubstr("leave the key out"));
  EXPECT_THAT(error_of("species = 'stars'\nlink = true", 1.0), HasSubstr("none of the species `stars`"));
}

}  // namespace
}  // namespace sidestream::analysis
