#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sims/problems/gas_problem.hpp"
#include "sims/problems/riemann_solution.hpp"
#include "sims/problems/sedov_solution.hpp"
#include "support/csv.hpp"
#include "support/gas_run.hpp"
#include "support/world.hpp"

namespace sidestream::sims {
namespace {

using mesh::Int3;
using test::world;
using testing::HasSubstr;

const GasProblemEntry& entry(const std::string& name) {
  for (const GasProblemEntry& problem : gas_problems())
    if (problem.name == name) return problem;
  throw std::runtime_error("no problem " + name);
}

GasProblem problem_of(const std::string& name, Int3 cells, const std::string& text = "") {
  core::Node resolved;
  return entry(name).read(core::parse_toml(text, "run.toml"), cells, entry(name).standard, resolved);
}

core::Error error_of(const std::string& name, Int3 cells, const std::string& text = "") {
  try {
    problem_of(name, cells, text);
  } catch (const core::Error& error) {
    return error;
  }
  ADD_FAILURE() << name << " accepted:\n" << text;
  return core::Error("");
}

/// A snapshot with one field, a function of level and cell.
mesh::Snapshot snapshot_of(const mesh::Hierarchy& hierarchy, double time, const std::string& name,
                           const std::function<double(const mesh::Geometry& level, Int3 cell)>& value) {
  mesh::Snapshot snapshot;
  snapshot.moment.time = time;
  snapshot.geometry = hierarchy.geometry(0);
  std::vector<mesh::Field<double>> levels;
  for (int l = 0; l <= hierarchy.finest_level(); ++l) {
    snapshot.levels.push_back(hierarchy.leaf_layout(l));
    auto& field = levels.emplace_back(snapshot.levels.back(), world().rank());
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
        view(k, j, i) = value(hierarchy.geometry(l), {i, j, k});
      });
  }
  snapshot.add({name, "1"}, std::move(levels));
  return snapshot;
}

mesh::Hierarchy uniform(const GasProblem& problem, std::int32_t block) {
  return {mesh::Forest(problem.geometry.domain.extent(), block, problem.geometry.periodic), problem.geometry,
          world().size()};
}
mesh::Hierarchy refined(const GasProblem& problem, std::int32_t block, Int3 position) {
  const std::vector<mesh::BlockKey> keys{{0, position}};
  return {mesh::Forest(problem.geometry.domain.extent(), block, problem.geometry.periodic, keys), problem.geometry,
          world().size()};
}

struct Toro {
  RiemannState left, right;
  double p, u, rho_left, rho_right;
};

TEST(RiemannSolution, HasTheMiddleStatesOfTorosTests) {
  const std::vector<Toro> tests{
      {{1, 0, 1}, {0.125, 0, 0.1}, 0.30313018, 0.92745262, 0.42631943, 0.26557371},
      {{1, -2, 0.4}, {1, 2, 0.4}, 0.00189387, 0.0, 0.02185212, 0.02185212},
      {{1, 0, 1000}, {1, 0, 0.01}, 460.89378749, 19.59745139, 0.57506230, 5.99924070},
      {{1, 0, 0.01}, {1, 0, 100}, 46.09504425, -6.19632825, 5.99241686, 0.57511279},
      {{5.99924, 19.5975, 460.894}, {5.99242, -6.19633, 46.0950}, 1691.6469554, 8.68977441, 14.28234995, 31.04260164}};

  for (const Toro& test : tests) {
    const RiemannSolution solution(test.left, test.right, 1.4);
    EXPECT_NEAR(solution.middle_pressure(), test.p, 1e-5 * test.p);
    EXPECT_NEAR(solution.middle_velocity(), test.u, 1e-5 * std::max(1.0, std::fabs(test.u)));
    const double u = solution.middle_velocity(), step = 1e-9 * std::max(1.0, std::fabs(u));
    EXPECT_NEAR(solution.at(u - step).rho, test.rho_left, 1e-5 * test.rho_left);
    EXPECT_NEAR(solution.at(u + step).rho, test.rho_right, 1e-5 * test.rho_right);
  }
  const RiemannSolution sod(tests[0].left, tests[0].right, 1.4);
  EXPECT_NEAR(sod.middle_pressure(), 0.30313018, 5e-9);
  EXPECT_NEAR(sod.left_front(), -1.183216, 1e-6);
  EXPECT_NEAR(sod.right_front(), 1.752156, 1e-6);
}

