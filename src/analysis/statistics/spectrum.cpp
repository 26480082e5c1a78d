#include "analysis/statistics/spectrum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "sidestream/analysis/density.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/fft/modes.hpp"

namespace sidestream::analysis {

namespace {

using std::numbers::pi;

double longest_side(const mesh::Geometry& geometry) {
  return *std::max_element(geometry.length.begin(), geometry.length.end());
}

// The Nyquist frequency of the coarsest axis, in units of the fundamental mode.
double nyquist_of(const mesh::Geometry& geometry) {
  double nyquist = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis)
    if (geometry.domain.extent()[axis] > 1)
      nyquist = std::min(nyquist, longest_side(geometry) / (2.0 * geometry.cell_size(axis)));
  return std::isinf(nyquist) ? 0.0 : nyquist;
}

// Edges of the shells, in units of the fundamental mode.
std::vector<double> shell_edges(const mesh::Geometry& geometry, const ShellOptions& shells) {
  constexpr double round_off = 1e-12;
  const double nyquist = nyquist_of(geometry) * (1.0 + round_off);
  const auto edge = [&](int n) {
    return shells.is_logarithmic ? 0.5 * core::pow(10.0, n / static_cast<double>(shells.per_decade))
                                 : (n + 0.5) * shells.width;
  };
  std::vector<double> edges{edge(0)};
  for (int n = 1; (shells.is_logarithmic ? edges.back() : n * shells.width) <= nyquist; ++n) edges.push_back(edge(n));
  return edges;
}

// Number of modes, sum of |k| (in fundamental modes) and sum of power in one shell.
struct Shell {
  std::int64_t modes = 0;
  core::ExactSum wavenumber, power;
};

// Amplitudes are multiplied by `unit`, a power of two, so that their squares are numbers.
std::vector<Shell> sum_shells(const Spectrum& spectrum, const mesh::Geometry& geometry,
                              const std::vector<double>& edges, double unit) {
  std::array<double, 3> scale{};  // fundamental mode of each axis over that of the longest side
  for (std::size_t a = 0; a < 3; ++a) scale[a] = longest_side(geometry) / geometry.length[a];
  std::vector<Shell> shells(edges.size() - 1);
  fft::for_each_mode(spectrum, geometry.domain.extent(),
                     [&](const fft::Mode& mode, const std::complex<double>& amplitude) {
                       const double x = mode.wavenumber.x * scale[0], y = mode.wavenumber.y * scale[1],
                                    z = mode.wavenumber.z * scale[2];
                       const double q = std::sqrt(x * x + y * y + z * z);
                       if (q < edges.front() || q >= edges.back()) return;
                       const auto edge = std::upper_bound(edges.begin(), edges.end(), q);
                       Shell& shell = shells[static_cast<std::size_t>(edge - edges.begin()) - 1];
                       shell.modes += mode.weight;
                       shell.wavenumber.add(mode.weight * q);
                       const double re = unit * amplitude.real(), im = unit * amplitude.imag();
                       shell.power.add(mode.weight * (re * re + im * im));
                     });
  return shells;
}

// The power of two that takes `norm` next to 1.
double unit_for(double norm) {
  constexpr int most = 1000;
  return std::ldexp(1.0, std::clamp(-std::ilogb(norm), -most, most));
}

// Squared sinc of each wave number of an axis of n cells.
std::vector<double> window_of_axis(std::int32_t n) {
  std::vector<double> window;
  for (std::int32_t i = 0; i < n; ++i) {
    const double half = pi * fft::wavenumber(i, n) / n;  // k dx / 2
    const double sinc = i == 0 ? 1.0 : core::sin(half) / half;
    window.push_back(sinc * sinc);
  }
  return window;
}

}  // namespace

Spectrum transform(const comm::Communicator& comm, const fft::FftPlan& plan, const ScalarView& field) {
  Spectrum spectrum(plan.spectral(), comm.rank());
  plan.forward(field, spectrum);
  return spectrum;
}

void divide_by_cic_window(Spectrum& spectrum, mesh::Int3 cells) {
  const auto x = window_of_axis(cells.x), y = window_of_axis(cells.y), z = window_of_axis(cells.z);
  fft::for_each_mode(spectrum, cells, [&](const fft::Mode& mode, std::complex<double>& amplitude) {
    amplitude /= x[static_cast<std::size_t>(mode.index.x)] * y[static_cast<std::size_t>(mode.index.y)] *
                 z[static_cast<std::size_t>(mode.index.z)];
  });
}

void add_to(Spectrum& a, const Spectrum& b) {
  const auto to = a.all();
  const auto from = b.all();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

PowerSpectrum power_of(const comm::Communicator& comm, const Spectrum& spectrum, const mesh::Geometry& geometry,
                       double mean, const ShellOptions& options) {
  const double sum = static_cast<double>(geometry.domain.volume()) * mean, unit = unit_for(sum), norm = unit * sum;
  const auto shells = sum_shells(spectrum, geometry, shell_edges(geometry, options), unit);
  std::vector<core::ExactSum> sums;
  std::vector<std::int64_t> modes;
  for (const Shell& shell : shells) {
    sums.insert(sums.end(), {shell.wavenumber, shell.power});
    modes.push_back(shell.modes);
  }
  comm.sum(std::span(sums));
  comm.sum(std::span(modes));
  comm.agree_on([&] {
    for (const core::ExactSum& one : sums)
      if (!std::isfinite(sum) || !std::isfinite(one.value()))
        throw core::Error("the power spectrum is not finite: the sum of all cells is beyond the largest number", "",
                          "look for a cell of absurd density, or give the field a larger unit");
  });

  PowerSpectrum result;
  if (comm.rank() != 0) return result;
  const double fundamental = 2.0 * pi / longest_side(geometry);
  for (std::size_t s = 0; s < modes.size(); ++s) {
    if (modes[s] == 0) continue;
    const auto count = static_cast<double>(modes[s]);
    result.modes.push_back(modes[s]);
    result.k.push_back(fundamental * (sums[2 * s].value() / count));
    result.power.push_back(geometry.volume() * (sums[2 * s + 1].value() / count / norm / norm));
  }
  return result;
}

PowerSpectrum power_spectrum(const comm::Communicator& comm, const ScalarView& field, const mesh::Geometry& geometry,
                             const ShellOptions& shells, bool deconvolve) {
  const double average = mean(comm, field, "density");
  if (!(average > 0)) throw core::Error("the mean of the field is not positive, so it has no relative fluctuation");
  Spectrum spectrum = transform(comm, fft::FftPlan(comm, field.layout()), field);
  if (deconvolve) divide_by_cic_window(spectrum, geometry.domain.extent());
  return power_of(comm, spectrum, geometry, average, shells);
}

}  // namespace sidestream::analysis
