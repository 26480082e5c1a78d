#include "analysis/lyman_alpha/line_sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/at.hpp"
#include "analysis/fields/levels.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/random.hpp"

namespace sidestream::analysis {

namespace {

mesh::Int3 plane_across(mesh::Int3 cells, int axis) {
  cells[axis] = 1;
  return cells;
}

LineSample lines_at(const mesh::Int3& plane, int axis, const auto& indices) {
  LineSample sample{axis, {}};
  for (const std::int64_t index : indices) sample.lines.push_back(cell_at(mesh::domain_of(plane), index));
  return sample;
}

// Periodic images next to the box are its own; a point beyond them is in other units.
void refuse_far(const Point& point, const mesh::Geometry& geometry) {
  for (std::size_t a = 0; a < point.size(); ++a)
    if (point[a] < -geometry.length[a] || point[a] > 2.0 * geometry.length[a])
      throw core::Error(
          fmt::format("the position ({:g}, {:g}, {:g}) is more than a box outside the box of {:g} x {:g} "
                      "x {:g} Mpc",
                      point[0], point[1], point[2], geometry.length[0], geometry.length[1], geometry.length[2]),
          "positions", "positions are in comoving Mpc, not Mpc/h or kpc");
}

}  // namespace

mesh::Layout LineSample::layout(const mesh::Layout& grid, int ranks) const {
  std::vector<mesh::Box> boxes;
  std::vector<std::int32_t> owners;
  const auto number = static_cast<std::int64_t>(lines.size());
  for (std::int64_t n = 0; n < number; ++n) {
    mesh::Box box{lines[at(n)], lines[at(n)] + mesh::Int3{1, 1, 1}};
    box.hi[axis] = grid.domain().hi[axis];
    boxes.push_back(box);
    owners.push_back(static_cast<std::int32_t>(n * ranks / number));
  }
  return {grid.domain(), grid.periodic(), std::move(boxes), std::move(owners), grid.level()};
}

LineSample regular_lines(mesh::Int3 cells, int axis, std::int64_t number) {
  const mesh::Int3 plane = plane_across(cells, axis);
  const auto side = static_cast<std::int32_t>(std::sqrt(static_cast<double>(number)));
  LineSample sample{axis, {}};
  const auto count = [&](int a) { return std::min(side, plane[a]); };
  const auto place = [&](int a, std::int32_t n) {
    return static_cast<std::int32_t>((2 * std::int64_t{n} + 1) * plane[a] / (2 * std::int64_t{count(a)}));
  };
  for (std::int32_t k = 0; k < count(2); ++k)
    for (std::int32_t j = 0; j < count(1); ++j)
      for (std::int32_t i = 0; i < count(0); ++i) sample.lines.push_back({place(0, i), place(1, j), place(2, k)});
  return sample;
}

LineSample random_lines(mesh::Int3 cells, int axis, std::int64_t number, std::int64_t seed) {
  constexpr std::uint64_t stream = 0x666c7578;
  const mesh::Int3 plane = plane_across(cells, axis);
  const std::int64_t all = plane.product();
  std::set<std::int64_t> chosen;
  for (std::uint64_t draw = 0; static_cast<std::int64_t>(chosen.size()) < std::min(number, all); ++draw)
    chosen.insert(static_cast<std::int64_t>(core::uniform(static_cast<std::uint64_t>(seed), stream, draw) *
                                            static_cast<double>(all)));
  return lines_at(plane, axis, chosen);
}

LinesThroughPoints lines_through(const std::vector<Point>& points, const mesh::Geometry& geometry, int axis) {
  const mesh::Int3 cells = geometry.domain.extent(), plane = plane_across(cells, axis);
  std::vector<std::int64_t> indices;
  for (const Point& point : points) {
    refuse_far(point, geometry);
    mesh::Int3 cell;
    for (int a = 0; a < 3; ++a) {
      const double inside = mesh::wrapped_coordinate(point[at(a)], geometry.length[at(a)]);
      cell[a] = std::min(static_cast<std::int32_t>(inside / geometry.cell_size(a)), cells[a] - 1);
    }
    cell[axis] = 0;
    indices.push_back(linear_index(mesh::domain_of(plane), cell));
  }
  std::vector<std::int64_t> different = indices;
  std::ranges::sort(different);
  different.erase(std::unique(different.begin(), different.end()), different.end());
  LinesThroughPoints found{lines_at(plane, axis, different), {}};
  for (const std::int64_t index : indices)
    found.line_of_point.push_back(std::ranges::lower_bound(different, index) - different.begin());
  return found;
}

}  // namespace sidestream::analysis
