#include "sidestream/solvers/spectral/mode_transfer.hpp"

#include <algorithm>
#include <array>
#include <ranges>

#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::solvers {

namespace {

using mesh::Box;
using mesh::Int3;
using mesh::Layout;

// The highest wave of which both signs are stored.
std::int32_t highest(std::int32_t waves) {
  return (waves - 1) / 2;
}

// Part of a box of modes, and where it lies when waves are counted from the most negative one on.
struct Piece {
  Box modes;
  Int3 shift;
};

// `most`: the highest waves along y and z of all spectra that take part.
std::vector<Piece> pieces_of(const Box& box, Int3 waves, Int3 most) {
  struct Range {
    std::int32_t lo, hi, shift;
  };
  const auto ranges = [&](int axis) {
    const std::int32_t n = waves[axis], high = highest(n);
    return std::array{Range{0, high + 1, most[axis]}, Range{n - high, n, most[axis] - n}};
  };
  std::vector<Piece> pieces;
  for (const Range& y : ranges(1))
    for (const Range& z : ranges(2)) {
      const Box part = intersection(box, {{0, y.lo, z.lo}, {highest(waves.x) + 1, y.hi, z.hi}});
      if (!part.is_empty()) pieces.push_back({part, {0, y.shift, z.shift}});
    }
  return pieces;
}

// A layout of modes, and the memory of a field on it, counted so.
template <typename Field, typename T>
mesh::FieldView<T> by_wave(Field& field, Int3 waves, Int3 most, const Box& domain) {
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  std::vector<core::View4<T>> views;
  const Layout& layout = field.layout();
  int block = 0;
  for (std::int32_t n = 0; n < layout.size(); ++n) {
    const bool is_own = layout.owner(n) == field.rank();
    for (const Piece& piece : pieces_of(layout.box(n), waves, most)) {
      boxes.push_back(piece.modes.shifted(piece.shift));
      owners.push_back(layout.owner(n));
      if (!is_own) continue;
      const auto view = field.view(block);
      views.emplace_back(view.origin() - piece.shift.y * view.stride_y() - piece.shift.z * view.stride_z(),
                         view.stride_y(), view.stride_z(), view.stride_component(), view.components());
    }
    if (is_own) ++block;
  }
  return {Layout(domain, {false, false, false}, std::move(boxes), std::move(owners)), field.rank(), views, nullptr};
}

}  // namespace

template <typename Real>
void transfer_modes(const comm::Communicator& comm, const Spectrum<Real>& from, Int3 from_waves, Spectrum<Real>& to,
                    Int3 to_waves) {
  using Complex = std::complex<Real>;
  core::require(from.components() == to.components(), "modes are moved between fields of as many components");
  Int3 most;
  for (int axis = 0; axis < 3; ++axis) most[axis] = std::max(highest(from_waves[axis]), highest(to_waves[axis]));
  const Box domain{{0, 0, 0}, {most.x + 1, 2 * most.y + 1, 2 * most.z + 1}};
  const auto source = by_wave<const Spectrum<Real>, const Complex>(from, from_waves, most, domain);
  const auto destination = by_wave<Spectrum<Real>, Complex>(to, to_waves, most, domain);
  std::ranges::fill(to.all(), Complex{});
  redistribute::Redistribution(comm, source.layout(), destination.layout()).apply(source, destination);
}
template void transfer_modes<float>(const comm::Communicator&, const Spectrum<float>&, Int3, Spectrum<float>&, Int3);
template void transfer_modes<double>(const comm::Communicator&, const Spectrum<double>&, Int3, Spectrum<double>&, Int3);

Layout mode_planes(Int3 waves, int ranks) {
  std::vector<Box> boxes;
  const Int3 n{waves.x / 2 + 1, waves.y, waves.z};
  for (std::int32_t z = 0; z < n.z; ++z) boxes.push_back({{0, 0, z}, {n.x, n.y, z + 1}});
  std::vector<std::int32_t> owners;
  for (std::size_t b = 0; b < boxes.size(); ++b)
    owners.push_back(static_cast<std::int32_t>(b * static_cast<std::size_t>(ranks) / boxes.size()));
  return {mesh::domain_of(n), {false, false, false}, std::move(boxes), std::move(owners)};
}

}  // namespace sidestream::solvers
