#include "sidestream/fft/operators.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "fft/fields.hpp"

namespace sidestream::fft {
namespace {

using Complex = std::complex<double>;
using Triple = std::array<double, 3>;

constexpr Int3 cells{16, 12, 10};
constexpr Triple length{2.0, 3.0, 1.5};
constexpr double round_off = 1e-12;  // of derivatives of waves of order ten

class Operators : public testing::Test {
 protected:
  const comm::Communicator comm{MPI_COMM_WORLD};
  const Layout blocks = scattered_blocks(cells, comm.size());
  const FftPlan<double> scalar{comm, blocks}, vector{comm, blocks, {.components = 3}};
  const WaveGrid grid = wave_grid(scalar, length);

  static Triple place(int k, int j, int i) {
    return {length[0] * i / cells.x, length[1] * j / cells.y, length[2] * k / cells.z};
  }
  template <typename F>
  Field<double> field_of(int components, F value) const {
    Field<double> field(blocks, comm.rank(), components);
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&](int k, int j, int i) {
        for (int c = 0; c < components; ++c) field.view(b)(c, k, j, i) = value(place(k, j, i), c);
      });
    return field;
  }
  Field<Complex> modes_of(const Field<double>& field) const {
    const auto& plan = field.components() == 3 ? vector : scalar;
    Field<Complex> spectrum(plan.spectral(), comm.rank(), field.components());
    plan.forward(field, spectrum);
    return spectrum;
  }
  // The largest difference between the field of a spectrum and `value`.
  template <typename F>
  double error_of(Field<Complex>& spectrum, F value) const {
    const auto& plan = spectrum.components() == 3 ? vector : scalar;
    Field<double> field(blocks, comm.rank(), spectrum.components());
    plan.backward(spectrum, field);
    const Field<double> expected = field_of(spectrum.components(), value);
    double worst = 0.0;
    for (std::size_t i = 0; i < field.all().size(); ++i)
      worst = std::max(worst, std::abs(field.all()[i] / static_cast<double>(cells.product()) - expected.all()[i]));
    return comm.max(worst);
  }
};

constexpr double kx = 2 * std::numbers::pi * 3 / length[0], ky = 2 * std::numbers::pi * -2 / length[1],
                 kz = 2 * std::numbers::pi / length[2];
double phase(const Triple& x) {
  return kx * x[0] + ky * x[1] + kz * x[2];
}
constexpr Triple k{kx, ky, kz};

TEST_F(Operators, GradientOfAWaveIsItsWaveVector) {
  const Field<Complex> modes = modes_of(field_of(1, [](const Triple& x, int) { return std::sin(phase(x)); }));
  Field<Complex> result(vector.spectral(), comm.rank(), 3);

  gradient<double>(grid, modes, result);

  EXPECT_LT(
      error_of(result, [](const Triple& x, int c) { return k[static_cast<std::size_t>(c)] * std::cos(phase(x)); }),
      round_off);
}

TEST_F(Operators, DivergenceOfAGradientIsTheLaplacianAndPoissonUndoesIt) {
  const auto wave = [](const Triple& x, int) { return std::sin(phase(x)); };
  const Field<Complex> modes = modes_of(field_of(1, wave));
  Field<Complex> slopes(vector.spectral(), comm.rank(), 3), result(scalar.spectral(), comm.rank());

  gradient<double>(grid, modes, slopes);
  divergence<double>(grid, slopes, result);
  poisson<double>(grid, result);

  EXPECT_LT(error_of(result, wave), round_off);
}

TEST_F(Operators, CurlOfABeltramiFlowIsTheFlowTimesItsWavenumber) {
  constexpr double q = 2 * std::numbers::pi * 2 / length[2];
  const auto flow = [](const Triple& x, int c) {
    return c == 0 ? std::sin(q * x[2]) : c == 1 ? std::cos(q * x[2]) : 0.0;
  };
  Field<Complex> modes = modes_of(field_of(3, flow));

  curl<double>(grid, modes, modes);

  EXPECT_LT(error_of(modes, [&](const Triple& x, int c) { return q * flow(x, c); }), round_off);
}