TEST(RiemannSolution, IsTheReferenceForSod) {
  const RiemannSolution solution({1.0, 0.0, 1.0}, {0.125, 0.0, 0.1}, 1.4);
  const auto rows = test::read_csv("sod_exact_t0.2.csv");

  ASSERT_EQ(rows.size(), 200u);
  for (const auto& row : rows) {
    const RiemannState gas = solution.at((row[0] - 0.5) / 0.2);
    EXPECT_NEAR(gas.rho, row[1], 1e-9);
    EXPECT_NEAR(gas.u, row[2], 1e-9);
    EXPECT_NEAR(gas.p, row[3], 1e-9);
  }
}

TEST(RiemannSolution, RefusesAVacuum) {
  EXPECT_TRUE(RiemannSolution::forms_vacuum({1, -10, 1}, {1, 10, 1}, 1.4));
  EXPECT_THROW(RiemannSolution({1, -10, 1}, {1, 10, 1}, 1.4), core::Error);
}

TEST(SedovSolution, HasTheKnownRadii) {
  EXPECT_NEAR(SedovSolution(3, 1.4).beta(), 1.03277747, 5e-9);
  EXPECT_NEAR(SedovSolution(3, 5.0 / 3.0).beta(), 1.15166642, 5e-9);
  EXPECT_NEAR(SedovSolution(3, 4.0 / 3.0).beta(), 0.99467431, 5e-9);
  EXPECT_NEAR(SedovSolution(2, 1.4).beta(), 1.00402161, 5e-9);
  EXPECT_NEAR(SedovSolution(2, 5.0 / 3.0).beta(), 1.15378709, 5e-9);
  EXPECT_NEAR(SedovSolution(2, 4.0 / 3.0).beta(), 0.95725064, 5e-9);
  EXPECT_NEAR(SedovSolution(3, 1.4).shock_radius(1.0, 1.0, 0.05), 0.311598068, 2e-9);
  EXPECT_FALSE(SedovSolution::exists(2.0));
  EXPECT_THROW(SedovSolution(3, 2.0), core::Error);
}

TEST(SedovSolution, HasTheProfilesOfTheIntegratedEquations) {
  for (const auto& [dimensions, file] : {std::pair{3, "sedov_gamma1.4.csv"}, {2, "sedov_cyl_gamma1.4.csv"}}) {
    const SedovSolution solution(dimensions, 1.4);
    const auto rows = test::read_csv(file);
    ASSERT_GT(rows.size(), 200u);
    for (const auto& row : rows) {
      const SedovSolution::Profile gas = solution.at(row[0]);
      EXPECT_NEAR(gas.rho, row[1], 1e-5) << file << " " << row[0];
      EXPECT_NEAR(gas.u, row[2], 2e-6) << row[0];
      EXPECT_NEAR(gas.p, row[3], 2e-6) << row[0];
    }
    EXPECT_NEAR(solution.at(1.0).rho, 6.0, 1e-12);
    EXPECT_EQ(solution.at(0.0).rho, 0.0);
    EXPECT_EQ(solution.at(1.001).rho, 1.0);
  }
  EXPECT_NEAR(SedovSolution(3, 1.4).at(0.0).p, 0.304553, 5e-7);
}

TEST(SedovSolution, HoldsTheGasThatItSweptUp) {
  for (const int dimensions : {2, 3})
    for (const double gamma : {1.4, 5.0 / 3.0}) {
      const SedovSolution solution(dimensions, gamma);
      constexpr int intervals = 4000;  // Simpson's rule
      double mass = 0.0;
      for (int n = 1; n <= intervals; ++n) {
        const double xi = static_cast<double>(n) / intervals, weight = n == intervals ? 1.0 : n % 2 == 1 ? 4.0 : 2.0;
        mass += weight / (3.0 * intervals) * solution.at(xi).rho * std::pow(xi, dimensions - 1);
      }
      EXPECT_NEAR(mass * dimensions, 1.0, 1e-9) << dimensions << " " << gamma;
    }
}

