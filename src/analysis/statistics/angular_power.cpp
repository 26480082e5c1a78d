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

constexpr std::size_t waves_a_bin = 2;   // sums of k and mu
constexpr std::size_t powers_a_bin = 3;  // of a pair: sums of the power, and of it times the Legendre polynomials 2, 4

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

// Of each bin the number of modes and the sums over them: of the waves, then of each pair.
struct BinSums {
  std::size_t numbers_a_bin;
  std::vector<std::int64_t> modes;
  std::vector<core::CompactSum> sums;

  BinSums(std::int64_t bins, std::size_t pairs)
      : numbers_a_bin(waves_a_bin + powers_a_bin * pairs), modes(at(bins)), sums(numbers_a_bin * at(bins)) {}

  std::span<core::CompactSum> of_bin(std::int64_t bin) {
    return std::span(sums).subspan(numbers_a_bin * at(bin), numbers_a_bin);
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

BinSums sum_modes(std::span<const Scaled> fields, std::span<const FieldPair> pairs, mesh::Int3 cells,
                  const Shells& shells, int axis, std::int64_t mu_bins) {
  BinSums bins(shells.count() * mu_bins, pairs.size());
  const auto width = static_cast<double>(mu_bins);
  std::vector<std::complex<double>> amplitudes(fields.size());
  const mesh::Field<std::complex<double>>& first = fields.front().spectrum;
  for (int block = 0; block < first.blocks(); ++block) {
    std::vector<core::View4<const std::complex<double>>> views;
    for (const Scaled& field : fields) views.push_back(field.spectrum.view(block));
    fft::for_each_mode(first.box(block), cells, [&](const fft::Mode& mode) {
      const std::array q{mode.wavenumber.x * shells.scale[0], mode.wavenumber.y * shells.scale[1],
                         mode.wavenumber.z * shells.scale[2]};
      const double k = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
      const std::int64_t shell = shells.find(k);
      if (shell < 0 || shell >= shells.count()) return;
      const double mu = std::fabs(q[at(axis)]) / k;
      const std::int64_t bin = shell * mu_bins + static_cast<std::int64_t>(std::min(mu * width, width - 1.0));
      bins.modes[at(bin)] += mode.weight;
      const std::span<core::CompactSum> sums = bins.of_bin(bin);
      sums[0].add(mode.weight * k);
      sums[1].add(mode.weight * mu);

      for (std::size_t n = 0; n < fields.size(); ++n)
        amplitudes[n] = fields[n].of(views[n](mode.index.z, mode.index.y, mode.index.x));
      const double mm = mu * mu, second = 1.5 * mm - 0.5, fourth = (4.375 * mm - 3.75) * mm + 0.375;
      for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
        const std::complex<double> u = amplitudes[pairs[pair].a], v = amplitudes[pairs[pair].b];
        const double power = u.real() * v.real() + u.imag() * v.imag();
        const std::span<core::CompactSum> own = sums.subspan(waves_a_bin + powers_a_bin * pair, powers_a_bin);
        own[0].add(mode.weight * power);
        own[1].add(mode.weight * (power * second));
        own[2].add(mode.weight * (power * fourth));
      }
    });
  }
  return bins;
}

// Means of one pair from sums over modes; `norm` turns power into its unit.
AngularPower means_of(const BinSums& bins, const std::vector<double>& sums, std::size_t pair, std::int64_t mu_bins,
                      double fundamental, double norm) {
  AngularPower result;
  const auto ratio = [](double a, std::int64_t count) { return count == 0 ? 0.0 : a / static_cast<double>(count); };
  const auto shells = static_cast<std::int64_t>(bins.modes.size()) / mu_bins;
  for (std::int64_t shell = 0; shell < shells; ++shell) {
    const auto of_shell = std::span(bins.modes).subspan(at(shell * mu_bins), at(mu_bins));
    std::int64_t modes = 0;
    for (const std::int64_t count : of_shell) modes += count;
    if (modes == 0) continue;
    double shell_k = 0.0;
    std::array<double, powers_a_bin> multipoles{};
    for (std::int64_t bin = shell * mu_bins; bin < (shell + 1) * mu_bins; ++bin) {
      const std::int64_t count = bins.modes[at(bin)];
      const std::span<const double> own = std::span(sums).subspan(bins.numbers_a_bin * at(bin), bins.numbers_a_bin),
                                    powers = own.subspan(waves_a_bin + powers_a_bin * pair, powers_a_bin);
      result.modes.push_back(count);
      result.k.push_back(fundamental * ratio(own[0], count));
      result.mu.push_back(ratio(own[1], count));
      result.power.push_back(norm * ratio(powers[0], count));
      shell_k += own[0];
      for (std::size_t n = 0; n < powers_a_bin; ++n) multipoles[n] += powers[n];
    }
    result.shell_modes.push_back(modes);
    result.shell_k.push_back(fundamental * ratio(shell_k, modes));
    result.monopole.push_back(norm * ratio(multipoles[0], modes));
    result.quadrupole.push_back(5.0 * norm * ratio(multipoles[1], modes));
    result.hexadecapole.push_back(9.0 * norm * ratio(multipoles[2], modes));
  }
  return result;
}

}  // namespace

std::vector<AngularPower> angular_powers(const comm::Communicator& comm, std::span<const RelativeField> fields,
                                         std::span<const FieldPair> pairs, const mesh::Geometry& geometry,
                                         const ShellOptions& options, int axis, std::int64_t mu_bins) {
  const Shells shells(geometry, options);
  const auto cells = static_cast<double>(geometry.domain.volume());
  std::vector<Scaled> scaled;
  for (const RelativeField& field : fields) scaled.emplace_back(field, cells);
  BinSums bins = sum_modes(scaled, pairs, geometry.domain.extent(), shells, axis, mu_bins);
  comm.sum(std::span(bins.modes));
  const std::vector<double> sums = totals(comm, bins.sums);
  comm.agree_on([&] {
    const bool is_finite =
        std::ranges::all_of(sums, [](double sum) { return std::isfinite(sum); }) &&
        std::ranges::all_of(fields, [&](const RelativeField& field) { return std::isfinite(field.mean * cells); });
    if (!is_finite)
      throw core::Error("the power spectrum is not finite: the sum of all cells is beyond the largest number", "",
                        "look for a cell of absurd density, or give the field a larger unit");
  });
  std::vector<AngularPower> powers(pairs.size());
  if (comm.rank() != 0) return powers;
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    const double norm = geometry.volume() / scaled[pairs[pair].a].sum / scaled[pairs[pair].b].sum;
    powers[pair] = means_of(bins, sums, pair, mu_bins, shells.fundamental, norm);
  }
  return powers;
}

}  // namespace sidestream::analysis
