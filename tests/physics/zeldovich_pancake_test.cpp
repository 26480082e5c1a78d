#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/solvers/initial_conditions.hpp"
#include "support/cosmologies.hpp"
#include "support/nbody.hpp"

namespace sidestream::solvers {
namespace {

// A plane wave of dark matter collapses along x (Zel'dovich 1970). Until particles cross, at a = 0.5, its exact
// solution is x = q - D(a)/D(0.5) sin(kq)/k in any universe. Errors are root mean squares over the amplitude of
// position and momentum. A particle mesh of the same scheme, written independently, has the errors given here; the
// tolerance is 1.5 times these. (test_pancake.py has the same wave in the program, with its energy.)
constexpr double position_of_128 = 3.7e-3, momentum_of_128 = 4.7e-3;
constexpr double margin = 1.5;
// The same with 1024 cells, where the steps in time make the error: 10, 20 and 40 of them; second order.
constexpr double of_10_steps = 1.8e-2, of_20_steps = 4.7e-3, of_40_steps = 1.2e-3;
constexpr double a_start = 0.02, a_end = 0.45, a_crossing = 0.5;

class Pancake {
 public:
  Pancake(const CosmologyParameters& parameters, int cells_along, double amplitude_at_crossing = 1.0)
      : background(parameters),
        cells{cells_along, 4, 4},
        geometry{mesh::domain_of(cells), {64.0, 64.0 * 4 / cells_along, 64.0 * 4 / cells_along}},
        layout(mesh::Forest(cells, 4).layout(comm.size())),
        growth_at_crossing(background.growth(a_crossing) / amplitude_at_crossing),
        run(comm, layout, geometry, background, start(), a_start) {}

  struct Errors {
    double position, momentum;
  };
  Errors errors() const {
    const mesh::Particles& particles = run.particles();
    const double a = run.scale_factor(), amplitude = background.growth(a) / growth_at_crossing / k;
    const double speed = a * a * background.hubble(a) * background.growth_rate(a) * amplitude;
    core::ExactSum position, momentum;
    for (std::size_t n = 0; n < particles.size(); ++n) {
      const double q = (static_cast<double>(particles.id[n] % cells.x) + 0.5) * geometry.cell_size(0);
      double dx = particles.position[0][n] - (q - amplitude * std::sin(k * q));
      dx -= geometry.length[0] * std::round(dx / geometry.length[0]);
      const double dw = particles.attribute("momentum_x")[n] + speed * std::sin(k * q);
      position.add(dx * dx);
      momentum.add(dw * dw);
    }
    const auto count = static_cast<double>(geometry.domain.volume());
    return {std::sqrt(comm.sum(position) / count) / amplitude, std::sqrt(comm.sum(momentum) / count) / speed};
  }

  comm::Communicator comm{MPI_COMM_WORLD};
  Background background;
  mesh::Int3 cells;
  mesh::Geometry geometry;
  mesh::Layout layout;
  double k = 2.0 * std::numbers::pi / 64.0, growth_at_crossing;
  test::NBody run;

 private:
  mesh::Particles start() const {
    mesh::Field<double> contrast(layout, comm.rank());
    for (int b = 0; b < contrast.blocks(); ++b) {
      const auto view = contrast.view(b);
      core::for_each_cell(contrast.box(b), [&](int z, int y, int x) {
        view(z, y, x) = std::cos(k * (x + 0.5) * geometry.cell_size(0)) / growth_at_crossing;
      });
    }
    const double mean = background.parameters().matter_density();
    return InitialConditions(comm, contrast, geometry, background, "zeldovich").particles(a_start, mean);
  }
};

TEST(Pancake, FollowsTheExactSolutionInAUniverseWithACosmologicalConstant) {
  // About half as high, so that it never crosses; with twice the cells it starts as many cells high as the one of 128
  // cells above.
  Pancake pancake(test::cosmology_a(), 256, 0.55);

  pancake.run.run_to(0.75, 200);

  EXPECT_LT(pancake.errors().position, margin * position_of_128);
  EXPECT_LT(pancake.errors().momentum, margin * momentum_of_128);
}

TEST(Pancake, ErrorOfTheStepsIsOfSecondOrder) {
  const auto error_of = [](int steps) {
    Pancake pancake(test::einstein_de_sitter(), 1024);
    pancake.run.run_to(a_end, steps);
    return pancake.errors().position;
  };

  const double of_10 = error_of(10), of_20 = error_of(20), of_40 = error_of(40);

  EXPECT_LT(of_10, margin * of_10_steps);
  EXPECT_LT(of_20, margin * of_20_steps);
  EXPECT_LT(of_40, margin * of_40_steps);
  EXPECT_GT(std::log2(of_10 / of_20), 1.8);
  EXPECT_GT(std::log2(of_20 / of_40), 1.8);
}

}  // namespace
}  // namespace sidestream::solvers