TEST(Sedov, ReleasesItsEnergyOnEveryLevelAlike) {
  for (const Int3 cells : {Int3{8, 8, 8}, {8, 8, 1}}) {
    const GasProblem problem = problem_of("sedov", cells);
    const mesh::Geometry finest = problem.geometry.refined(2);
    for (int l = 0; l <= 2; ++l) {
      const mesh::Geometry level = problem.geometry.refined(l);
      core::ExactSum energy;
      core::for_each_cell(level.domain, [&](int k, int j, int i) {
        energy.add(level.cell_volume() * problem.initial(level, {i, j, k}, finest)[solvers::total_energy]);
      });
      EXPECT_NEAR(energy.value(), 1.0 + 1e-5 / 0.4, 1e-14) << l;
    }
  }
}

TEST(Sedov, BeginsWithTheMeansOfChildrenAndMirrorsToTheBit) {
  const GasProblem problem = problem_of("sedov", {16, 16, 1});
  const mesh::Geometry coarse = problem.geometry, fine = coarse.refined(1);
  const auto energy = [&](const mesh::Geometry& level, int j, int i) {
    return problem.initial(level, {i, j, 0}, fine)[solvers::total_energy];
  };
  core::for_each_cell(coarse.domain, [&](int, int j, int i) {
    const double mean = 0.25 * (energy(fine, 2 * j, 2 * i) + energy(fine, 2 * j + 1, 2 * i) +
                                energy(fine, 2 * j, 2 * i + 1) + energy(fine, 2 * j + 1, 2 * i + 1));
    EXPECT_NEAR(energy(coarse, j, i), mean, 1e-14 * mean);
    EXPECT_EQ(energy(coarse, j, i), energy(coarse, 15 - j, i));
    EXPECT_EQ(energy(coarse, j, i), energy(coarse, i, j));
  });
}

TEST(Sedov, FindsTheShockOfTheExactSolutionOnRefinedMeshes) {
  const GasProblem problem = problem_of("sedov", {96, 96, 1});
  const SedovSolution solution(2, 1.4);
  const double radius = solution.shock_radius(1.0, 1.0, 0.05);
  const auto exact = [&](const mesh::Geometry& level, Int3 cell) {
    const double x = (cell.x + 0.5) * level.cell_size(0) - 0.5, y = (cell.y + 0.5) * level.cell_size(1) - 0.5;
    return solution.at(std::hypot(x, y) / radius).rho;
  };

  for (const auto& mesh : {uniform(problem, 32), refined(problem, 32, {1, 1, 0})}) {
    const auto found = problem.measure(world(), snapshot_of(mesh, 0.05, "gas_density", exact));

    EXPECT_LT(std::fabs(found.at("shock_radius_error").get<double>()), 1.0);
    EXPECT_NEAR(found.at("shock_radius").get<double>(), radius, 1.0 / 96);
    EXPECT_LT(found.at("density_l1_error").get<double>(), 1e-10);
  }
}

TEST(Sedov, SaysWhereThereIsNoShock) {
  const GasProblem problem = problem_of("sedov", {32, 32, 1});
  const auto snapshot =
      snapshot_of(uniform(problem, 32), 0.05, "gas_density", [](const mesh::Geometry&, Int3) { return 1.0; });

  const auto found = problem.measure(world(), snapshot);

  EXPECT_TRUE(found.at("shock_radius").is_null());
  EXPECT_THAT(found.at("shock_radius_missing").get<std::string>(), HasSubstr("there is no shock"));
}

TEST(Sedov, KnowsWhetherTheShockReachesTheSides) {
  EXPECT_TRUE(problem_of("sedov", {8, 8, 8}).is_closed);
  EXPECT_FALSE(problem_of("sedov", {8, 8, 8}, "[sedov]\nend = 0.2\n").is_closed);
  EXPECT_FALSE(problem_of("sedov", {8, 8, 8}, "[sedov]\nenergy = 10\n").is_closed);
}

