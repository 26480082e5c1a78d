#include "sidestream/solvers/spectral/forcing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sidestream/core/exact_sum.hpp"
#include "solvers/spectral/forcings.hpp"

namespace sidestream::solvers {

namespace {

double length(const std::array<double, 3>& k) {
  return std::sqrt(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
}

// Of the waves along x that are stored twice, -k beside k, the one that is not chosen.
bool is_later_twin(mesh::Int3 wave) {
  return wave.x == 0 && (wave.z < 0 || (wave.z == 0 && wave.y < 0));
}

}  // namespace

ForcedBand::ForcedBand(const WaveGrid& grid, double highest) {
  const mesh::Int3 most = grid.highest();
  const double unit = grid.longest_fundamental();
  for (std::int32_t z = -most.z; z <= most.z; ++z)
    for (std::int32_t y = -most.y; y <= most.y; ++y)
      for (std::int32_t x = 0; x <= most.x; ++x) {
        const std::array<double, 3> k = grid.wavenumber({x, y, z});
        const double ratio = length(k) / unit;
        if (ratio == 0.0 || ratio > highest || !grid.keeps({x, y, z})) continue;
        waves.push_back({{x, y, z}, x == 0 ? 1 : 2, static_cast<int>(std::lround(ratio)), -1});
        wavenumbers.push_back(k);
      }
  if (waves.empty())
    throw core::Error("no wave of the box is as long as those that are to be forced", "key `forcing.highest`",
                      "1 is the longest wave");
  for (Wave& wave : waves) {
    if (!is_later_twin(wave.wave)) continue;
    const mesh::Int3 other{0, -wave.wave.y, -wave.wave.z};
    const auto found = std::ranges::find(waves, other, &Wave::wave);
    wave.twin = static_cast<std::int32_t>(found - waves.begin());
  }
}

double energy(const ForcedBand& band, const BandAmplitudes& velocity) {
  return 0.5 * power(band, velocity, velocity);
}

double power(const ForcedBand& band, const BandAmplitudes& velocity, const BandAmplitudes& force) {
  core::ExactSum sum;
  for (std::size_t n = 0; n < band.waves.size(); ++n)
    for (std::size_t c = 0; c < 3; ++c)
      sum.add(band.waves[n].weight *
              (velocity[n][c].real() * force[n][c].real() + velocity[n][c].imag() * force[n][c].imag()));
  return sum.value();
}

core::Table<ForcingConfig> forcing_table() {
  core::Table<ForcingConfig> table("What drives the largest scales of a turbulent flow");
  std::vector<std::string> names{"none"};
  for (const ForcingEntry& entry : forcings()) names.push_back(entry.name);
  table.option("kind", &ForcingConfig::kind, "none")
      .one_of(names)
      .doc(
          "stochastic: forces that come and go (Eswaran & Pope 1988); frozen: the energy of each shell of waves is "
          "held; power: a force along the velocity of constant power");
  table.option("highest", &ForcingConfig::highest, 2.0 * std::sqrt(2.0))
      .range(1.0, 1e6)
      .doc("waves up to so many times the longest one are forced");
  table.option("power", &ForcingConfig::power, 0.1)
      .range(1e-30, 1e30)
      .doc(
          "energy per mass and time that a force of constant power puts in; of stochastic forces in the limit in which "
          "they change fast");
  table.option("time", &ForcingConfig::time, 1.0).range(1e-30, 1e30).doc("time of correlation of stochastic forces");
  return table;
}

const core::Registry<ForcingEntry>& forcings() {
  static const core::Registry<ForcingEntry> all({"forcings", "forcing", "the key `kind` of `[forcing]`"},
                                                {{"stochastic",
                                                  "forces of each wave that change at random (Eswaran & Pope 1988)",
                                                  false,
                                                  {"highest", "power", "time"},
                                                  make_stochastic_forcing},
                                                 {"frozen",
                                                  "the energy of each shell of waves is held at that of the start",
                                                  true,
                                                  {"highest"},
                                                  make_frozen_forcing},
                                                 {"power",
                                                  "a force along the velocity whose power is constant",
                                                  true,
                                                  {"highest", "power"},
                                                  make_power_forcing}});
  return all;
}

}  // namespace sidestream::solvers
