#include "analysis/statistics/angular_power.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "analysis/at.hpp"
#include "analysis/statistics/totals.hpp"
#include "sidestream/core/compact_sum.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/fft/modes.hpp"

namespace sidestream::analysis {

namespace {

constexpr int numbers_a_bin = 5;  // sums of k, mu, power, and power times the second and fourth Legendre polynomial

// Where a mode belongs, in units of the fundamental mode of the longest side.
class Shells {
 public:
  std::array<double, 3> scale{};  // fundamental mode of each axis over that of the longest side
  double fundamental = 0.0;

  Shells(const mesh::Geometry& geometry, const ShellOptions& options) : options_(options) {
    const double longest = *std::ranges::max_element(geometry.length);
    double nyquist = std::numeric_limits<double>::infinity();  // of the coarsest axis
    for (int axis = 0; axis < 3; ++axis) {
      scale[at(axis)] = longest / geometry.length[at(axis)];
      if (geometry.domain.extent()[axis] > 1) nyquist = std::min(nyquist, longest / (2.0 * geometry.cell_size(axis)));
    }
    if (std::isinf(nyquist)) nyquist = 0.0;
    fundamental = 2.0 * std::numbers::pi / longest;
    constexpr double round_off = 1e-12;
    nyquist *= 1.0 + round_off;
    edges_.push_back(edge(0));
    for (int n = 1; (options.is_logarithmic ? edges_.back() : n * options.width) <= nyquist; ++n)
      edges_.push_back(edge(n));
  }

  std::int64_t count() const { return static_cast<std::int64_t>(edges_.size()) - 1; }

  // -1 below the first, count() above the last.
  std::int64_t find(double q) const {
    if (q < edges_.front()) return -1;
    if (q >= edges_.back()) return count();
    if (options_.is_logarithmic) return std::ranges::upper_bound(edges_, q) - edges_.begin() - 1;
    const auto guess = std::clamp<std::int64_t>(static_cast<std::int64_t>(q / options_.width - 0.5), 0, count() - 1);
    return guess + (q >= edges_[at(guess + 1)] ? 1 : 0) - (q < edges_[at(guess)] ? 1 : 0);
  }

 private:
  double edge(int n) const {
    return options_.is_logarithmic ? 0.5 * core::pow(10.0, n / static_cast<double>(options_.per_decade))
                                   : (n + 0.5) * options_.width;
  }

  ShellOptions options_;
  std::vector<double> edges_;
};

struct BinSums {
  std::vector<std::int64_t> modes;
  std::vector<core::CompactSum> sums;

  explicit BinSums(std::int64_t bins) : modes(at(bins)), sums(at(numbers_a_bin * bins)) {}

  void add(std::int64_t bin, int weight, double k, double mu, double power) {
    const double mm = mu * mu, second = 1.5 * mm - 0.5, fourth = (4.375 * mm - 3.75) * mm + 0.375;
    const std::array values{k, mu, power, power * second, power * fourth};
    modes[at(bin)] += weight;
    for (std::size_t n = 0; n < values.size(); ++n) sums[at(numbers_a_bin * bin) + n].add(weight * values[n]);
  }
};

// A power of two that takes `sum` next to 1, so that products of amplitudes are numbers.
double unit_for(double sum) {
  constexpr int most = 1000;
  return std::ldexp(1.0, std::clamp(-std::ilogb(sum), -most, most));
}

// A field whose amplitudes are multiplied by `unit`, and the sum of its cells in the same unit.
struct Scaled {
  const mesh::Field<std::complex<double>>& spectrum;
  double unit, sum;

  Scaled(const RelativeField& field, double cells)
      : spectrum(field.spectrum), unit(unit_for(field.mean * cells)), sum(unit * (field.mean * cells)) {}

