#include "solvers/gravity/level_link.hpp"

#include <utility>
#include <vector>

#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/hierarchy.hpp"

namespace sidestream::solvers {

namespace {

using core::View4;
using mesh::Box;
using mesh::Field;
using mesh::Int3;
using mesh::Layout;

constexpr amr::RefinedAxes all_axes{true, true, true};

// The other of the two coarse cells between whose centres a fine cell lies lies below for even indices.
int toward(int fine_index) {
  return (fine_index & 1) != 0 ? 1 : -1;
}

// Calls store(k, j, i, value) for the cells `region` of component `c`. Row by row: first along z and y, then along x.
template <typename Store>
void interpolate_component(View4<const double> coarse, int c, const Box& region, Store store) {
  const int first = (region.lo.x >> 1) - 1, last = ((region.hi.x - 1) >> 1) + 1;
  std::vector<double> row(static_cast<std::size_t>(last - first + 1));
  core::for_each_row(region, [&](int k, int j) {
    const int z = k >> 1, y = j >> 1, up = toward(k), across = toward(j);
    for (int i = first; i <= last; ++i)
      row[static_cast<std::size_t>(i - first)] = 0.5625 * coarse(c, z, y, i) +
                                                 0.1875 * (coarse(c, z, y + across, i) + coarse(c, z + up, y, i)) +
                                                 0.0625 * coarse(c, z + up, y + across, i);
    for (int i = region.lo.x; i < region.hi.x; ++i) {
      const int at = (i >> 1) - first;
      store(k, j, i, 0.75 * row[static_cast<std::size_t>(at)] + 0.25 * row[static_cast<std::size_t>(at + toward(i))]);
    }
  });
}

// The average over the part of a coarse cell's side that a fine cell shares, for averages of a polynomial of second
// degree: `s` and `t` are the steps to the next coarse cells along the side, toward the fine cell.
double along_side(const double* at, std::ptrdiff_t s, std::ptrdiff_t t) {
  const double slopes = at[s] - at[-s] + at[t] - at[-t];
  const double twist = at[s + t] - at[s - t] - at[t - s] + at[-s - t];
  return *at + 0.125 * slopes + 0.015625 * twist;
}

}  // namespace

LevelLink::LevelLink(const comm::Communicator& comm, const Layout& coarse, const Layout& fine)
    : down_(comm, mesh::coarsened(fine), coarse),
      up_(comm, coarse, mesh::coarsened(fine), redistribute::Strategy::automatic, {.destination_ghost = 1}),
      averages_(mesh::coarsened(fine), comm.rank()),
      outlines_(averages_.layout(), comm.rank(), 1, 1) {}

void LevelLink::average_down(const Field<double>& fine, Field<double>& coarse) {
  for (int b = 0; b < fine.blocks(); ++b) amr::average(fine.view(b), averages_.view(b), averages_.box(b), all_axes);
  down_.apply(averages_, coarse);
}

void LevelLink::add_interpolated(const Field<double>& coarse, Field<double>& fine) {
  up_.apply(coarse, outlines_);
  for (int b = 0; b < fine.blocks(); ++b) {
    const auto view = fine.view(b);
    interpolate_component(std::as_const(outlines_).view(b), 0, fine.box(b),
                          [=](int k, int j, int i, double value) { view(k, j, i) += value; });
  }
}

void LevelLink::set_sides(const Field<double>& coarse, LevelPoisson& fine) {
  up_.apply(coarse, outlines_);
  for (const OpenSide& side : fine.open_sides()) {
    const auto outline = std::as_const(outlines_).view(side.block);
    const std::array<std::ptrdiff_t, 3> stride{1, outline.stride_y(), outline.stride_z()};
    const auto s = static_cast<std::size_t>((side.axis + 1) % 3), t = static_cast<std::size_t>((side.axis + 2) % 3);
    auto value = fine.values(side).begin();
    core::for_each_cell(side.ghosts, [&](int k, int j, int i) {
      const std::array<int, 3> cell{i, j, k};
      *value++ =
          0.5 * along_side(&outline(k >> 1, j >> 1, i >> 1), toward(cell[s]) * stride[s], toward(cell[t]) * stride[t]);
    });
  }
}

void LevelLink::set_sides(const Field<double>& older, const Field<double>& newer, double weight, LevelPoisson& fine) {
  set_sides(older, fine);
  const std::vector<double> old(fine.values().begin(), fine.values().end());
  set_sides(newer, fine);
  const auto values = fine.values();
  for (std::size_t n = 0; n < old.size(); ++n) values[n] = (1.0 - weight) * old[n] + weight * values[n];
}

void interpolate_linear(View4<const double> coarse, View4<double> fine, const Box& region, amr::RefinedAxes) {
  for (int c = 0; c < fine.components(); ++c)
    interpolate_component(coarse, c, region, [=](int k, int j, int i, double value) { fine(c, k, j, i) = value; });
}

}  // namespace sidestream::solvers