/// Runs a problem on a uniform mesh and measures it.
nlohmann::json measured_run(const std::string& name, Int3 cells, std::int32_t block) {
  const GasProblem problem = problem_of(name, cells);
  const mesh::Hierarchy mesh = uniform(problem, block);
  test::GasRun run(world(), problem.geometry, mesh.layout(0), entry(name).standard);
  for (int b = 0; b < run.state().blocks(); ++b)
    core::for_each_cell(run.state().box(b), [&, view = run.state().view(b)](int k, int j, int i) {
      const GasCell cell = problem.initial(problem.geometry, {i, j, k}, problem.geometry);
      for (int c = 0; c < solvers::gas_components; ++c) view(c, k, j, i) = cell[static_cast<std::size_t>(c)];
    });
  run.run(problem.end);
  mesh::Snapshot snapshot;
  snapshot.moment.time = problem.end;
  snapshot.geometry = problem.geometry;
  snapshot.levels = {mesh.layout(0)};
  const auto add = [&](const std::string& field, auto value) {
    mesh::Field<double> out(mesh.layout(0), world().rank());
    for (int b = 0; b < out.blocks(); ++b)
      core::for_each_cell(out.box(b), [&, to = out.view(b)](int k, int j, int i) {
        to(k, j, i) = value(run.gas_at(run.state().view(b), k, j, i));
      });
    snapshot.add({field, "1"}, std::move(out));
  };
  add("gas_density", [](const test::Gas& gas) { return gas.rho; });
  add("velocity_y", [](const test::Gas& gas) { return gas.v; });
  return problem.measure(world(), snapshot);
}

TEST(Problems, RunOnAUniformMeshAsTheReferenceSays) {
  const auto sod = measured_run("sod", {100, 1, 1}, 25);
  EXPECT_LT(sod.at("density_l1_error").get<double>(), 3.5e-3);

  const auto vortex = measured_run("vortex", {32, 32, 1}, 16);
  EXPECT_LT(vortex.at("density_l1_error").get<double>(), 2.7e-3);

  const auto sedov = measured_run("sedov", {64, 64, 1}, 16);
  EXPECT_LT(std::fabs(sedov.at("shock_radius_error").get<double>()), 1.5);
  EXPECT_LT(sedov.at("density_l1_error").get<double>(), 0.25);

  const auto layers = measured_run("kelvin_helmholtz", {64, 64, 1}, 16);
  EXPECT_NEAR(layers.at("mode_amplitude").get<double>(), 0.118, 0.03);
}

TEST(Sod, BeginsWithTwoGasesAndMeasuresNoErrorOfTheExactSolution) {
  const GasProblem problem = problem_of("sod", {4, 32, 1}, "[sod]\naxis = \"y\"\nvelocity_left = 0.5\n");
  EXPECT_FALSE(problem.geometry.periodic[1]);
  EXPECT_TRUE(problem.geometry.periodic[0]);
  EXPECT_EQ(problem.geometry.length[0], 0.125);
  const GasCell left = problem.initial(problem.geometry, {0, 15, 0}, problem.geometry);
  const GasCell right = problem.initial(problem.geometry, {0, 16, 0}, problem.geometry);
  const double internal = 1.0 / (entry("sod").standard.gamma - 1.0);
  EXPECT_EQ(left, (GasCell{1.0, 0.0, 0.5, 0.0, internal + 0.125, internal}));
  EXPECT_EQ(right[solvers::density], 0.125);

  const RiemannSolution solution({1.0, 0.5, 1.0}, {0.125, 0.0, 0.1}, entry("sod").standard.gamma);
  const auto exact = [&](const mesh::Geometry& level, Int3 cell) {
    const double size = level.cell_size(1);
    return solution.mean_density(cell.y * size - 0.5, (cell.y + 1) * size - 0.5, 0.1);
  };
  const auto found = problem.measure(world(), snapshot_of(uniform(problem, 4), 0.1, "gas_density", exact));
  EXPECT_EQ(found.at("density_l1_error").get<double>(), 0.0);
  EXPECT_FALSE(problem.is_closed);
  EXPECT_TRUE(problem_of("sod", {32, 1, 1}).is_closed);
  EXPECT_FALSE(problem_of("sod", {32, 1, 1}, "[sod]\nend = 0.3\n").is_closed);
}

