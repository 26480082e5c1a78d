// Waves of gas in their own gravity in an expanding universe, delta ~ x y2(x) (Einstein-de Sitter): 1 % at 64 cells a
// wavelength.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/solvers/background.hpp"
#include "sidestream/solvers/cosmology_parameters.hpp"
#include "sidestream/solvers/gravity.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace sidestream::solvers {
namespace {

using mesh::Field;

CosmologyParameters einstein_de_sitter(double omega_b) {
  CosmologyParameters parameters;
  parameters.omega_m = 1.0;
  parameters.omega_b = omega_b;
  parameters.hubble = 0.7;
  return parameters;
}

/// A thin periodic box along x with gas; steps as the cosmology simulation does.
struct ThinBox {
  static constexpr int cells = 64, width = 4;

  ThinBox(const CosmologyParameters& parameters, double length, const HydroConfig& hydro_config)
      : background(parameters),
        geometry{mesh::domain_of({cells, width, width}),
                 {length, length * width / cells, length * width / cells},
                 {true, true, true}},
        layout(mesh::Forest({cells, width, width}, width).layout(world.size())),
        hydro(hydro_config, geometry),
        gas(layout, world.rank(), gas_components, hydro_ghost),
        density(layout, world.rank()),
        acceleration(layout, world.rank(), 3, 1),
        ghosts(world, layout, hydro_ghost),
        gravity(world, layout, geometry) {}

  template <typename F>
  void set_gas(F state_at) {
    for_each_owned([&](int i, auto view) {
      const auto [rho, velocity, energy] = state_at((i + 0.5) * geometry.cell_size(0));
      view(solvers::density) = rho;
      view(momentum_x) = rho * velocity;
      view(internal_energy) = rho * energy;
    });
    set_total_energy(gas);
  }

  template <typename F>
  void for_each_owned(F f) {
    for (int b = 0; b < gas.blocks(); ++b) {
      const auto view = gas.view(b);
      core::for_each_cell(gas.box(b), [&](int k, int j, int i) {
        f(i, [=](int component) -> double& { return view(component, k, j, i); });
      });
    }
  }

  void solve_gravity() {
    for (int b = 0; b < density.blocks(); ++b) {
      const auto total = density.view(b), rho = gas.view(b);
      core::for_each_cell(density.box(b),
                          [=](int k, int j, int i) { total(k, j, i) = rho(solvers::density, k, j, i); });
    }
    gravity.solve(density, acceleration);
  }

  void advance(double a0, double a1) {
    const LeapfrogStep step = leapfrog_step(background, a0, a1);
    solvers::kick(gas, acceleration, step.first_kick);
    ghosts.fill(gas);
    hydro.advance(gas, step.drift);
    solve_gravity();
    solvers::kick(gas, acceleration, step.second_kick);
  }

  void run(double a0, double a1, double largest_expansion) {
    solve_gravity();
    while (a0 < a1) {
      const double dtau = world.min(hydro.largest_step(gas));
      double next = std::min(a1, a0 * (1.0 + largest_expansion));
      if (dtau < background.drift_integral(a0, next)) next = background.scale_factor_after(a0, dtau);
      advance(a0, next);
      a0 = next;
    }
  }

  comm::Communicator world{MPI_COMM_WORLD};
  Background background;
  mesh::Geometry geometry;
  mesh::Layout layout;
  Hydro hydro;
  Field<double> gas, density, acceleration;
  redistribute::GhostFill ghosts;
  Gravity gravity;
};

struct GasState {
  double density, velocity, energy;
};

double jeans_mode(double x) {
  return x * ((1.0 / x - 3.0 / (x * x * x)) * std::cos(x) - 3.0 * std::sin(x) / (x * x));
}

class JeansWave : public testing::TestWithParam<std::pair<double, double>> {};

TEST_P(JeansWave, GrowsAsTheExactSolution) {
  const auto [sound_over_hubble, expected] = GetParam();
  const double length = 10.0, k = 2.0 * std::numbers::pi / length, a0 = 0.02;
  const CosmologyParameters parameters = einstein_de_sitter(1.0);
  const double hubble = parameters.hubble_constant(), sound = sound_over_hubble * hubble / k,
               mean = parameters.matter_density();
  const auto mode = [&](double a) { return jeans_mode(2.0 * sound * k / (hubble * std::sqrt(a))); };
  // Continuity: v = -(d delta / d tau) sin(kx) / k, where da/dtau = a^3 H = a^(3/2) H0.
  const double amplitude = 1e-5, slope = (mode(1.0001 * a0) - mode(0.9999 * a0)) / (0.0002 * a0) / mode(a0);
  const double rate = slope * std::pow(a0, 1.5) * hubble;
  HydroConfig config;
  config.dual_energy_eta = 0.0;
  ThinBox box(parameters, length, config);
  const double energy = sound * sound / (config.gamma * (config.gamma - 1.0));
  box.set_gas([&](double x) {
    const double delta = amplitude * std::cos(k * x);
    return GasState{mean * (1.0 + delta), -amplitude * rate / k * std::sin(k * x),
                    energy * (1.0 + (config.gamma - 1.0) * delta)};
  });

  box.run(a0, 1.0, 0.01);

  core::ExactSum projection;
  box.for_each_owned([&](int i, auto view) {
    const double x = (i + 0.5) * box.geometry.cell_size(0);
    projection.add((view(solvers::density) / mean - 1.0) * std::cos(k * x) * 2.0 /
                   (ThinBox::cells * ThinBox::width * ThinBox::width));
  });
  EXPECT_NEAR(box.world.sum(projection) / amplitude / 50.0 / expected, 1.0, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Sounds, JeansWave,
                         testing::Values(std::pair(0.05, 0.916526), std::pair(0.2, 0.418283),
                                         std::pair(1.0, 0.135283)));

}  // namespace
}  // namespace sidestream::solvers
