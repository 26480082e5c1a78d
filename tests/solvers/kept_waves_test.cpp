// The waves that dealiasing keeps, in rows, and two components of a velocity of which the third follows.
#include <gtest/gtest.h>

#include <cmath>

#include "sidestream/solvers/spectral/kept_waves.hpp"
#include "sidestream/solvers/spectral/mode_transfer.hpp"

namespace sidestream::solvers {
namespace {

using mesh::Int3;
using Complex = std::complex<double>;

WaveGrid grid_of(Int3 cells, Dealiasing dealiasing) {
  return {{mesh::domain_of(cells), {6.0, 5.0, 4.0}, {true, true, true}}, dealiasing};
}

const std::vector<WaveGrid> grids{
    grid_of({16, 16, 16}, Dealiasing::two_thirds),  grid_of({9, 12, 31}, Dealiasing::two_thirds),
    grid_of({12, 9, 1}, Dealiasing::two_thirds),    grid_of({16, 16, 16}, Dealiasing::phase_shift),
    grid_of({31, 10, 12}, Dealiasing::phase_shift), grid_of({10, 31, 1}, Dealiasing::phase_shift),
};

// Counted one by one.
std::int64_t number_of_waves(const WaveGrid& grid) {
  std::int64_t waves = 0;
  fft::for_each_mode(fft::spectral_domain(grid.waves()), grid.waves(),
                     [&](const fft::Mode& mode) { waves += grid.keeps(mode.wavenumber) ? 1 : 0; });
  return waves;
}

TEST(KeptWaves, AreThoseOfTheEllipsoidAndNoOthers) {
  for (const WaveGrid& grid : grids) {
    const Int3 n = grid.cells(), high = grid.highest();
    for (int z = -high.z; z <= high.z; ++z)
      for (int y = -high.y; y <= high.y; ++y) {
        int kept = 0;
        for (int x = 0; x <= high.x; ++x) {
          const auto share = [](int wave, int cells) { return 4.5 * std::pow(static_cast<double>(wave) / cells, 2); };
          if (grid.dealiasing() == Dealiasing::two_thirds || share(x, n.x) + (share(y, n.y) + share(z, n.z)) <= 1.0)
            kept = x + 1;
        }
        EXPECT_EQ(grid.kept_along_x(y, z), kept);
      }
  }
}

TEST(KeptWaves, LieInRowsWithNextToNothingBeside) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const WaveGrid& grid : grids) {
    const KeptWaves kept(grid);
    const mesh::Layout rows = kept.rows(world.size());

    EXPECT_EQ(kept.size(), number_of_waves(grid));
    EXPECT_EQ(rows.size(), grid.waves().z);
    EXPECT_GE(rows.domain().volume(), kept.size());
    EXPECT_LT(rows.domain().volume(), kept.size() + grid.waves().z);
  }
}

template <typename Real>
class KeptWavesOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(KeptWavesOf, Reals);

TYPED_TEST(KeptWavesOf, FloatsAndDoublesComeBackFromRowsEachInItsPlace) {
  using Spectrum = solvers::Spectrum<TypeParam>;
  using Amplitude = Wave<TypeParam>;
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const WaveGrid& grid : grids) {
    const KeptWaves kept(grid);
    Spectrum planes(mode_planes(grid.waves(), world.size()), world.rank()), back(planes.layout(), world.rank(), 2);
    TypeParam number = 0;
    std::vector<TypeParam> place(static_cast<std::size_t>(fft::spectral_domain(grid.waves()).volume()), TypeParam{-1});
    fft::for_each_mode(fft::spectral_domain(grid.waves()), grid.waves(), [&](const fft::Mode& mode) {
      const std::size_t index = static_cast<std::size_t>(
          mode.index.x + (grid.highest().x + 1) * (mode.index.y + grid.waves().y * mode.index.z));
      if (grid.keeps(mode.wavenumber)) place[index] = number++;
    });
    const auto place_of = [&](Int3 i) {
      return place[static_cast<std::size_t>(i.x + (grid.highest().x + 1) * (i.y + grid.waves().y * i.z))];
    };
    fft::for_each_mode(planes, grid.waves(), [&](const fft::Mode& mode, Amplitude& value) {
      value = {place_of(mode.index), 1};
    });

    const Spectrum rows = kept.in_rows(world, planes);
    kept.in_planes(world, rows, back, 1);

    const std::int64_t row = rows.layout().domain().extent().x;
    for (int b = 0; b < rows.blocks(); ++b)
      for (std::int32_t x = 0; x < row; ++x) {
        const std::int64_t at = rows.box(b).lo.y * row + x;
        const Amplitude wanted = at < kept.size() ? Amplitude(static_cast<TypeParam>(at), 1) : Amplitude();
        EXPECT_EQ(rows.view(b)(0, rows.box(b).lo.y, x), wanted);
      }
    for (int b = 0; b < back.blocks(); ++b)
      fft::for_each_mode(back.box(b), grid.waves(), [&](const fft::Mode& mode) {
        const TypeParam at = place_of(mode.index);
        EXPECT_EQ(back.view(b)(1, mode.index.z, mode.index.y, mode.index.x), at < 0 ? Amplitude() : Amplitude(at, 1));
        EXPECT_EQ(back.view(b)(0, mode.index.z, mode.index.y, mode.index.x), Amplitude());
      });
  }
}

TEST(DependentComponent, FollowsFromTheOthersForEveryWaveButTheMean) {
  for (const double x : {-3.0, 0.0, 1.0, 2000.0})
    for (const double y : {-2000.0, 0.0, 1.0, 4.0})
      for (const double z : {0.0, 1.0, -5.0, 2000.0}) {
        const std::array wave{x, y, z};
        std::array<Complex, 3> u{Complex(0.3, -1.0), Complex(0.7, 0.2), Complex(-1.1, 0.4)};
        const auto axis = static_cast<std::size_t>(dependent_axis(wave));
        u[axis] = 0.0;

        u[axis] = dependent_component(wave, u);

        const Complex divergence = x * u[0] + y * u[1] + z * u[2];
        EXPECT_LE(std::abs(divergence), 1e-15 * std::hypot(x, y, z)) << x << ' ' << y << ' ' << z;
        EXPECT_LE(std::abs(u[axis]), 3.0);
      }
  EXPECT_EQ(dependent_axis({0.0, 0.0, 0.0}), 2);
  EXPECT_EQ(dependent_axis({1.0, -1.0, 1.0}), 2);
  EXPECT_EQ(dependent_axis({1.0, -1.0, 0.0}), 1);
}

}  // namespace
}  // namespace sidestream::solvers
