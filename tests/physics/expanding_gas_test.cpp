// Gas in an expanding universe, alone and with its gravity, against exact solutions.
//
// | test                      | against                                       | tolerance |
// |---------------------------|-----------------------------------------------|---------------------------------------------|
// | uniform gas, gamma = 5/3  | T ~ a^-2, U ~ a^-1                            | 1e-10: supercomoving variables are
// exact    | | uniform gas, gamma = 1.4  | e ~ a^-1.2                                    | 1e-3: the source is split
// from the update   | | Jeans waves               | delta ~ x y2(x) (Einstein-de Sitter)          | 1 % at 64 cells a
// wavelength                | | pancake of gas and matter | density and adiabat before the caustic        | 5 % outside
// the 4 central cells             |

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/solvers/background.hpp"
#include "sidestream/solvers/gravity.hpp"
#include "sidestream/solvers/hydro.hpp"
#include "sidestream/solvers/initial_conditions.hpp"
#include "sidestream/solvers/particle_mesh.hpp"

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

/// A thin periodic box along x with gas and, if asked for, particles; steps as the cosmology simulation does.
struct ThinBox {
  static constexpr int cells = 64, width = 4, particles_per_cell = 4;

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
        gravity(world, layout, geometry),
        particle_mesh(world, layout, geometry, cells * width * width * particles_per_cell) {}

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
    particle_mesh.deposit(particles, density);
    for (int b = 0; b < density.blocks(); ++b) {
      const auto total = density.view(b), rho = gas.view(b);
      core::for_each_cell(density.box(b),
                          [=](int k, int j, int i) { total(k, j, i) += rho(solvers::density, k, j, i); });
    }
    gravity.solve(density, acceleration);
  }

  void kick(double factor) {
    solvers::kick(gas, acceleration, factor);
    particle_mesh.kick(acceleration, factor, particles);
  }

  void advance(double a0, double a1) {
    const LeapfrogStep step = leapfrog_step(background, a0, a1);
    kick(step.first_kick);
    ghosts.fill(gas);
    hydro.advance(gas, step.drift);
    drift(step.drift, particles);
    redistribute::migrate(world, layout, geometry, particles);
    solve_gravity();
    kick(step.second_kick);
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
  ParticleMesh particle_mesh;
  mesh::Particles particles = no_particles();

  static mesh::Particles no_particles() {
    mesh::Particles none;
    for (const auto& name : momentum_names) none.attributes.push_back({name, "km/s", {}});
    return none;
  }
};

struct GasState {
  double density, velocity, energy;
};

TEST(ExpandingGas, UniformGasCoolsAdiabaticallyAndSlowsDown) {
  ThinBox box(einstein_de_sitter(1.0), 10.0, {});
  const double a0 = 0.01, energy = 3.0, velocity = 2.0;
  box.set_gas([&](double) { return GasState{1e10, a0 * velocity, a0 * a0 * energy}; });

  box.run(a0, 1.0, 0.02);

  box.for_each_owned([&](int, auto view) {
    const double rho = view(solvers::density);
    EXPECT_NEAR(rho / 1e10, 1.0, 1e-10);
    EXPECT_NEAR(view(internal_energy) / rho / (energy * a0 * a0), 1.0, 1e-10);
    EXPECT_NEAR(view(momentum_x) / rho / (velocity * a0), 1.0, 1e-10);
  });
}

TEST(ExpandingGas, UniformGasOfAnotherGammaCoolsByItsOwnPower) {
  HydroConfig config;
  config.gamma = 1.4;
  ThinBox box(einstein_de_sitter(1.0), 10.0, config);
  double a = 0.1;
  box.set_gas([&](double) { return GasState{1e10, 0.0, a * a}; });

  while (a < 1.0) {
    const double next = std::min(1.0, 1.01 * a), dtau = box.background.drift_integral(a, next),
                 middle = std::sqrt(a * next);
    expansion_source(box.gas, std::exp(middle * middle * box.background.hubble(middle) * (2.0 - 3.0 * 0.4) * dtau));
    a = next;
  }

  // eps = a^2 e with e ~ a^(-3 (gamma - 1)) = a^-1.2.
  box.for_each_owned([&](int, auto view) {
    EXPECT_NEAR(view(internal_energy) / view(solvers::density) / (0.01 * std::pow(10.0, 0.8)), 1.0, 1e-3);
  });
}

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

