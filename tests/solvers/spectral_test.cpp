// The parts of a pseudo-spectral flow: which waves are kept, how they are moved, and its kernels beside plain twins.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/solvers/spectral/forcing.hpp"
#include "sidestream/solvers/spectral/mode_transfer.hpp"
#include "sidestream/solvers/spectral/wave_grid.hpp"
#include "solvers/spectral/flow_rows.hpp"
#include "solvers/spectral/tracer_rows.hpp"

namespace sidestream::solvers {
namespace {

using Complex = std::complex<double>;
using Reals = testing::Types<float, double>;

/// Of numbers of about 1 that are rounded once.
template <typename Real>
constexpr double rounding = 4.0 * std::numeric_limits<Real>::epsilon();

mesh::Geometry box_of(mesh::Int3 cells) {
  return {mesh::domain_of(cells), {1.0, 2.0, 3.0}, {true, true, true}};
}

TEST(WaveGrid, KeepsWavesWhoseProductsAliasOntoNone) {
  for (const int n : {4, 6, 9, 16, 64, 100}) {
    const int most = WaveGrid(box_of({n, n, n}), Dealiasing::two_thirds).highest().x;
    EXPECT_LT(2 * most, n - most) << n;
    EXPECT_GE(2 * (most + 1), n - (most + 1)) << n;
  }
}

TEST(WaveGrid, KeepsAnEllipsoidForDisplacedGrids) {
  const WaveGrid grid(box_of({16, 24, 32}), Dealiasing::phase_shift);

  EXPECT_EQ(grid.highest(), (mesh::Int3{7, 11, 15}));
  for (int z = -15; z <= 15; ++z)
    for (int y = -11; y <= 11; ++y)
      for (int x = 0; x <= 7; ++x) {
        const double sum = x * x / 256.0 + y * y / 576.0 + z * z / 1024.0;
        EXPECT_EQ(grid.keeps({x, y, z}), sum <= 2.0 / 9.0) << x << " " << y << " " << z;
      }
}

TEST(ForcedBand, HoldsEachLongWaveOnceAndItsTwin) {
  const ForcedBand band(
      WaveGrid({mesh::domain_of({16, 16, 16}), {1.0, 1.0, 1.0}, {true, true, true}}, Dealiasing::two_thirds), 1.5);

  int weights = 0;
  for (const ForcedBand::Wave& wave : band.waves) {
    weights += wave.weight;
    if (wave.twin < 0) continue;
    const mesh::Int3 twin = band.waves[static_cast<std::size_t>(wave.twin)].wave;
    EXPECT_EQ(twin, (mesh::Int3{0, -wave.wave.y, -wave.wave.z}));
  }
  EXPECT_EQ(weights, 6 + 12);  // of length 1 and of length sqrt(2)
}

// Of P / (4 N T) and exp(-dt / T), within four standard errors of 10^4 steps.
TEST(StochasticForcing, HasTheVarianceAndTheMemoryOfItsProcess) {
  const ForcedBand band(
      WaveGrid({mesh::domain_of({16, 16, 16}), {1.0, 1.0, 1.0}, {true, true, true}}, Dealiasing::two_thirds), 1.5);
  const ForcingConfig config{.kind = "stochastic", .highest = 1.5, .power = 0.3, .time = 0.2};
  constexpr double dt = 0.1, waves = 6 + 12;
  constexpr int steps = 10000;
  const auto forcing = forcings().named(config.kind).make(band, config, 7);

  std::vector<double> before = forcing->state();
  double squares = 0.0, products = 0.0;
  for (int step = 0; step < steps; ++step) {
    forcing->begin_step(step, dt);
    const std::vector<double> now = forcing->state();
    for (std::size_t i = 0; i < now.size(); ++i) {
      squares += now[i] * now[i];
      products += now[i] * before[i];
    }
    before = now;
  }

  const double count = static_cast<double>(before.size()) * steps, memory = std::exp(-dt / config.time);
  // Neighbours are like each other: squares of normal numbers count for fewer, and the ratio has the error of a slope.
  const double of_squares = std::sqrt(2.0 / count * (1.0 + memory * memory) / (1.0 - memory * memory));
  const double of_memory = std::sqrt((1.0 - memory * memory) / count);
  EXPECT_NEAR(squares / count / (config.power / (4.0 * waves * config.time)), 1.0, 4.0 * of_squares);
  EXPECT_NEAR(products / squares, memory, 4.0 * of_memory);
}

// Its power is as it is asked for, but where the band has next to no energy it adds no more than a flow of the like.
TEST(PowerForcing, IsGentleToABandOfRounding) {
  const ForcedBand band(
      WaveGrid({mesh::domain_of({16, 16, 16}), {1.0, 1.0, 1.0}, {true, true, true}}, Dealiasing::two_thirds), 1.5);
  constexpr double dt = 0.1;
  const auto forcing = forcings().named("power").make(band, {.kind = "power", .highest = 1.5, .power = 0.3}, 7);
  forcing->begin_step(0, dt);
  for (const double speed : {1.0, 1e-17}) {
    const std::array<std::complex<double>, 3> one{std::complex(speed, 0.0), std::complex(0.0, speed)};
    const BandAmplitudes velocity(band.waves.size(), one);
    BandAmplitudes force(velocity.size());

    forcing->force(velocity, force);

    const double expected = speed == 1.0 ? 0.3 : 0.0;
    EXPECT_NEAR(power(band, velocity, force), expected, 1e-14);
    EXPECT_LE(std::abs(force[0][0]) * dt, speed);
  }
}

double mark(mesh::Int3 wave) {
  return 10000.0 * wave.x + 100.0 * wave.y + wave.z + 0.5;
}

template <typename Real>
class TransferModes : public testing::Test {};
TYPED_TEST_SUITE(TransferModes, Reals);

// Every wave carries its own name.
TYPED_TEST(TransferModes, MovesEachWaveToItsPlaceOnAnotherGrid) {
  using Spectrum = solvers::Spectrum<TypeParam>;
  const comm::Communicator world(MPI_COMM_WORLD);
  const mesh::Int3 few{7, 5, 9}, many{12, 11, 13};
  for (const auto& [from_waves, to_waves] : {std::pair(few, many), std::pair(many, few)}) {
    Spectrum from(mode_planes(from_waves, world.size()), world.rank(), 2);
    Spectrum to(mode_planes(to_waves, world.size()), world.rank(), 2);
    for (int b = 0; b < from.blocks(); ++b)
      fft::for_each_mode(from.box(b), from_waves, [&, u = from.view(b)](const fft::Mode& mode) {
        for (int c = 0; c < 2; ++c)
          u(c, mode.index.z, mode.index.y, mode.index.x) = Wave<TypeParam>(Complex(mark(mode.wavenumber), c));
      });

    transfer_modes(world, from, from_waves, to, to_waves);

    for (int b = 0; b < to.blocks(); ++b)
      fft::for_each_mode(to.box(b), to_waves, [&, u = to.view(b)](const fft::Mode& mode) {
        bool is_common = true;
        for (int axis = 0; axis < 3; ++axis)
          is_common = is_common && 2 * std::abs(mode.wavenumber[axis]) < std::min(from_waves[axis], to_waves[axis]);
        for (int c = 0; c < 2; ++c)
          EXPECT_EQ(Complex(u(c, mode.index.z, mode.index.y, mode.index.x)),
                    is_common ? Complex(mark(mode.wavenumber), c) : Complex());
      });
  }
}

template <typename Real>
std::vector<Wave<Real>> numbers(int seed, int count) {
  std::vector<Wave<Real>> all;
  for (int i = 0; i < count; ++i)
    all.push_back(Wave<Real>(Complex(std::sin(7.0 * seed + i), std::cos(3.0 * seed - 2.0 * i))));
  return all;
}

template <typename Real>
class FlowRows : public testing::Test {};
TYPED_TEST_SUITE(FlowRows, Reals);

// The same, as it is written in the header.
TYPED_TEST(FlowRows, AdvanceVelocitiesAsTheirPlainTwin) {
  using Row = std::vector<Wave<TypeParam>>;
  constexpr int modes = 13;
  std::vector<double> kx(modes), decays(modes);
  for (std::size_t i = 0; i < modes; ++i) {
    kx[i] = static_cast<double>(i);
    decays[i] = 1.0 / (1.0 + kx[i]);
  }
  for (const StageKind kind : {StageKind::first, StageKind::middle, StageKind::decaying, StageKind::last})
    for (const double ky : {0.0, -2.0}) {
      std::array<Row, 5> tensor;
      std::array<Row, 3> base, sum;
      for (std::size_t c = 0; c < 5; ++c) tensor[c] = numbers<TypeParam>(static_cast<int>(c), modes);
      for (std::size_t c = 0; c < 3; ++c) {
        base[c] = numbers<TypeParam>(10 + static_cast<int>(c), modes);
        sum[c] = numbers<TypeParam>(20 + static_cast<int>(c), modes);
      }
      const auto old_tensor = tensor;
      const auto old_base = base, old_sum = sum;
      const StageWeights weights{kind, 0.3, 0.2};

      advance_velocity<TypeParam>(
          {modes, kx.data(), ky, ky, decays.data(), 0.5}, weights,
          {tensor[0].data(), tensor[1].data(), tensor[2].data(), tensor[3].data(), tensor[4].data()},
          {base[0].data(), base[1].data(), base[2].data()}, {sum[0].data(), sum[1].data(), sum[2].data()});

      for (std::size_t i = 0; i < modes; ++i) {
        const std::array k{kx[i], ky, ky};
        const Complex xx = old_tensor[0][i], yy = old_tensor[1][i], xy = old_tensor[2][i], xz = old_tensor[3][i],
                      yz = old_tensor[4][i];
        const std::array<std::array<Complex, 3>, 3> a{{{xx, xy, xz}, {xy, yy, yz}, {xz, yz, 0.0}}};
        std::array<Complex, 3> n{};
        Complex along = 0.0;
        const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
        for (std::size_t r = 0; r < 3; ++r) {
          for (std::size_t c = 0; c < 3; ++c) n[r] += Complex(0.0, -k[c]) * a[r][c];
          along += k[r] * n[r];
        }
        for (std::size_t c = 0; c < 3; ++c) {
          if (square > 0.0) n[c] -= k[c] * along / square;
          const double factor = kind == StageKind::middle ? 1.0 : 0.5 * decays[i];
          const auto old = [&](const std::array<Row, 3>& rows) { return Complex(rows[c][i]); };
          Complex next = factor * (old(old_base) + 0.3 * n[c]);
          Complex total = factor * (old(kind == StageKind::first ? old_base : old_sum) + 0.2 * n[c]);
          Complex begin = kind == StageKind::first ? factor * old(old_base) : old(old_base);
          if (kind == StageKind::last) {
            next = begin = old(old_sum) + 0.2 * n[c];
            total = old(old_sum);
          }
          EXPECT_LT(std::abs(Complex(tensor[c][i]) - next), rounding<TypeParam>);
          EXPECT_LT(std::abs(Complex(sum[c][i]) - total), rounding<TypeParam>);
          EXPECT_LT(std::abs(Complex(base[c][i]) - begin), rounding<TypeParam>);
        }
      }
    }
}

TYPED_TEST(FlowRows, RemoveTheDivergenceAsTheirPlainTwin) {
  constexpr int modes = 11;
  std::vector<double> kx(modes);
  for (std::size_t i = 0; i < modes; ++i) kx[i] = 0.7 * static_cast<double>(i);
  for (const double ky : {0.0, -2.0}) {
    const std::array old{numbers<TypeParam>(1, modes), numbers<TypeParam>(2, modes), numbers<TypeParam>(3, modes)};
    auto u = old;

    remove_divergence<TypeParam>({modes, kx.data(), ky, 0.5 * ky}, {u[0].data(), u[1].data(), u[2].data()});

    for (std::size_t i = 0; i < modes; ++i) {
      const std::array k{kx[i], ky, 0.5 * ky};
      const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
      Complex along = 0.0;
      for (std::size_t c = 0; c < 3; ++c) along += k[c] * Complex(old[c][i]);
      for (std::size_t c = 0; c < 3; ++c) {
        const Complex wanted = Complex(old[c][i]) - (square > 0.0 ? k[c] * along / square : 0.0);
        EXPECT_LT(std::abs(Complex(u[c][i]) - wanted), rounding<TypeParam>);
      }
    }
  }
}

template <typename Real>
class TracerRows : public testing::Test {};
TYPED_TEST_SUITE(TracerRows, Reals);

// Any basis of cubic splines: sums over all nodes of the definition of the B-spline.
TYPED_TEST(TracerRows, InterpolateAsTheirPlainTwin) {
  const auto spline = [](double x) {
    const double r = std::fabs(x);
    return r < 1.0 ? 2.0 / 3.0 - r * r + 0.5 * r * r * r : r < 2.0 ? (2.0 - r) * (2.0 - r) * (2.0 - r) / 6.0 : 0.0;
  };
  constexpr int nx = 9, ny = 7, nz = 6;
  const mesh::Box nodes{{-2, 1, 0}, {-2 + nx, 1 + ny, nz}};
  for (const bool is_flat : {false, true}) {
    std::vector<TypeParam> values(static_cast<std::size_t>(3 * nx * ny * nz));
    for (std::size_t n = 0; n < values.size(); ++n)
      values[n] = static_cast<TypeParam>(std::sin(0.7 * static_cast<double>(n)));
    const core::View4<const TypeParam> view(values.data(), -2, 1, 0, nx, ny, nz, 3);
    const SplineBox<TypeParam> box{view.origin(),
                                   view.stride_y(),
                                   view.stride_z(),
                                   view.stride_component(),
                                   {{{2.0, -1, 4, false}, {4.0, 2, 5, false}, {1.0, 1, 3, is_flat}}}};
    const std::vector<double> x{-0.5, 0.0, 0.3, 2.49, 2.0}, y{0.5, 1.49, 0.77, 1.0, 1.25}, z{1.0, 3.99, 2.5, 1.2, 3.0};
    std::array<std::vector<double>, 3> found;
    for (auto& component : found) component.resize(x.size());

    EXPECT_TRUE(interpolate_spline(box, x.size(), {x.data(), y.data(), z.data()},
                                   {found[0].data(), found[1].data(), found[2].data()}));

    for (std::size_t p = 0; p < x.size(); ++p)
      for (int c = 0; c < 3; ++c) {
        double expected = 0.0;
        core::for_each_cell(nodes, [&](int k, int j, int i) {
          const double along_z = is_flat ? (k == 0 ? 1.0 : 0.0) : spline(z[p] - k);
          expected += view(c, k, j, i) * spline(2.0 * x[p] - i) * spline(4.0 * y[p] - j) * along_z;
        });
        EXPECT_NEAR(found[static_cast<std::size_t>(c)][p], expected, 1e-14);
      }
  }
}

TEST(SplineBox, SaysWhatIsBeyondTheBox) {
  const std::vector<double> values(static_cast<std::size_t>(3 * 4 * 4 * 4), 1.0);
  const SplineAxis axis{1.0, 1, 1, false};
  const SplineBox<double> box{values.data(), 4, 16, 64, {axis, axis, axis}};
  for (const double beyond : {-100.0, 0.9, 2.1, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    const double inside = 1.5;
    std::array<double, 3> u{};
    EXPECT_FALSE(interpolate_spline(box, 1, {&inside, &beyond, &inside}, {&u[0], &u[1], &u[2]})) << beyond;
    EXPECT_NEAR(u[0], 1.0, 1e-15);
  }
}

}  // namespace
}  // namespace sidestream::solvers
