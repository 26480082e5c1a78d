#include "fft/fields.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/fft/modes.hpp"

namespace sidestream::fft {
namespace {

using Complex = std::complex<double>;
using Spectrum = Field<Complex>;

constexpr double round_off =
    2e-14;  // of a transform of numbers of order one, relative to the root mean square of the result

// Direct sums along one axis of an array of `extent`, the x axis fastest.
void sum_along(int axis, Int3 extent, std::vector<Complex>& numbers) {
  const int n = extent[axis];
  const std::ptrdiff_t stride = axis == 0 ? 1 : axis == 1 ? extent.x : std::ptrdiff_t{extent.x} * extent.y;
  std::vector<Complex> roots, line(static_cast<std::size_t>(n));
  for (int k = 0; k < n; ++k) roots.push_back(std::polar(1.0, -2 * std::numbers::pi * k / n));
  for (std::ptrdiff_t first = 0; first < std::ssize(numbers); ++first) {
    if (first / stride % n != 0) continue;
    for (int i = 0; i < n; ++i)
      line[static_cast<std::size_t>(i)] = numbers[static_cast<std::size_t>(first + i * stride)];
    for (int k = 0; k < n; ++k) {
      Complex sum = 0.0;
      for (int i = 0; i < n; ++i) sum += line[static_cast<std::size_t>(i)] * roots[static_cast<std::size_t>(i * k % n)];
      numbers[static_cast<std::size_t>(first + k * stride)] = sum;
    }
  }
}

std::vector<Complex> direct_transform(Int3 cells) {
  const Box domain = mesh::domain_of(cells);
  std::vector<Complex> all(static_cast<std::size_t>(domain.volume())), half;
  core::for_each_cell(domain, [&](int k, int j, int i) {
    all[static_cast<std::size_t>(linear_index(domain, {i, j, k}))] = noise(domain, {i, j, k});
  });
  for (int axis = 0; axis < 3; ++axis) sum_along(axis, cells, all);
  core::for_each_cell(spectral_domain(cells), [&](int k, int j, int i) {
    half.push_back(all[static_cast<std::size_t>(linear_index(domain, {i, j, k}))]);
  });
  return half;
}

struct Case {
  Int3 cells;
  Decomposition decomposition;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const Int3 n = info.param.cells;
  constexpr const char* names[] = {"automatic", "slabs", "pencils"};
  return names[static_cast<int>(info.param.decomposition)] + std::string("_") + std::to_string(n.x) + "_" +
         std::to_string(n.y) + "_" + std::to_string(n.z);
}

class Transform : public testing::TestWithParam<Case> {
 protected:
  const comm::Communicator comm{MPI_COMM_WORLD};
  const Int3 cells = GetParam().cells;
  const Layout blocks = scattered_blocks(cells, comm.size());
  const FftPlan<double> plan{comm, blocks, {.decomposition = GetParam().decomposition}};
};

TEST_P(Transform, ForwardIsTheDirectTransform) {
  Spectrum spectrum(plan.spectral(), comm.rank());

  plan.forward(noise_on(blocks, comm.rank()), spectrum);

  const std::vector<Complex> actual = gathered(comm, spectrum), expected = direct_transform(cells);
  double worst = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::abs(actual[i] - expected[i]));
  EXPECT_LT(worst, round_off * std::sqrt(static_cast<double>(cells.product())));
}

TEST_P(Transform, RoundTripGivesTheFieldBack) {
  Field<double> field = noise_on(blocks, comm.rank(), 1);
  Spectrum spectrum(plan.spectral(), comm.rank());

  plan.forward(field, spectrum);
  fill(field, [](Int3) { return 0.0; });
  plan.backward(spectrum, field);

  double worst = 0.0;
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      const double back = field.view(b)(k, j, i) / static_cast<double>(cells.product());
      worst = std::max(worst, std::abs(back - noise(blocks.domain(), {i, j, k})));
    });
  EXPECT_LT(worst, 1e-14);
}

TEST_P(Transform, BitsAreThoseOfOneRankWithOneBlock) {
  const comm::Communicator self(MPI_COMM_SELF);
  const FftPlan<double> serial(self, one_block(cells));
  Field<double> field = noise_on(blocks, comm.rank()), serial_field = noise_on(one_block(cells), 0);
  Spectrum spectrum(plan.spectral(), comm.rank()), serial_spectrum(serial.spectral(), 0);

  plan.forward(field, spectrum);
  serial.forward(serial_field, serial_spectrum);
  const bool spectra_agree = have_equal_bits(gathered(comm, spectrum), gathered(self, serial_spectrum));
  plan.backward(spectrum, field);
  serial.backward(serial_spectrum, serial_field);

  EXPECT_TRUE(spectra_agree);
  EXPECT_TRUE(have_equal_bits(gathered(comm, field), gathered(self, serial_field)));
}

TEST_P(Transform, ParsevalHolds) {
  Field<double> field = noise_on(blocks, comm.rank());
  Spectrum spectrum(plan.spectral(), comm.rank());
  core::ExactSum in_cells, in_modes;
  for (const double value : field.all()) in_cells.add(value * value);

  plan.forward(field, spectrum);

  for_each_mode(spectrum, cells,
                [&](const Mode& mode, const Complex& amplitude) { in_modes.add(mode.weight * std::norm(amplitude)); });
  const double expected = comm.sum(in_cells);
  EXPECT_NEAR(comm.sum(in_modes) / static_cast<double>(cells.product()), expected, round_off * expected);
}