  std::complex<double> of(const std::complex<double>& amplitude) const {
    return {unit * amplitude.real(), unit * amplitude.imag()};
  }
};

BinSums sum_modes(const Scaled& a, const Scaled& b, mesh::Int3 cells, const Shells& shells, int axis,
                  std::int64_t mu_bins) {
  BinSums bins(shells.count() * mu_bins);
  const auto width = static_cast<double>(mu_bins);
  for (int block = 0; block < a.spectrum.blocks(); ++block) {
    const auto of_a = a.spectrum.view(block), of_b = b.spectrum.view(block);
    fft::for_each_mode(a.spectrum.box(block), cells, [&](const fft::Mode& mode) {
      const std::array q{mode.wavenumber.x * shells.scale[0], mode.wavenumber.y * shells.scale[1],
                         mode.wavenumber.z * shells.scale[2]};
      const double k = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
      const std::int64_t shell = shells.find(k);
      if (shell < 0 || shell >= shells.count()) return;
      const double mu = std::fabs(q[at(axis)]) / k;
      const auto bin = static_cast<std::int64_t>(std::min(mu * width, width - 1.0));
      const auto [z, y, x] = std::array{mode.index.z, mode.index.y, mode.index.x};
      const std::complex<double> u = a.of(of_a(z, y, x)), v = b.of(of_b(z, y, x));
      bins.add(shell * mu_bins + bin, mode.weight, k, mu, u.real() * v.real() + u.imag() * v.imag());
    });
  }
  return bins;
}

// Means from sums over modes; `norm` turns power into its unit.
AngularPower means_of(const BinSums& bins, const std::vector<double>& sums, std::int64_t mu_bins, double fundamental,
                      double norm) {
  AngularPower result;
  const auto ratio = [](double a, std::int64_t count) { return count == 0 ? 0.0 : a / static_cast<double>(count); };
  const auto shells = static_cast<std::int64_t>(bins.modes.size()) / mu_bins;
  for (std::int64_t shell = 0; shell < shells; ++shell) {
    const auto of_shell = std::span(bins.modes).subspan(at(shell * mu_bins), at(mu_bins));
    std::int64_t modes = 0;
    for (const std::int64_t count : of_shell) modes += count;
    if (modes == 0) continue;
    std::array<double, numbers_a_bin> all{};
    for (std::int64_t bin = shell * mu_bins; bin < (shell + 1) * mu_bins; ++bin) {
      const std::int64_t count = bins.modes[at(bin)];
      const std::span<const double> own = std::span(sums).subspan(at(numbers_a_bin * bin), numbers_a_bin);
      result.modes.push_back(count);
      result.k.push_back(fundamental * ratio(own[0], count));
      result.mu.push_back(ratio(own[1], count));
      result.power.push_back(norm * ratio(own[2], count));
      for (std::size_t n = 0; n < all.size(); ++n) all[n] += own[n];
    }
    result.shell_modes.push_back(modes);
    result.shell_k.push_back(fundamental * ratio(all[0], modes));
    result.monopole.push_back(norm * ratio(all[2], modes));
    result.quadrupole.push_back(5.0 * norm * ratio(all[3], modes));
    result.hexadecapole.push_back(9.0 * norm * ratio(all[4], modes));
  }
  return result;
}

}  // namespace

AngularPower angular_power(const comm::Communicator& comm, const RelativeField& a, const RelativeField& b,
                           const mesh::Geometry& geometry, const ShellOptions& options, int axis,
                           std::int64_t mu_bins) {
  const Shells shells(geometry, options);
  const auto cells = static_cast<double>(geometry.domain.volume());
  const Scaled one(a, cells), other(b, cells);
  BinSums bins = sum_modes(one, other, geometry.domain.extent(), shells, axis, mu_bins);
  comm.sum(std::span(bins.modes));
  const std::vector<double> sums = totals(comm, bins.sums);
  comm.agree_on([&] {
    const bool is_finite = std::ranges::all_of(sums, [](double sum) { return std::isfinite(sum); });
    if (!is_finite || !std::isfinite(a.mean * cells) || !std::isfinite(b.mean * cells))
      throw core::Error("the power spectrum is not finite: the sum of all cells is beyond the largest number", "",
                        "look for a cell of absurd density, or give the field a larger unit");
  });
  if (comm.rank() != 0) return {};
  return means_of(bins, sums, mu_bins, shells.fundamental, geometry.volume() / one.sum / other.sum);
}

}  // namespace sidestream::analysis