TEST(Vortex, ReturnsAfterOnceRoundOnRefinedMeshes) {
  const GasProblem problem = problem_of("vortex", {32, 32, 1});
  const auto start = [&](const mesh::Geometry& level, Int3 cell) {
    return problem.initial(level, cell, level)[solvers::density];
  };
  const auto error_at = [&](const mesh::Hierarchy& mesh, double time) {
    return problem.measure(world(), snapshot_of(mesh, time, "gas_density", start)).at("density_l1_error").get<double>();
  };
  const mesh::Hierarchy mesh = refined(problem, 16, {0, 0, 0});

  EXPECT_EQ(error_at(mesh, 0.0), 0.0);
  EXPECT_LT(error_at(mesh, 10.0), 1e-14);
  EXPECT_GT(error_at(mesh, 5.0), 1e-2);
}

TEST(KelvinHelmholtz, BeginsWithItsAmplitude) {
  const GasProblem problem = problem_of("kelvin_helmholtz", {64, 64, 1});
  const auto velocity = [&](const mesh::Geometry& level, Int3 cell) {
    const GasCell gas = problem.initial(level, cell, level);
    return gas[solvers::momentum_y] / gas[solvers::density];
  };
  const auto found =
      problem.measure(world(), snapshot_of(refined(problem, 16, {1, 1, 0}), 0.0, "velocity_y", velocity));

  EXPECT_NEAR(found.at("mode_amplitude").get<double>(), 0.01, 1e-4);
  const auto density = [&](int j) {
    return problem.initial(problem.geometry, {3, j, 0}, problem.geometry)[solvers::density];
  };
  EXPECT_NEAR(density(0), 1.0, 1e-3);
  EXPECT_NEAR(density(32), 2.0, 1e-3);
  EXPECT_NEAR(density(15) + density(16), 3.0, 1e-12);  // the edge is at 0.25
  EXPECT_NEAR(density(15), density(48), 1e-12);
}

TEST(DoubleMach, MovesTheShockAlongTheUpperBoundary) {
  const GasProblem problem = problem_of("double_mach", {64, 16, 1});
  const auto& level = problem.geometry;
  const GasCell behind = problem.initial(level, {0, 8, 0}, level), ahead = problem.initial(level, {60, 8, 0}, level);
  EXPECT_NEAR(behind[solvers::density], 8.0, 1e-12);
  EXPECT_NEAR(behind[solvers::momentum_x] / 8.0, 8.25 * std::sqrt(0.75), 1e-12);
  EXPECT_NEAR(behind[solvers::momentum_y] / 8.0, -8.25 * 0.5, 1e-12);
  EXPECT_NEAR(behind[solvers::internal_energy] * 0.4, 116.5, 1e-10);
  EXPECT_NEAR(ahead[solvers::density], 1.4, 1e-15);
  EXPECT_NEAR(ahead[solvers::internal_energy] * 0.4, 1.0, 1e-14);

  const mesh::Layout layout = mesh::Forest({64, 16, 1}, 16, level.periodic).layout(1);
  mesh::Field<double> gas(layout, 0, solvers::gas_components, solvers::hydro_ghost);
  for (double& value : gas.all()) value = 3.0;
  problem.boundary(gas, level, 0.1);

  const auto at = [&](int c, int j, int i) { return gas.view(layout.find({i, 0, 0}))(c, 0, j, i); };
  const int shock = static_cast<int>((1.0 / 6.0 + (1.0 + 2.0) / std::sqrt(3.0)) / level.cell_size(0));  // at the top
  EXPECT_NEAR(at(solvers::density, 17, shock - 2), 8.0, 1e-12);
  EXPECT_NEAR(at(solvers::density, 17, shock + 3), 1.4, 1e-12);
  EXPECT_NEAR(at(solvers::density, -1, 1), 8.0, 1e-12);  // before the wall
  EXPECT_EQ(at(solvers::density, -1, 10), 3.0);          // the wall
  EXPECT_EQ(at(solvers::momentum_y, -1, 10), -3.0);
  EXPECT_NEAR(gas.view(0)(solvers::density, 0, 4, -2), 8.0, 1e-12);               // inflow
  EXPECT_EQ(gas.view(layout.find({63, 0, 0}))(solvers::density, 0, 4, 65), 3.0);  // outflow
  EXPECT_FALSE(problem.is_closed);
}

