#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sidestream/core/config.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/solvers/spectral/wave_grid.hpp"

namespace sidestream::solvers {

/// The stored modes of the largest scales, which a forcing acts on: the same on all ranks.
struct ForcedBand {
  /// Those with 0 < |k| <= `highest` times the smallest fundamental wavenumber. Throws core::Error where there are
  /// none.
  ForcedBand(const WaveGrid& grid, double highest);

  struct Wave {
    mesh::Int3 wave;
    int weight = 1;          ///< modes of the full spectrum it stands for
    int shell = 0;           ///< its wavenumber in fundamental ones, rounded
    std::int32_t twin = -1;  ///< of whose amplitude its own is the conjugate: where both are stored, the later one's
  };
  std::vector<Wave> waves;
  std::vector<std::array<double, 3>> wavenumbers;
};

/// Three components of each wave of a band.
using BandAmplitudes = std::vector<std::array<std::complex<double>, 3>>;

/// 1/2 sum |u|^2 over the modes of the full spectrum that a band stands for.
double energy(const ForcedBand& band, const BandAmplitudes& velocity);
/// sum Re(conj(u) f) over the same: the power of the force f.
double power(const ForcedBand& band, const BandAmplitudes& velocity, const BandAmplitudes& force);

/// The table `[forcing]`.
struct ForcingConfig {
  std::string kind = "none";
  double highest = 0.0;  ///< wavenumber, in fundamental ones
  double power = 0.0;    ///< energy a volume and a time [unit of velocity^2 / unit of time]
  double time = 0.0;     ///< of correlation
};
core::Table<ForcingConfig> forcing_table();

/// What drives the largest scales of a flow. Local, and the same on all ranks, since its band is replicated.
class Forcing {
 public:
  virtual ~Forcing() = default;

  /// Before a step of length `dt`.
  virtual void begin_step([[maybe_unused]] std::int64_t step, [[maybe_unused]] double dt) {}
  /// The rate of change of the band of a flow that has `velocity` there; free of divergence.
  virtual void force(const BandAmplitudes& velocity, BandAmplitudes& force) = 0;
  /// Changes `velocity` after a step, without a force; false where it does not.
  virtual bool adjust([[maybe_unused]] BandAmplitudes& velocity) { return false; }

  /// Has it put in another power from now on, where it is one of `forcing.power`.
  virtual void set_power([[maybe_unused]] double power) {}
  /// Before the first step of a run, for a flow that begins with `velocity`.
  virtual void start([[maybe_unused]] const BandAmplitudes& velocity) {}
  /// What a restart needs, to the bit.
  virtual std::vector<double> state() const { return {}; }
  virtual void restore([[maybe_unused]] std::span<const double> state) {}
};

struct ForcingEntry {
  std::string name, documentation;
  bool needs_velocity = false;       ///< it does nothing to a flow at rest
  std::vector<std::string> options;  ///< of the keys of `[forcing]`, those that it looks at beside `kind`
  std::unique_ptr<Forcing> (*make)(const ForcedBand& band, const ForcingConfig& config, std::uint64_t seed);
};
/// All forcings there are.
const core::Registry<ForcingEntry>& forcings();

}  // namespace sidestream::solvers
