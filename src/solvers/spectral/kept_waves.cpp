#include "sidestream/solvers/spectral/kept_waves.hpp"

#include <algorithm>
#include <cmath>

#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/solvers/spectral/mode_transfer.hpp"

namespace sidestream::solvers {

namespace {

using mesh::Box;
using mesh::Layout;

// The boxes that cells `begin` to `end` of rows of length `row` are, in their order.
void append_boxes(std::int64_t begin, std::int64_t end, std::int32_t row, std::vector<Box>& boxes) {
  while (begin < end) {
    const auto x = static_cast<std::int32_t>(begin % row), y = static_cast<std::int32_t>(begin / row);
    const std::int64_t whole = x == 0 ? (end - begin) / row : 0;
    const std::int32_t last = whole > 0 ? row : static_cast<std::int32_t>(std::min<std::int64_t>(row, x + end - begin));
    const std::int32_t count = whole > 0 ? static_cast<std::int32_t>(whole) : 1;
    boxes.push_back({{x, y, 0}, {last, y + count, 1}});
    begin += static_cast<std::int64_t>(last - x) * count;
  }
}

}  // namespace

// The kept part of each row of a plane: `f(y, waves, place among all waves)`.
template <typename F>
void KeptWaves::for_each_piece(int plane, F f) const {
  const mesh::Int3 n = grid_.waves();
  std::int64_t place = starts_[static_cast<std::size_t>(plane)];
  for (int y = 0; y < n.y; ++y) {
    const int kept = grid_.kept_along_x(fft::wavenumber(y, n.y), fft::wavenumber(plane, n.z));
    f(y, kept, place);
    place += kept;
  }
}

KeptWaves::KeptWaves(const WaveGrid& grid) : grid_(grid), starts_{0} {
  const std::int32_t planes = grid.waves().z;
  for (std::int32_t z = 0; z < planes; ++z) {
    std::int64_t waves = 0;
    for_each_piece(z, [&](int, int kept, std::int64_t) { waves += kept; });
    starts_.push_back(starts_.back() + waves);
  }
  row_ = static_cast<std::int32_t>((size() + planes - 1) / planes);
}

Layout KeptWaves::rows(int ranks) const {
  const std::int32_t count = grid_.waves().z;
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t y = 0; y < count; ++y) {
    boxes.push_back({{0, y, 0}, {row_, y + 1, 1}});
    owners.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(y) * ranks / count));
  }
  return {mesh::domain_of({row_, count, 1}), {false, false, false}, std::move(boxes), std::move(owners)};
}

// The waves of the planes of each rank: its blocks, one behind the other, are these in their order.
Layout KeptWaves::line(int ranks) const {
  const Layout planes = mode_planes(grid_.waves(), ranks);
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t z = 0; z < planes.size(); ++z) {
    append_boxes(starts_[static_cast<std::size_t>(z)], starts_[static_cast<std::size_t>(z) + 1], row_, boxes);
    owners.resize(boxes.size(), planes.owner(z));
  }
  return {mesh::domain_of({row_, grid_.waves().z, 1}), {false, false, false}, std::move(boxes), std::move(owners)};
}

template <typename Real>
Spectrum<Real> KeptWaves::in_rows(const comm::Communicator& comm, const Spectrum<Real>& planes) const {
  Spectrum<Real> line(this->line(comm.size()), comm.rank()), rows(this->rows(comm.size()), comm.rank());
  auto to = line.all().begin();
  for (int b = 0; b < planes.blocks(); ++b) {
    const std::int32_t z = planes.box(b).lo.z;
    for_each_piece(z, [&](int y, int kept, std::int64_t) {
      if (kept > 0) to = std::copy_n(&planes.view(b)(z, y, 0), kept, to);
    });
  }
  redistribute::Redistribution(comm, line.layout(), rows.layout()).apply(line, rows);
  return rows;
}

template <typename Real>
void KeptWaves::in_planes(const comm::Communicator& comm, const Spectrum<Real>& rows, Spectrum<Real>& planes,
                          int component) const {
  Spectrum<Real> line(this->line(comm.size()), comm.rank());
  redistribute::Redistribution(comm, rows.layout(), line.layout()).apply(rows, line);
  auto from = line.all().begin();
  for (int b = 0; b < planes.blocks(); ++b) {
    const std::int32_t z = planes.box(b).lo.z;
    for_each_piece(z, [&](int y, int kept, std::int64_t) {
      if (kept > 0) std::copy_n(from, kept, &planes.view(b)(component, z, y, 0));
      from += kept;
    });
  }
}

template Spectrum<float> KeptWaves::in_rows(const comm::Communicator&, const Spectrum<float>&) const;
template void KeptWaves::in_planes(const comm::Communicator&, const Spectrum<float>&, Spectrum<float>&, int) const;
template Spectrum<double> KeptWaves::in_rows(const comm::Communicator&, const Spectrum<double>&) const;
template void KeptWaves::in_planes(const comm::Communicator&, const Spectrum<double>&, Spectrum<double>&, int) const;

int dependent_axis(const std::array<double, 3>& wave) {
  std::size_t axis = 2;
  for (const std::size_t other : {std::size_t{1}, std::size_t{0}})
    if (std::fabs(wave[other]) > std::fabs(wave[axis])) axis = other;
  return static_cast<int>(axis);
}

std::complex<double> dependent_component(const std::array<double, 3>& wave,
                                         const std::array<std::complex<double>, 3>& u) {
  const auto axis = static_cast<std::size_t>(dependent_axis(wave));
  if (wave[axis] == 0.0) return 0.0;
  const std::size_t next = (axis + 1) % 3, last = (axis + 2) % 3;
  return -(wave[next] / wave[axis] * u[next] + wave[last] / wave[axis] * u[last]);
}

}  // namespace sidestream::solvers