TEST(Problems, SayWhatIsWrongWithTheirTables) {
  EXPECT_THAT(error_of("sedov", {8, 16, 8}).message(), HasSubstr("a cube or a square"));
  EXPECT_THAT(error_of("vortex", {8, 8, 8}).message(), HasSubstr("two dimensions"));
  EXPECT_THAT(error_of("vortex", {8, 8, 8}, "[mesh]\ncells = [8, 8, 8]\n").where(), HasSubstr("run.toml:2"));
  EXPECT_THAT(error_of("vortex", {8, 8, 1}, "[vortex]\nstrength = 11\n").message(), HasSubstr("vacuum"));
  EXPECT_THAT(error_of("sedov", {8, 8, 8}, "[sedov]\nenergie = 2\n").hint(), HasSubstr("`energy`"));
  EXPECT_THAT(error_of("vortex", {8, 8, 1}, "[vortex]\nstrength = 1e300\n").message(), HasSubstr("vacuum"));
  for (const std::string key : {"density_left", "pressure_left", "velocity_left"})
    EXPECT_THAT(error_of("sod", {8, 1, 1}, "[sod]\n" + key + " = 1e300\n").message(), HasSubstr("between"));
  EXPECT_THAT(error_of("sedov", {8, 8, 8}, "[sedov]\nenergy = 1e300\n").message(), HasSubstr("between"));
  EXPECT_THAT(error_of("sedov", {8, 8, 8}, "[sedov]\nradius = 1e300\n").message(), HasSubstr("between"));
  EXPECT_THAT(error_of("cold_clump", {8, 8, 8}, "[cold_clump]\ncontrast = 1e300\n").message(), HasSubstr("between"));
  EXPECT_THAT(error_of("sod", {8, 1, 1}, "[sod]\naxis = \"w\"\n").message(), HasSubstr("axis"));
}

TEST(Vortex, OfLessThanNothingInItsMiddleIsRefused) {
  solvers::HydroConfig hydro = entry("vortex").standard;
  core::Node resolved;
  for (const double gamma : {1.5, 4.0 / 3.0, 2.0}) {  // of which a power is above zero
    hydro.gamma = gamma;
    EXPECT_THROW(
        entry("vortex").read(core::parse_toml("[vortex]\nstrength = 20\n", "run.toml"), {8, 8, 1}, hydro, resolved),
        core::Error);
  }
}

TEST(HydrostaticSphere, HasTheDensityOfTheIsothermalSphere) {
  const GasProblem problem = problem_of("hydrostatic_sphere", {64, 64, 64});
  const mesh::Geometry fine = problem.geometry.refined(3);

  // exp(-psi) of Emden's equation by SciPy.
  const auto density_at = [&](double r) {
    const auto cell = static_cast<std::int32_t>((6.0 + r) / fine.cell_size(0));
    return problem.initial(fine, {cell, 256, 256}, fine)[solvers::density];
  };

  EXPECT_NEAR(density_at(1.0), 0.85314, 0.01);
  EXPECT_NEAR(density_at(3.0), 0.34530, 0.01);
}

TEST(HydrostaticSphere, ThatDoesNotFitIsNamed) {
  const core::Error error = error_of("hydrostatic_sphere", {32, 32, 32}, "[hydrostatic_sphere]\nradius = 5.0\n");

  EXPECT_THAT(error.message(), HasSubstr("do not fit"));
  EXPECT_THAT(error.hint(), HasSubstr("13"));
  EXPECT_THAT(error_of("hydrostatic_sphere", {32, 32, 16}).message(), HasSubstr("cube"));
}

}  // namespace
}  // namespace sidestream::sims
