#include "sidestream/fft/modes.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace sidestream::fft {
namespace {

using Key = std::tuple<int, int, int>;

TEST(Modes, WavenumbersAreSigned) {
  EXPECT_EQ(wavenumber(0, 8), 0);
  EXPECT_EQ(wavenumber(4, 8), 4);
  EXPECT_EQ(wavenumber(5, 8), -3);
  EXPECT_EQ(wavenumber(7, 8), -1);
  EXPECT_EQ(wavenumber(3, 7), 3);
  EXPECT_EQ(wavenumber(4, 7), -3);
}

TEST(Modes, WeightsCountEveryModeOfTheFullSpectrumOnce) {
  for (const mesh::Int3 cells : {mesh::Int3{8, 6, 4}, {7, 5, 3}, {1, 4, 4}, {2, 3, 1}}) {
    std::int64_t total = 0;

    for_each_mode(spectral_domain(cells), cells, [&](const Mode& mode) { total += mode.weight; });

    EXPECT_EQ(total, cells.product());
  }
}

TEST(Modes, AWeightOfTwoStandsForAConjugateThatIsNotStored) {
  for (const mesh::Int3 cells : {mesh::Int3{8, 6, 4}, {7, 5, 3}}) {
    std::set<Key> stored;
    const auto key = [&](mesh::Int3 k) {
      return Key{mesh::wrapped(k.x, cells.x), mesh::wrapped(k.y, cells.y), mesh::wrapped(k.z, cells.z)};
    };
    for_each_mode(spectral_domain(cells), cells, [&](const Mode& mode) { stored.insert(key(mode.wavenumber)); });

    for_each_mode(spectral_domain(cells), cells, [&](const Mode& mode) {
      EXPECT_EQ(mode.weight == 1, stored.contains(key(mesh::Int3{} - mode.wavenumber)));
    });
  }
}

}  // namespace
}  // namespace sidestream::fft
