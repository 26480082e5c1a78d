#include "analysis/lyman_alpha/flux_statistics.hpp"

#include <algorithm>
#include <complex>

#include "analysis/lyman_alpha/line_tile.hpp"
#include "analysis/lyman_alpha/sightline_rows.hpp"
#include "analysis/statistics/totals.hpp"
#include "sidestream/core/compact_sum.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/fft/real_line_transform.hpp"

namespace sidestream::analysis {

namespace {

// What the lines of this rank add up to.
struct FluxSums {
  std::vector<std::int64_t> counts;
  core::CompactSum flux;
  std::vector<core::CompactSum> power;  // of 1 wave, 2 waves, ...

  FluxSums(int pixels, std::int64_t bins)
      : counts(static_cast<std::size_t>(bins)), power(static_cast<std::size_t>(pixels / 2)) {}

  void add_pixels(std::span<const double> fluxes) {
    const auto bins = static_cast<double>(counts.size());
    for (const double one : fluxes) {
      flux.add(one);
      ++counts[static_cast<std::size_t>(std::min(one * bins, bins - 1.0))];
    }
  }
  // The modes of a line from 1 on.
  void add_modes(std::span<const std::complex<double>> modes) {
    for (std::size_t m = 0; m < power.size(); ++m) {
      const double re = modes[m].real(), im = modes[m].imag();
      power[m].add(re * re + im * im);
    }
  }
};

FluxSums sum_lines(mesh::Field<double>& depth, int axis, double factor, std::int64_t bins) {
  const int pixels = depth.layout().domain().extent()[axis];
  fft::RealLineTransform transform(pixels);
  const auto each = static_cast<std::size_t>(transform.modes());
  std::vector<double> lines(static_cast<std::size_t>(LineTile::most_lines * pixels));
  std::vector<std::complex<double>> modes(LineTile::most_lines * each);
  FluxSums sums(pixels, bins);
  for (int b = 0; b < depth.blocks(); ++b)
    for_each_tile(depth.box(b), axis, [&, view = depth.view(b)](const LineTile& tile) {
      const std::span<double> here = std::span(lines).first(tile.size());
      tile.load(view, here);
      transmitted_flux(here, factor, here);
      tile.store(here, view);
      sums.add_pixels(here);
      transform.forward(here, modes);
      for (std::size_t line = 0; line < static_cast<std::size_t>(tile.lines); ++line)
        sums.add_modes(std::span(modes).subspan(line * each + 1, each - 1));
    });
  return sums;
}

}  // namespace

FluxStatistics flux_statistics(const comm::Communicator& comm, mesh::Field<double>& depth, int axis, double factor,
                               std::int64_t bins) {
  FluxSums sums = sum_lines(depth, axis, factor, bins);
  core::ExactSum flux;
  sums.flux.add_to(flux);
  const mesh::Box& domain = depth.layout().domain();
  const auto all = static_cast<double>(domain.volume()), pixels = static_cast<double>(domain.extent()[axis]);
  FluxStatistics statistics{comm.sum(flux) / all, std::move(sums.counts), totals(comm, sums.power)};
  comm.sum(std::span(statistics.pixels));
  const double norm = (all / pixels) * (statistics.mean * pixels) * (statistics.mean * pixels);
  if (!(norm > 0.0))
    throw core::Error(
        "no light comes through the gas, so its flux has no relative fluctuation", "",
        "before reionisation none does: begin later, or ask for a `mean_flux`; else look at the unit of the "
        "density of the absorbers");
  for (double& power : statistics.power) power /= norm;
  return statistics;
}

}  // namespace sidestream::analysis
