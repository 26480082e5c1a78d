#include "analysis/turbulence/flow_spectra.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/at.hpp"
#include "analysis/statistics/totals.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

using Amplitudes = std::array<std::complex<double>, 3>;

double squared(const std::complex<double>& a) {
  return a.real() * a.real() + a.imag() * a.imag();
}
// The real part of conj(a) b.
double product(const std::complex<double>& a, const std::complex<double>& b) {
  return a.real() * b.real() + a.imag() * b.imag();
}
double squared(const Amplitudes& a) {
  return squared(a[0]) + squared(a[1]) + squared(a[2]);
}

// k x u, which is the vorticity over i.
Amplitudes cross(const std::array<double, 3>& k, const Amplitudes& u) {
  Amplitudes w;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::size_t b = (a + 1) % 3, c = (a + 2) % 3;
    w[a] = {k[b] * u[c].real() - k[c] * u[b].real(), k[b] * u[c].imag() - k[c] * u[b].imag()};
  }
  return w;
}
std::complex<double> dot(const std::array<double, 3>& k, const Amplitudes& u) {
  return {k[0] * u[0].real() + k[1] * u[1].real() + k[2] * u[2].real(),
          k[0] * u[0].imag() + k[1] * u[1].imag() + k[2] * u[2].imag()};
}
// The real part of conj(u) . (i w)
double helicity_of(const Amplitudes& u, const Amplitudes& w) {
  double sum = 0.0;
  for (std::size_t a = 0; a < 3; ++a) sum += u[a].imag() * w[a].real() - u[a].real() * w[a].imag();
  return sum;
}

// Exact sums of several numbers a mode: some in its shell, some over all modes but that of the mean.
class WaveSums {
 public:
  WaveSums(std::int64_t shells, std::size_t in_shell, std::size_t of_all)
      : in_shell_(in_shell), shells_(at(shells)), sums_(at(shells) * in_shell + of_all) {}

  std::span<core::CompactSum> shell(std::int64_t shell) { return std::span(sums_).subspan(at(shell) * in_shell_); }
  std::span<core::CompactSum> all() { return std::span(sums_).subspan(shells_ * in_shell_); }

  /// Adds up the ranks. Throws together unless all is finite. Values on rank 0; zeros elsewhere.
  void finish(const comm::Communicator& comm) {
    values_ = totals(comm, sums_);
    comm.agree_on([&] {
      if (!std::ranges::all_of(values_, [](double value) { return std::isfinite(value); }))
        throw core::Error("the spectra are not finite: sums over the box are beyond the largest number", "",
                          "look for a cell of absurd velocity, or give the velocities a larger unit");
    });
    values_.resize(sums_.size());
  }
  std::vector<double> of_shells(std::size_t number, double norm) const {
    std::vector<double> values;
    for (std::size_t shell = 0; shell < shells_; ++shell) values.push_back(norm * values_[shell * in_shell_ + number]);
    return values;
  }
  double of_all(std::size_t number, double norm) const { return norm * values_[shells_ * in_shell_ + number]; }

 private:
  std::size_t in_shell_, shells_;
  std::vector<core::CompactSum> sums_;
  std::vector<double> values_;
};

enum InShell : std::size_t { energy, k2_energy, helicity, shell_numbers };
enum OfAll : std::size_t { component, over_k = 3, gradients, enstrophy, divergence, all_numbers };

void add_wave(WaveSums& sums, const WaveNumbers& waves, const fft::Mode& mode, const Amplitudes& u) {
  const double k2 = waves.squared(mode.wavenumber), weight = mode.weight, power = weight * squared(u);
  const std::array<double, 3> k = waves.derivative(mode.wavenumber);
  const Amplitudes w = cross(k, u);
  const auto shell = sums.shell(waves.shell_of(mode.wavenumber));
  shell[energy].add(power);
  shell[k2_energy].add(k2 * power);
  shell[helicity].add(weight * helicity_of(u, w));
  if (k2 == 0.0) return;
  const auto all = sums.all();
  for (std::size_t c = 0; c < 3; ++c) all[component + c].add(weight * squared(u[c]));
  all[over_k].add(power / std::sqrt(k2));
  all[gradients].add(k2 * power);
  all[enstrophy].add(weight * squared(w));
  all[divergence].add(weight * squared(dot(k, u)));
}

double norm_of(const Flow& flow) {
  return 1.0 / flow.cells() / flow.cells();
}

}  // namespace

FlowSpectra flow_spectra(const comm::Communicator& comm, const Flow& flow) {
  const WaveNumbers& waves = flow.waves();
  WaveSums sums(waves.shells(), shell_numbers, all_numbers);
  FlowSpectra result;
  result.fundamental = waves.fundamental();
  result.modes.resize(at(waves.shells()));
  flow.for_each_wave([&](const fft::Mode& mode, const Amplitudes& u) {
    result.modes[at(waves.shell_of(mode.wavenumber))] += mode.weight;
    add_wave(sums, waves, mode, u);
  });
  comm.sum(std::span(result.modes));
  sums.finish(comm);
  const double norm = norm_of(flow), density = norm / waves.fundamental();
  result.energy = sums.of_shells(energy, 0.5 * density);
  result.k2_energy = sums.of_shells(k2_energy, 0.5 * density);
  result.helicity = sums.of_shells(helicity, density);
  for (std::size_t c = 0; c < 3; ++c) result.squared_velocity[c] = sums.of_all(component + c, norm);
  result.energy_over_k = sums.of_all(over_k, 0.5 * norm);
  result.gradients = sums.of_all(gradients, norm);
  result.enstrophy = sums.of_all(enstrophy, 0.5 * norm);
  result.squared_divergence = sums.of_all(divergence, norm);
  return result;
}

ScalarSpectra scalar_spectra(const comm::Communicator& comm, const Flow& flow, const ScalarView& scalar) {
  constexpr std::size_t flux = 2, along = 3;
  const WaveNumbers& waves = flow.waves();
  WaveSums sums(waves.shells(), flux, flux + along);
  const Spectrum spectrum = flow.transformed(scalar);
  for (int b = 0; b < spectrum.blocks(); ++b) {
    const auto theta = spectrum.view(b);
    const std::array u{flow.velocity(0).view(b), flow.velocity(1).view(b), flow.velocity(2).view(b)};
    fft::for_each_mode(spectrum.box(b), flow.geometry().domain.extent(), [&](const fft::Mode& mode) {
      const auto [i, j, k] = mode.index;
      const std::complex<double> amplitude = theta(k, j, i);
      const double k2 = waves.squared(mode.wavenumber), power = mode.weight * squared(amplitude);
      if (k2 == 0.0) return;
      const auto shell = sums.shell(waves.shell_of(mode.wavenumber)), all = sums.all();
      for (const auto& into : {shell, all}) {
        into[0].add(power);
        into[1].add(k2 * power);
      }
      for (std::size_t axis = 0; axis < along; ++axis)
        all[flux + axis].add(mode.weight * product(u[axis](k, j, i), amplitude));
    });
  }
  sums.finish(comm);
  const double norm = norm_of(flow), density = norm / waves.fundamental();
  ScalarSpectra result{
      sums.of_shells(0, density), sums.of_shells(1, density), sums.of_all(0, norm), sums.of_all(1, norm), {}};
  for (std::size_t axis = 0; axis < along; ++axis) result.flux[axis] = sums.of_all(flux + axis, norm);
  return result;
}

}  // namespace sidestream::analysis
