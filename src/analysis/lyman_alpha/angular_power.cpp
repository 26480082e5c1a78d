#include "analysis/lyman_alpha/angular_power.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "analysis/at.hpp"
#include "analysis/statistics/totals.hpp"
#include "sidestream/core/compact_sum.hpp"
#include "sidestream/fft/modes.hpp"

namespace sidestream::analysis {

namespace {

constexpr int numbers_a_bin = 5;  // sums of k, mu, power, and power times the second and fourth Legendre polynomial

// Where a mode belongs, in units of the fundamental mode of the longest side.
struct Shells {
  std::array<double, 3> scale{};
  std::int64_t count = 0;
  double fundamental = 0.0;

  explicit Shells(const mesh::Geometry& geometry) {
    const double longest = *std::ranges::max_element(geometry.length);
    double nyquist = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      scale[at(axis)] = longest / geometry.length[at(axis)];
      if (geometry.domain.extent()[axis] < 2) continue;
      const double of_axis = longest / (2.0 * geometry.cell_size(axis));
      nyquist = nyquist > 0.0 ? std::min(nyquist, of_axis) : of_axis;
    }
    constexpr double round_off = 1e-12;
    count = static_cast<std::int64_t>(nyquist * (1.0 + round_off));
    fundamental = 2.0 * std::numbers::pi / longest;
  }
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

BinSums sum_modes(const mesh::Field<std::complex<double>>& spectrum, const mesh::Geometry& geometry,
                  const Shells& shells, int axis, std::int64_t mu_bins) {
  BinSums bins(shells.count * mu_bins);
  const auto width = static_cast<double>(mu_bins);
  fft::for_each_mode(spectrum, geometry.domain.extent(), [&](const fft::Mode& mode, const std::complex<double>& value) {
    const std::array q{mode.wavenumber.x * shells.scale[0], mode.wavenumber.y * shells.scale[1],
                       mode.wavenumber.z * shells.scale[2]};
    const double k = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
    const auto shell = static_cast<std::int64_t>(k + 0.5) - 1;
    if (shell < 0 || shell >= shells.count) return;
    const double mu = std::fabs(q[at(axis)]) / k;
    const auto bin = static_cast<std::int64_t>(std::min(mu * width, width - 1.0));
    bins.add(shell * mu_bins + bin, mode.weight, k, mu, value.real() * value.real() + value.imag() * value.imag());
  });
  return bins;
}

}  // namespace

AngularPower angular_power(const comm::Communicator& comm, const mesh::Field<std::complex<double>>& spectrum,
                           const mesh::Geometry& geometry, double mean, int axis, std::int64_t mu_bins) {
  const Shells shells(geometry);
  BinSums bins = sum_modes(spectrum, geometry, shells, axis, mu_bins);
  comm.sum(std::span(bins.modes));
  const std::vector<double> sums = totals(comm, bins.sums);
  AngularPower result;
  if (comm.rank() != 0) return result;
  const double sum = mean * static_cast<double>(geometry.domain.volume()), norm = geometry.volume() / (sum * sum);
  const auto ratio = [](double a, std::int64_t count) { return count == 0 ? 0.0 : a / static_cast<double>(count); };
  for (std::int64_t shell = 0; shell < shells.count; ++shell) {
    std::array<double, numbers_a_bin> all{};
    std::int64_t modes = 0;
    for (std::int64_t bin = shell * mu_bins; bin < (shell + 1) * mu_bins; ++bin) {
      const std::int64_t count = bins.modes[at(bin)];
      const std::span<const double> own = std::span(sums).subspan(at(numbers_a_bin * bin), numbers_a_bin);
      result.modes.push_back(count);
      result.k.push_back(shells.fundamental * ratio(own[0], count));
      result.mu.push_back(ratio(own[1], count));
      result.power.push_back(norm * ratio(own[2], count));
      for (std::size_t n = 0; n < all.size(); ++n) all[n] += own[n];
      modes += count;
    }
    result.shell_k.push_back(shells.fundamental * ratio(all[0], modes));
    result.monopole.push_back(norm * ratio(all[2], modes));
    result.quadrupole.push_back(5.0 * norm * ratio(all[3], modes));
    result.hexadecapole.push_back(9.0 * norm * ratio(all[4], modes));
  }
  return result;
}

}  // namespace sidestream::analysis
