#include <algorithm>
#include <cmath>

#include "sidestream/core/exact_sum.hpp"
#include "solvers/spectral/forcings.hpp"

namespace sidestream::solvers {

namespace {

void clear(BandAmplitudes& force) {
  std::ranges::fill(force, std::array<std::complex<double>, 3>{});
}

// The energy of each shell of whole wavenumbers stays as it was at the start: velocities there are multiplied after
// each step (She, Jackson & Orszag 1990; Donzis & Yeung 2010).
class FrozenForcing final : public Forcing {
 public:
  explicit FrozenForcing(const ForcedBand& band) : band_(band) {}

  void start(const BandAmplitudes& velocity) override { held_ = energies(velocity); }
  void force(const BandAmplitudes&, BandAmplitudes& force) override { clear(force); }
  bool adjust(BandAmplitudes& velocity) override {
    const std::vector<double> now = energies(velocity);
    for (std::size_t n = 0; n < velocity.size(); ++n) {
      const auto shell = static_cast<std::size_t>(band_.waves[n].shell);
      if (now[shell] == 0.0) continue;
      const double factor = std::sqrt(held_[shell] / now[shell]);
      for (auto& component : velocity[n]) component *= factor;
    }
    return true;
  }

  std::vector<double> state() const override { return held_; }
  void restore(std::span<const double> state) override { held_.assign(state.begin(), state.end()); }

 private:
  std::vector<double> energies(const BandAmplitudes& velocity) const {
    int shells = 0;
    for (const ForcedBand::Wave& wave : band_.waves) shells = std::max(shells, wave.shell + 1);
    std::vector<core::ExactSum> sums(static_cast<std::size_t>(shells));
    for (std::size_t n = 0; n < velocity.size(); ++n)
      for (const auto& component : velocity[n])
        sums[static_cast<std::size_t>(band_.waves[n].shell)].add(band_.waves[n].weight * std::norm(component));
    std::vector<double> energies;
    for (const core::ExactSum& sum : sums) energies.push_back(0.5 * sum.value());
    return energies;
  }

  ForcedBand band_;
  std::vector<double> held_;
};

// f = P u / (2 E), E being the energy of the band, so that its power is P whatever the flow (as in Machiels 1997). A
// band of less energy than a step puts in would outgrow the step: it gets the force of one that has so much.
class PowerForcing final : public Forcing {
 public:
  PowerForcing(const ForcedBand& band, double power) : band_(band), power_(power) {}

  void set_power(double power) override { power_ = power; }
  void begin_step(std::int64_t, double dt) override { least_ = power_ * dt; }
  void force(const BandAmplitudes& velocity, BandAmplitudes& force) override {
    const double present = std::max(energy(band_, velocity), least_);
    if (present == 0.0) return clear(force);
    for (std::size_t n = 0; n < velocity.size(); ++n)
      for (std::size_t c = 0; c < 3; ++c) force[n][c] = 0.5 * power_ / present * velocity[n][c];
  }

 private:
  ForcedBand band_;
  double power_, least_ = 0.0;
};

}  // namespace

std::unique_ptr<Forcing> make_frozen_forcing(const ForcedBand& band, const ForcingConfig&, std::uint64_t) {
  return std::make_unique<FrozenForcing>(band);
}

std::unique_ptr<Forcing> make_power_forcing(const ForcedBand& band, const ForcingConfig& config, std::uint64_t) {
  return std::make_unique<PowerForcing>(band, config.power);
}

}  // namespace sidestream::solvers
