#include <algorithm>
#include <cmath>

#include "sidestream/core/math.hpp"
#include "sidestream/core/random.hpp"
#include "solvers/spectral/forcings.hpp"

namespace sidestream::solvers {

namespace {

constexpr std::uint64_t forcing_stream = 0x464f524345;  // of random numbers, none of which serves anything else

// Each of six numbers of a wave (three complex components) is an Ornstein-Uhlenbeck process b of variance sigma^2 and
// time of correlation T; the force is the part of b without divergence. (Eswaran & Pope 1988, Comput. Fluids 16, 257,
// equations 6 to 11.) Forces that change fast put in 4 N T sigma^2 (their equation 13), N being the waves of the full
// spectrum. A step is exact: b' = b exp(-dt/T) + sigma sqrt(1 - exp(-2 dt/T)) times a normal deviate, which is
// keyed by step and wavenumber.
class StochasticForcing final : public Forcing {
 public:
  StochasticForcing(const ForcedBand& band, const ForcingConfig& config, std::uint64_t seed)
      : band_(band), time_(config.time), seed_(seed), process_(band.waves.size()) {
    set_power(config.power);
    for (std::size_t n = 0; n < process_.size(); ++n)
      for (std::size_t part = 0; part < 6; ++part) number(n, part) = sigma_ * deviate(0, n, part);
  }

  void set_power(double power) override {
    double waves = 0.0;
    for (const ForcedBand::Wave& wave : band_.waves) waves += wave.weight;
    sigma_ = std::sqrt(power / (4.0 * waves * time_));
  }
  void begin_step(std::int64_t step, double dt) override {
    const double kept = core::exp(-dt / time_), fresh = sigma_ * std::sqrt(std::max(0.0, 1.0 - kept * kept));
    for (std::size_t n = 0; n < process_.size(); ++n)
      for (std::size_t part = 0; part < 6; ++part)
        number(n, part) = kept * number(n, part) + fresh * deviate(step + 1, n, part);
  }

  void force(const BandAmplitudes&, BandAmplitudes& force) override {
    for (std::size_t n = 0; n < process_.size(); ++n) {
      const std::int32_t twin = band_.waves[n].twin;
      const auto& k = band_.wavenumbers[n];
      std::array<std::complex<double>, 3> b = process_[twin < 0 ? n : static_cast<std::size_t>(twin)];
      if (twin >= 0)
        for (auto& component : b) component = std::conj(component);
      const std::complex<double> along =
          (k[0] * b[0] + k[1] * b[1] + k[2] * b[2]) / (k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
      for (std::size_t c = 0; c < 3; ++c) force[n][c] = b[c] - k[c] * along;
    }
  }

  std::vector<double> state() const override {
    std::vector<double> numbers;
    for (const auto& b : process_)
      for (const auto& component : b) numbers.insert(numbers.end(), {component.real(), component.imag()});
    return numbers;
  }
  void restore(std::span<const double> state) override {
    core::require(state.size() == 6 * process_.size(), "the state of a forcing has six numbers a wave");
    for (std::size_t n = 0; n < process_.size(); ++n)
      for (std::size_t c = 0; c < 3; ++c) process_[n][c] = {state[6 * n + 2 * c], state[6 * n + 2 * c + 1]};
  }

 private:
  double& number(std::size_t n, std::size_t part) {
    return reinterpret_cast<double(&)[2]>(process_[n][part / 2])[part % 2];
  }
  double deviate(std::int64_t step, std::size_t n, std::size_t part) const {
    const mesh::Int3 wave = band_.waves[n].wave;
    const auto bits = [](std::int32_t i) { return static_cast<std::uint64_t>(i) & 0xfffff; };
    const std::uint64_t index = (((bits(wave.z) << 20) | bits(wave.y)) << 20 | bits(wave.x)) * 8 + part;
    return core::normal(seed_, forcing_stream + static_cast<std::uint64_t>(step), index);
  }

  ForcedBand band_;
  double time_, sigma_ = 0.0;
  std::uint64_t seed_;
  BandAmplitudes process_;
};

}  // namespace

std::unique_ptr<Forcing> make_stochastic_forcing(const ForcedBand& band, const ForcingConfig& config,
                                                 std::uint64_t seed) {
  return std::make_unique<StochasticForcing>(band, config, seed);
}

}  // namespace sidestream::solvers
