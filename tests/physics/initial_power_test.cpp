#include <gtest/gtest.h>

#include <cmath>

#include "sidestream/mesh/forest.hpp"
#include "sidestream/solvers/initial_conditions.hpp"
#include "support/cosmologies.hpp"
#include "support/nbody.hpp"
#include "support/power_bins.hpp"

namespace sidestream::solvers {
namespace {

// Wavenumbers in h/Mpc. The power spectrum of particles that start from exact amplitudes, over the one they were made
// from: the lattice of 64^3 particles on a mesh of 128^3 cells carries it to half a per cent up to a quarter of its
// Nyquist wavenumber (1.57).
constexpr double start_k = 0.39, start_tolerance = 0.005, start_k_coarse = 0.78, start_tolerance_coarse = 0.015;
// Net momentum over the sum of moduli: the forces of a pair of particles are opposite to round-off.
constexpr double momentum_tolerance = 1e-12;

class Box {
 public:
  Box(double side_mpc_h, int cells, std::int32_t particles, double sigma8)
      : parameters(universe(sigma8)),
        geometry{mesh::domain_of({cells, cells, cells}), {side_mpc_h / h, side_mpc_h / h, side_mpc_h / h}},
        layout(mesh::Forest({cells, cells, cells}, 32).layout(comm.size())) {
    config.particles = {particles, particles, particles};
  }
  test::NBody started(double a) const {
    const InitialConditions start(comm, layout, geometry, background, power, config);
    return {comm, layout, geometry, background, start.particles(a, background.parameters().matter_density()), a};
  }
  std::vector<test::PowerBin> measure(const test::NBody& run) const {
    const double growth = background.growth(run.scale_factor());
    return test::power_bins(comm, geometry, run.density(), [&](double k) { return growth * growth * power(k); });
  }

  comm::Communicator comm{MPI_COMM_WORLD};
  CosmologyParameters parameters;
  double h = parameters.hubble;
  Background background{parameters};
  LinearPower power = eisenstein_hu(parameters);
  mesh::Geometry geometry;
  mesh::Layout layout;
  InitialConditionsConfig config;

 private:
  static CosmologyParameters universe(double sigma8) {
    CosmologyParameters parameters = test::cosmology_a();
    parameters.sigma8 = sigma8;
    return parameters;
  }
};

TEST(InitialPower, OfTheParticlesIsTheOneTheyAreMadeFrom) {
  Box box(128.0, 128, 64, 0.8);
  box.config.fixed_amplitude = true;

  const auto bins = box.measure(box.started(1.0 / 50.0));

  for (std::size_t n = 1; n < bins.size() && bins[n].k < start_k_coarse * box.h; ++n)
    EXPECT_NEAR(bins[n].power / bins[n].expected, 1.0,
                bins[n].k < start_k * box.h ? start_tolerance : start_tolerance_coarse)
        << "k = " << bins[n].k / box.h << " h/Mpc";
}

void expect_no_net_momentum(const Box& box, const mesh::Particles& particles) {
  for (const auto& name : momentum_names) {
    core::ExactSum net, moduli;
    for (const double w : particles.attribute(name)) {
      net.add(w);
      moduli.add(std::abs(w));
    }
    EXPECT_LT(std::abs(box.comm.sum(net)), momentum_tolerance * box.comm.sum(moduli)) << name;
  }
}

TEST(Momentum, OfParticlesThatPullEachOtherStaysZero) {
  const Box box(256.0, 128, 64, 0.8);
  test::NBody run = box.started(1.0 / 50.0);

  run.run_to(0.1, 10);

  expect_no_net_momentum(box, run.particles());
}

}  // namespace
}  // namespace sidestream::solvers
