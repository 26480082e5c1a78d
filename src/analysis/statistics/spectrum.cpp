#include "analysis/statistics/spectrum.hpp"

#include <cmath>
#include <memory>
#include <numbers>

#include "analysis/statistics/angular_power.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/fft/modes.hpp"

namespace sidestream::analysis {

namespace {

using std::numbers::pi;

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

bool has_negative_cells(const LeafField& field) {
  bool found = false;
  for (const ScalarView& level : field)
    for (int b = 0; b < level.blocks(); ++b)
      core::for_each_cell(level.box(b), [&, view = level.view(b)](int k, int j, int i) { found |= view(k, j, i) < 0; });
  return found;
}

ScalarView magnitudes_of(const ScalarView& field) {
  auto all = std::make_shared<mesh::Field<double>>(field.layout(), field.rank());
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [to = all->view(b), from = field.view(b)](int k, int j, int i) {
      to(k, j, i) = std::abs(from(k, j, i));
    });
  return all;
}

}  // namespace

Spectrum transform(const comm::Communicator& comm, const fft::FftPlan<double>& plan, const ScalarView& field) {
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

double positive_mean(const comm::Communicator& comm, const LeafField& field, const std::string& name) {
  const double average = mean(comm, field, name);
  if (!(average > 0))
    throw core::Error("the mean of the field `" + name + "` is not positive, so it has no relative fluctuation", "",
                      "take a quantity whose mean is positive: `sidestream list quantities`");
  if (comm.all(!has_negative_cells(field))) return average;
  LeafField magnitudes;
  for (const ScalarView& level : field) magnitudes.push_back(magnitudes_of(level));
  constexpr double least_share = 1e-3;
  if (average < least_share * mean(comm, magnitudes, name))
    throw core::Error("the field `" + name +
                          "` has values of both signs and a mean near zero, so its fluctuation "
                          "relative to the mean tells nothing",
                      "", "take a density");
  return average;
}

Spectrum density_spectrum(const comm::Communicator& comm, const fft::FftPlan<double>& plan, const CoveringGrid& grid,
                          const mesh::Snapshot& snapshot, const std::string& name) {
  constexpr const char *gas = "gas_density", *dark = "dark_matter_density";
  const LeafField field = field_or_total(snapshot, name);
  if (name == "total_density" && !has_own_total(snapshot) && snapshot.has(dark)) {
    Spectrum total = density_spectrum(comm, plan, grid, snapshot, dark);
    if (snapshot.has(gas)) add_to(total, density_spectrum(comm, plan, grid, snapshot, gas));
    return total;
  }
  Spectrum spectrum = transform(comm, plan, grid.of(comm, field));
  if (name == dark) divide_by_cic_window(spectrum, plan.cells());
  return spectrum;
}

void add_to(Spectrum& a, const Spectrum& b) {
  const auto to = a.all();
  const auto from = b.all();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

PowerSpectrum power_spectrum(const comm::Communicator& comm, const ScalarView& field, const mesh::Geometry& geometry,
                             const ShellOptions& shells, bool deconvolve) {
  const double average = mean(comm, field, "density");
  if (!(average > 0))
    throw core::Error("the mean of the field is not positive, so it has no relative fluctuation", "",
                      "take a field whose mean is positive");
  Spectrum spectrum = transform(comm, fft::FftPlan<double>(comm, field.layout()), field);
  if (deconvolve) divide_by_cic_window(spectrum, geometry.domain.extent());
  const std::vector<RelativeField> fields{{spectrum, average}};
  const std::vector<FieldPair> itself{{0, 0}};
  AngularPower power = std::move(angular_powers(comm, fields, itself, geometry, shells, 0, 1).front());
  return {std::move(power.shell_k), std::move(power.monopole), std::move(power.shell_modes)};
}

}  // namespace sidestream::analysis