TEST_P(Transform, PlaneWaveLandsOnItsMode) {
  const Int3 wave{cells.x / 3, -((cells.y - 1) / 2), (cells.z - 1) / 3};
  const auto phase = [&](Int3 cell) {
    const double turns =
        1.0 * wave.x * cell.x / cells.x + 1.0 * wave.y * cell.y / cells.y + 1.0 * wave.z * cell.z / cells.z;
    return 2 * std::numbers::pi * turns;
  };
  Field<double> field(blocks, comm.rank());
  fill(field, [&](Int3 cell) { return std::cos(phase(cell) + 0.5); });
  Spectrum spectrum(plan.spectral(), comm.rank());

  plan.forward(field, spectrum);

  // cos(a) = (exp(ia) + exp(-ia)) / 2: half of the amplitude on the wave, half on its conjugate; both when they are
  // one.
  const auto cell_count = static_cast<double>(cells.product());
  double worst = 0.0;
  for_each_mode(spectrum, cells, [&](const Mode& mode, const Complex& amplitude) {
    const Int3 k = mode.wavenumber;
    Complex expected = 0.0;
    if (k == wave) expected += std::polar(cell_count / 2, 0.5);
    if (Int3{} - k == wave) expected += std::polar(cell_count / 2, -0.5);
    worst = std::max(worst, std::abs(amplitude - expected));
  });
  EXPECT_LT(worst, 1e-13 * cell_count);
}

constexpr Case cases[] = {
    {{8, 8, 8}, Decomposition::automatic},   {{8, 8, 8}, Decomposition::slabs},
    {{8, 8, 8}, Decomposition::pencils},     {{16, 12, 10}, Decomposition::slabs},
    {{16, 12, 10}, Decomposition::pencils},  {{7, 9, 5}, Decomposition::slabs},
    {{7, 9, 5}, Decomposition::pencils},     {{13, 1, 1}, Decomposition::automatic},
    {{1, 13, 1}, Decomposition::pencils},    {{1, 1, 13}, Decomposition::automatic},
    {{32, 32, 1}, Decomposition::automatic}, {{32, 32, 1}, Decomposition::slabs},
    {{2, 2, 2}, Decomposition::automatic},   {{2, 2, 2}, Decomposition::slabs},
    {{3, 3, 3}, Decomposition::automatic},   {{3, 3, 3}, Decomposition::slabs},
    {{1, 1, 1}, Decomposition::automatic},   {{6, 37, 22}, Decomposition::pencils},
    {{64, 64, 64}, Decomposition::slabs},    {{48, 32, 40}, Decomposition::pencils},
};
INSTANTIATE_TEST_SUITE_P(Cases, Transform, testing::ValuesIn(cases), name_of);

TEST(FftPlan, BackwardFillsTheGhostCellsItWasMadeFor) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const Int3 cells{12, 8, 10};
  for (const Layout& layout :
       {scattered_blocks(cells, comm.size()), split(mesh::domain_of(cells), {1, 1, comm.size()})}) {
    const FftPlan<double> plan(comm, layout, {.decomposition = Decomposition::slabs, .ghost = 2});
    Field<double> field = noise_on(layout, comm.rank(), 2);
    Spectrum spectrum(plan.spectral(), comm.rank());

    plan.forward(field, spectrum);
    plan.backward(spectrum, field);

    double worst = 0.0;
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b).grown(2), [&](int k, int j, int i) {
        const Int3 image{mesh::wrapped(i, cells.x), mesh::wrapped(j, cells.y), mesh::wrapped(k, cells.z)};
        const double expected = noise(layout.domain(), image) * static_cast<double>(cells.product());
        worst = std::max(worst, std::abs(field.view(b)(k, j, i) - expected));
      });
    EXPECT_LT(worst, 1e-10);
  }
}

// The check of Yeung and Pekurovsky (2013): a product of three sines has four modes in the half that is stored.
TEST(FftPlan, ProductOfThreeSinesHasFourModes) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  constexpr Int3 cells{24, 20, 18};
  const Layout blocks = scattered_blocks(cells, comm.size());
  const FftPlan<double> plan(comm, blocks, {.decomposition = Decomposition::pencils});
  Field<double> field(blocks, comm.rank());
  const auto sine = [](int i, int n) { return std::sin(2 * std::numbers::pi * i / n); };
  fill(field, [&](Int3 cell) { return sine(cell.x, cells.x) * sine(cell.y, cells.y) * sine(cell.z, cells.z); });
  Spectrum spectrum(plan.spectral(), comm.rank());

  plan.forward(field, spectrum);

  const auto cell_count = static_cast<double>(cells.product());
  for_each_mode(spectrum, cells, [&](const Mode& mode, const Complex& amplitude) {
    const Int3 k = mode.wavenumber;
    const bool is_spike = k.x == 1 && std::abs(k.y) == 1 && std::abs(k.z) == 1;
    const double sign = k.y * k.z;
    EXPECT_LT(std::abs(amplitude - (is_spike ? Complex(0.0, sign * cell_count / 8) : 0.0)), 1e-14 * cell_count);
  });
}

TEST(FftPlan, RefusesALayoutWithHoles) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const Layout half(mesh::domain_of({8, 8, 8}), {true, true, true}, {Box{{0, 0, 0}, {8, 8, 4}}}, {0});

  EXPECT_THROW(FftPlan<double>(comm, half), core::Error);
}

}  // namespace
}  // namespace sidestream::fft
