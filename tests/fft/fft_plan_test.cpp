#include "sidestream/fft/fft_plan.hpp"

#include <fftw3.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/fft/modes.hpp"

namespace sidestream::fft {
namespace {

using mesh::Box;
using mesh::Field;
using mesh::Int3;
using mesh::Layout;
using Complex = std::complex<double>;
using Spectrum = Field<Complex>;

constexpr double round_off =
    2e-14;  // of a transform of numbers of order one, relative to the root mean square of the result

double noise(const Box& domain, Int3 cell) {
  return core::normal(7, 0, static_cast<std::uint64_t>(linear_index(domain, cell)));
}

template <typename F>
void fill(Field<double>& field, F value) {
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    core::for_each_cell(field.box(b), [&](int k, int j, int i) { view(k, j, i) = value(Int3{i, j, k}); });
  }
}

Field<double> noise_on(const Layout& layout, int rank, std::int32_t ghost = 0) {
  Field<double> field(layout, rank, 1, ghost);
  fill(field, [&](Int3 cell) { return noise(layout.domain(), cell); });
  return field;
}

// Blocks of uneven sizes, dealt like cards.
Layout scattered_blocks(Int3 cells, int ranks) {
  const Layout blocks =
      split(mesh::domain_of(cells), {std::min(cells.x, 3), std::min(cells.y, 2), std::min(cells.z, 3)});
  std::vector<std::int32_t> rank_of;
  for (int i = 0; i < blocks.size(); ++i) rank_of.push_back(i % ranks);
  return blocks.renumbered(rank_of);
}

Layout one_block(Int3 cells) {
  return split(mesh::domain_of(cells), {1, 1, 1});
}

// All numbers of a field, of all ranks, in the order of the domain: their bits, added as integers to zeros elsewhere.
template <typename T>
std::vector<T> gathered(const comm::Communicator& comm, const Field<T>& field) {
  constexpr std::size_t words = sizeof(T) / sizeof(std::int64_t);
  const Box& domain = field.layout().domain();
  std::vector<T> all(static_cast<std::size_t>(domain.volume()));
  const std::span<std::int64_t> bits(reinterpret_cast<std::int64_t*>(all.data()), all.size() * words);
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      all[static_cast<std::size_t>(linear_index(domain, {i, j, k}))] = view(k, j, i);
    });
  }
  comm.sum(bits);
  return all;
}

std::vector<Complex> direct_transform(Int3 cells) {
  const Box domain = mesh::domain_of(cells);
  std::vector<double> in(static_cast<std::size_t>(domain.volume()));
  std::vector<Complex> out(static_cast<std::size_t>(spectral_domain(cells).volume()));
  core::for_each_cell(domain, [&](int k, int j, int i) {
    in[static_cast<std::size_t>(linear_index(domain, {i, j, k}))] = noise(domain, {i, j, k});
  });
  const fftw_plan plan = fftw_plan_dft_r2c_3d(cells.z, cells.y, cells.x, in.data(),
                                              reinterpret_cast<fftw_complex*>(out.data()), FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  return out;
}

template <typename T>
bool have_equal_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
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
  const FftPlan plan{comm, blocks, GetParam().decomposition};
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
  EXPECT_LT(worst, round_off);
}

TEST_P(Transform, BitsAreThoseOfOneRankWithOneBlock) {
  const comm::Communicator self(MPI_COMM_SELF);
  const FftPlan serial(self, one_block(cells));
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
    const FftPlan plan(comm, layout, Decomposition::slabs, 2);
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

// Teaches FFTW the same problem that a batch of lines with a large prime factor is, by timing.
void plan_patiently(int length) {
  constexpr int lanes = 8;
  std::vector<double> numbers(static_cast<std::size_t>(2 * lanes * length));
  const fftw_iodim line{length, 2 * lanes, 2 * lanes}, lane{lanes, 1, 1};
  double *re = numbers.data(), *im = re + lanes;
  fftw_destroy_plan(fftw_plan_guru_split_dft(1, &line, 1, &lane, re, im, re, im, FFTW_PATIENT));
}

TEST(FftPlan, WhatOthersTaughtFftwByTimingDoesNotChangeTheBits) {
  const comm::Communicator self(MPI_COMM_SELF);
  const Int3 cells{6, 238, 34};  // 17 is too large a factor for our own passes
  const auto transform = [&] {
    const FftPlan plan(self, one_block(cells));
    Spectrum spectrum(plan.spectral(), 0);
    plan.forward(noise_on(one_block(cells), 0), spectrum);
    return gathered(self, spectrum);
  };
  const std::vector<Complex> before = transform();

  for (const int length : {238, 34}) plan_patiently(length);

  EXPECT_TRUE(have_equal_bits(before, transform()));
  fftw_forget_wisdom();
}

TEST(FftPlan, RefusesALayoutWithHoles) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const Layout half(mesh::domain_of({8, 8, 8}), {true, true, true}, {Box{{0, 0, 0}, {8, 8, 4}}}, {0});

  EXPECT_THROW(FftPlan(comm, half), core::Error);
}

}  // namespace
}  // namespace sidestream::fft