TEST_F(Operators, ProjectionLeavesNoDivergenceAndChangesNothingTheSecondTime) {
  Field<Complex> modes = modes_of(field_of(3, [](const Triple& x, int c) {
    return noise(mesh::domain_of(cells), {static_cast<std::int32_t>(std::lround(x[0] / length[0] * cells.x)),
                                          static_cast<std::int32_t>(std::lround(x[1] / length[1] * cells.y)), c});
  }));
  Field<Complex> result(scalar.spectral(), comm.rank());

  project<double>(grid, modes);
  std::vector<Complex> once(modes.all().begin(), modes.all().end());
  divergence<double>(grid, modes, result);
  project<double>(grid, modes);

  for (const Complex& mode : result.all()) EXPECT_LT(std::abs(mode), 1e-10);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_LT(std::abs(modes.all()[i] - once[i]), 1e-11);
}

// Of u = cos(pi i) along an axis: its sine is nowhere to be seen.
TEST_F(Operators, TheShortestWaveHasNoSlope) {
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const auto shortest = [=](const Triple& x, int) {
      return std::cos(std::numbers::pi * std::round(x[a] / length[a] * cells[axis]));
    };
    Field<Complex> result(vector.spectral(), comm.rank(), 3);
    gradient<double>(grid, modes_of(field_of(1, shortest)), result);
    for (const Complex& mode : result.all()) EXPECT_LT(std::abs(mode), 1e-10);

    Field<Complex> potential = modes_of(field_of(1, shortest));
    poisson<double>(grid, potential);
    const double q = std::numbers::pi * cells[axis] / length[a];  // in the Laplacian it counts
    EXPECT_LT(error_of(potential, [&](const Triple& x, int c) { return -shortest(x, c) / (q * q); }), round_off);
  }
}

TEST_F(Operators, PoissonDisregardsTheMean) {
  const auto wave = [](const Triple& x, int) { return std::sin(phase(x)); };
  Field<Complex> modes = modes_of(field_of(1, [&](const Triple& x, int c) { return 5.0 + wave(x, c); }));

  poisson<double>(grid, modes);

  const double square = kx * kx + ky * ky + kz * kz;
  EXPECT_LT(error_of(modes, [&](const Triple& x, int c) { return -wave(x, c) / square; }), round_off);
}

// Indices of a compact spectrum are waves of other signs than those of all modes.
TEST_F(Operators, TakeCompactSpectra) {
  const FftPlan<double> few(comm, blocks, {.kept = Int3{4, 3, 2}}),
      few_vectors(comm, blocks, {.components = 3, .kept = Int3{4, 3, 2}});
  const WaveGrid its_grid = wave_grid(few, length);
  Field<Complex> modes(few.spectral(), comm.rank()), slopes(few.spectral(), comm.rank(), 3);
  Field<double> back(blocks, comm.rank()), slopes_back(blocks, comm.rank(), 3);
  few.forward(field_of(1, [](const Triple& x, int) { return std::sin(phase(x)); }), modes);

  gradient<double>(its_grid, modes, slopes);
  poisson<double>(its_grid, modes);
  few.backward(modes, back);
  few_vectors.backward(slopes, slopes_back);

  const double square = kx * kx + ky * ky + kz * kz, norm = static_cast<double>(cells.product());
  for (int b = 0; b < back.blocks(); ++b)
    core::for_each_cell(back.box(b), [&](int z, int y, int x) {
      const double angle = phase(place(z, y, x));
      EXPECT_NEAR(back.view(b)(z, y, x) / norm, -std::sin(angle) / square, round_off);
      for (int c = 0; c < 3; ++c)
        EXPECT_NEAR(slopes_back.view(b)(c, z, y, x) / norm, k[static_cast<std::size_t>(c)] * std::cos(angle),
                    round_off);
    });
}

TEST_F(Operators, LowPassKeepsTheLongWaves) {
  const double middle = 0.5 * (std::sqrt(kx * kx + ky * ky + kz * kz) + 2 * std::numbers::pi / length[1]);
  const auto slow = [](const Triple& x, int) { return std::cos(2 * std::numbers::pi / length[1] * x[1]); };
  Field<Complex> modes = modes_of(field_of(1, [&](const Triple& x, int c) { return slow(x, c) + std::sin(phase(x)); }));

  low_pass<double>(grid, middle, modes);

  EXPECT_LT(error_of(modes, slow), round_off);
}

}  // namespace
}  // namespace sidestream::fft
