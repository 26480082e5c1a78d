#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "sidestream/core/compact_sum.hpp"
#include "sidestream/core/input_file.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/random.hpp"
#include "solvers/spectral/initial_flows.hpp"

namespace sidestream::solvers {

namespace {

using WaveVector = std::array<std::complex<double>, 3>;

constexpr std::uint64_t flow_stream = 0x464c4f57;  // of random numbers, none of which serves anything else

// Normal deviates of a wave, whatever the grid, across it; the conjugate for its opposite.
WaveVector amplitude(const WaveGrid& grid, mesh::Int3 wave, std::uint64_t seed) {
  const bool is_later = wave.x == 0 && (wave.z < 0 || (wave.z == 0 && wave.y < 0));
  const mesh::Int3 own = is_later ? mesh::Int3{0, -wave.y, -wave.z} : wave;
  const auto bits = [](std::int32_t i) { return static_cast<std::uint64_t>(i) & 0xfffff; };
  const std::uint64_t index = (((bits(own.z) << 20) | bits(own.y)) << 20 | bits(own.x)) * 8;
  WaveVector a;
  for (std::size_t c = 0; c < 3; ++c)
    a[c] = {core::normal(seed, flow_stream, index + 2 * c), core::normal(seed, flow_stream, index + 2 * c + 1)};
  const auto k = grid.wavenumber(own);
  const std::complex<double> along =
      (k[0] * a[0] + k[1] * a[1] + k[2] * a[2]) / (k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
  for (std::size_t c = 0; c < 3; ++c) a[c] -= k[c] * along;
  if (is_later)
    for (auto& component : a) component = std::conj(component);
  return a;
}

struct SpectrumLine {
  double wavenumber, energy;
};

std::vector<SpectrumLine> read_lines(const std::string& path) {
  std::istringstream file(
      core::read_input_file(path, {.noun = "the table of the spectrum", .hint = "see the key `initial.table`"}));
  std::vector<SpectrumLine> lines;
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream words(text);
    SpectrumLine line{};
    if (!(words >> line.wavenumber >> line.energy) || !(line.energy >= 0.0) ||
        (!lines.empty() && !(line.wavenumber > lines.back().wavenumber)))
      throw core::Error("a line of a spectrum is a wavenumber above that of the line before, and an energy",
                        fmt::format("{}:{}", path, number), "lines that begin with # are left out");
    lines.push_back(line);
  }
  if (lines.empty())
    throw core::Error("the table of the spectrum is empty", path, "give a row a wave number: k and E(k)");
  return lines;
}

// Linear between lines, nothing beyond them.
double interpolated(const std::vector<SpectrumLine>& lines, double k) {
  const auto above = std::ranges::lower_bound(lines, k, {}, &SpectrumLine::wavenumber);
  if (above == lines.end()) return 0.0;
  if (above->wavenumber == k) return above->energy;
  if (above == lines.begin()) return 0.0;
  const SpectrumLine& below = *(above - 1);
  return below.energy +
         (above->energy - below.energy) * (k - below.wavenumber) / (above->wavenumber - below.wavenumber);
}

// Calls `f(wave, shell, view index...)` for each mode of the flow that is kept and no mean.
template <typename Real, typename F>
void for_each_wave(IncompressibleFlow<Real>& flow, F f) {
  const WaveGrid& grid = flow.grid();
  const double unit = grid.longest_fundamental();
  Spectrum<Real>& state = flow.state();
  for (int b = 0; b < state.blocks(); ++b)
    fft::for_each_mode(state.box(b), flow.waves(), [&, u = state.view(b)](const fft::Mode& mode) {
      if (!grid.keeps(mode.wavenumber) || mode.wavenumber == mesh::Int3{}) return;
      const auto k = grid.wavenumber(mode.wavenumber);
      const double size = std::sqrt(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
      f(mode, static_cast<std::size_t>(std::lround(size / unit)), u);
    });
}

}  // namespace

std::vector<double> shell_energies(const InitialFlowConfig& config, const WaveGrid& grid) {
  const mesh::Int3 most = grid.highest();
  const double unit = grid.longest_fundamental();
  const auto k = grid.wavenumber(most);
  const auto shells = static_cast<std::size_t>(std::lround(core::hypot(core::hypot(k[0], k[1]), k[2]) / unit)) + 1;
  std::vector<double> energies(shells, 0.0);
  if (!config.table.empty()) {
    const std::vector<SpectrumLine> lines = read_lines(config.table);
    for (std::size_t n = 1; n < shells; ++n) energies[n] = unit * interpolated(lines, unit * static_cast<double>(n));
    return energies;
  }
  core::ExactSum sum;
  for (std::size_t n = 1; n < shells; ++n) {
    const double ratio = static_cast<double>(n) / config.peak;
    energies[n] = ratio * ratio * ratio * ratio * core::exp(-2.0 * ratio * ratio);
    sum.add(energies[n]);
  }
  for (double& energy : energies) energy *= 1.5 * config.speed * config.speed / sum.value();
  return energies;
}

// Each shell is scaled to its energy. (As Rogallo 1981, section 5, whose shells have it in the mean of realisations.)
template <typename Real>
void set_random_flow(const InitialFlowConfig& config, std::uint64_t seed, const comm::Communicator& comm,
                     IncompressibleFlow<Real>& flow) {
  const std::vector<double> wanted = shell_energies(config, flow.grid());
  std::ranges::fill(flow.state().all(), Wave<Real>{});
  std::vector<core::CompactSum> squares(wanted.size());
  for_each_wave(flow, [&](const fft::Mode& mode, std::size_t shell, const core::View4<Wave<Real>>& u) {
    const WaveVector a = amplitude(flow.grid(), mode.wavenumber, seed);
    for (int c = 0; c < 3; ++c) {
      const std::complex<double> value = a[static_cast<std::size_t>(c)];
      u(c, mode.index.z, mode.index.y, mode.index.x) = Wave<Real>(value);
      squares[shell].add(mode.weight * std::norm(value));
    }
  });
  std::vector<core::ExactSum> sums(squares.size());
  for (std::size_t n = 0; n < sums.size(); ++n) squares[n].add_to(sums[n]);
  comm.sum(std::span(sums));
  std::vector<double> factors;
  for (std::size_t n = 0; n < sums.size(); ++n)
    factors.push_back(sums[n].value() > 0.0 ? std::sqrt(2.0 * wanted[n] / sums[n].value()) : 0.0);
  for_each_wave(flow, [&](const fft::Mode& mode, std::size_t shell, const core::View4<Wave<Real>>& u) {
    for (int c = 0; c < 3; ++c) {
      Wave<Real>& value = u(c, mode.index.z, mode.index.y, mode.index.x);
      value = Wave<Real>(factors[shell] * Wave<double>(value));
    }
  });
}

template void set_random_flow<float>(const InitialFlowConfig&, std::uint64_t, const comm::Communicator&,
                                     IncompressibleFlow<float>&);
template void set_random_flow<double>(const InitialFlowConfig&, std::uint64_t, const comm::Communicator&,
                                      IncompressibleFlow<double>&);

}  // namespace sidestream::solvers