TEST(ExpandingGas, APancakeOfGasAndMatterFollowsTheExactSolutionBeforeItsCaustic) {
  const double length = 10.0, k = 2.0 * std::numbers::pi / length, a0 = 0.02, a1 = 0.45, caustic = 0.5;
  const CosmologyParameters parameters = einstein_de_sitter(0.16);
  HydroConfig config;
  ThinBox box(parameters, length, config);
  const auto lagrangian = [&](double x, double a) {
    double q = x;
    for (int i = 0; i < 50; ++i)
      q -= (q - a / caustic * std::sin(k * q) / k - x) / (1.0 - a / caustic * std::cos(k * q));
    return q;
  };
  const auto compression = [&](double q, double a) { return 1.0 / (1.0 - a / caustic * std::cos(k * q)); };
  // The particles fall towards x = 0; supercomoving velocities a u with u = -a H (a / a_c) sin(kq) / k.
  const auto velocity = [&](double q, double a) {
    return -a * a * box.background.hubble(a) * a / caustic * std::sin(k * q) / k;
  };
  const double size = box.geometry.cell_size(0);
  const double kelvin = 1.0 / (121.147 * 1.2195 * (config.gamma - 1.0)), energy = 100.0 * kelvin * a0 * a0;
  box.set_gas([&](double x) {
    const double q = lagrangian(x, a0);
    return GasState{parameters.baryon_density() * compression(q, a0), velocity(q, a0), energy};
  });
  // Several particles a cell along x, so that they still sample the mesh where space has grown.
  constexpr int particles = ThinBox::cells * ThinBox::width * ThinBox::width * ThinBox::particles_per_cell;
  box.particles.mass = (parameters.matter_density() - parameters.baryon_density()) * box.geometry.volume() / particles;
  for (int b = 0; b < box.gas.blocks(); ++b)
    core::for_each_cell(box.gas.box(b), [&](int z, int y, int x) {
      for (int part = 0; part < ThinBox::particles_per_cell; ++part) {
        const double q = (x + (part + 0.5) / ThinBox::particles_per_cell) * size;
        const auto cell = mesh::linear_index(box.geometry.domain, {x, y, z});
        box.particles.id.push_back(ThinBox::particles_per_cell * cell + part);
        box.particles.position[0].push_back(q - a0 / caustic * std::sin(k * q) / k);
        box.particles.position[1].push_back((y + 0.5) * size);
        box.particles.position[2].push_back((z + 0.5) * size);
        box.particles.attribute(momentum_names[0]).push_back(velocity(q, a0));
        for (std::size_t axis = 1; axis < 3; ++axis) box.particles.attribute(momentum_names[axis]).push_back(0.0);
      }
    });
  redistribute::migrate(box.world, box.layout, box.geometry, box.particles);

  box.run(a0, a1, 0.01);

  box.for_each_owned([&](int i, auto view) {
    if (i < 3 || i >= ThinBox::cells - 3) return;
    const double low = lagrangian(i * size, a1), high = lagrangian((i + 1) * size, a1), q = 0.5 * (low + high);
    const double rho = view(solvers::density) / parameters.baryon_density(), expected = (high - low) / size;
    EXPECT_NEAR(rho / expected, 1.0, 0.05) << "cell " << i;
    const double adiabat = energy * std::pow(expected / compression(q, a0), 2.0 / 3.0);
    EXPECT_NEAR(view(internal_energy) / view(solvers::density) / adiabat, 1.0, 0.05) << "cell " << i;
  });
}

}  // namespace
}  // namespace sidestream::solvers
