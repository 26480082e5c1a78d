#include "sims/lbm/barriers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numbers>

namespace sidestream::sims {

namespace {

constexpr const char* picture_name = "picture";

std::array<double, 3> middle_of(mesh::Int3 cell) {
  return {cell.x + 0.5, cell.y + 0.5, cell.z + 0.5};
}

double distance_squared(const std::array<double, 3>& at, const std::vector<double>& center) {
  double sum = 0.0;
  for (std::size_t axis = 0; axis < center.size(); ++axis) {
    const double by = at[axis] - center[axis];
    sum += by * by;
  }
  return sum;
}

// From the piece of a line between two places.
double distance_squared(const std::array<double, 3>& at, const std::vector<double>& from,
                        const std::vector<double>& to) {
  double along = 0.0, length = 0.0, sum = 0.0;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    along += (at[axis] - from[axis]) * (to[axis] - from[axis]);
    length += (to[axis] - from[axis]) * (to[axis] - from[axis]);
  }
  const double share = length > 0.0 ? std::clamp(along / length, 0.0, 1.0) : 0.0;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const double by = at[axis] - (from[axis] + share * (to[axis] - from[axis]));
    sum += by * by;
  }
  return sum;
}

/// What a shape takes, with how many numbers in space and in a plane.
struct Shape {
  const char* name;
  std::vector<std::string> keys;
  std::size_t in_space, in_plane;  // 0: there is none
};
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all{{"cylinder", {"center", "radius"}, 2, 2},
                                      {"sphere", {"center", "radius"}, 3, 0},
                                      {"box", {"from", "to"}, 3, 2},
                                      {"line", {"from", "to", "width"}, 3, 2}};
  return all;
}

// A table with its defaults filled in is read again: what a shape has not may be there as it is by default.
void check_keys(const core::Node& node, const Barrier& barrier, const Shape& shape) {
  const Barrier usual;
  const std::array keys{std::pair{"center", !barrier.center.empty()}, std::pair{"radius", barrier.radius.has_value()},
                        std::pair{"from", !barrier.from.empty()}, std::pair{"to", !barrier.to.empty()},
                        std::pair{"width", barrier.width != usual.width}};
  for (const auto& [key, is_set] : keys) {
    const bool is_used = std::ranges::find(shape.keys, key) != shape.keys.end();
    if (is_set && !is_used)
      core::reject(*node.find(key), fmt::format("a {} has no `{}`", shape.name, key), "leave it out");
    if (!is_set && is_used && std::string(key) != "width")
      core::reject(node, fmt::format("a {} needs the key `{}`", shape.name, key),
                   "places and lengths are in cells; the middle of the first cell lies at 0.5");
  }
}

void check_places(const core::Node& node, const Barrier& barrier, const Shape& shape, const mesh::Box& domain) {
  const bool is_plane = domain.extent().z == 1;
  const std::size_t numbers = is_plane ? shape.in_plane : shape.in_space;
  if (numbers == 0)
    core::reject(node, fmt::format("there is no {} in a plane", shape.name), "a \"cylinder\" stands across the plane");
  for (const auto& [key, place] : {std::pair{"center", &barrier.center}, {"from", &barrier.from}, {"to", &barrier.to}})
    if (const core::Node* const given = node.find(key); given != nullptr && !place->empty() && place->size() != numbers)
      core::reject(*given, fmt::format("`{}` of a {} has {} numbers", key, shape.name, place->size()),
                   fmt::format("give {}", numbers == 2 ? "two, along x and y" : "three, along x, y and z"));
}

bool has_cells(const Barrier& barrier, const mesh::Box& domain) {
  for (int k = domain.lo.z; k < domain.hi.z; ++k)
    for (int j = domain.lo.y; j < domain.hi.y; ++j)
      for (int i = domain.lo.x; i < domain.hi.x; ++i)
        if (barrier.holds({i, j, k})) return true;
  return false;
}

}  // namespace

bool Barrier::holds(mesh::Int3 cell) const {
  const std::array<double, 3> at = middle_of(cell);
  if (shape == picture_name) return picture.is_dark(cell.x, cell.y);
  if (shape == "line") return distance_squared(at, from, to) <= 0.25 * width * width;
  if (shape != "box") return distance_squared(at, center) < *radius * *radius;
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    if (at[axis] < std::min(from[axis], to[axis]) || at[axis] > std::max(from[axis], to[axis])) return false;
  return true;
}

double Barrier::height() const {
  if (length) return *length;
  if (shape == picture_name) return picture.dark_rows();
  if (shape == "line") return std::fabs(to[1] - from[1]) + width;
  return shape == "box" ? std::fabs(to[1] - from[1]) : 2.0 * *radius;
}

double Barrier::area(std::int32_t depth) const {
  const double high = height();
  if (shape == "sphere") return 0.25 * std::numbers::pi * high * high;
  if (depth > 1 && from.size() == 3) return high * (std::fabs(to[2] - from[2]) + (shape == "line" ? width : 0.0));
  return high * depth;
}

core::Table<Barrier> barrier_table() {
  core::Table<Barrier> table("Cells that a flow goes around");
  std::vector<std::string> names;
  for (const Shape& shape : shapes()) names.emplace_back(shape.name);
  table.option("shape", &Barrier::shape, "cylinder").one_of(names).required().doc("of its cells");
  table.option("center", &Barrier::center, {}).range(-1e6, 1e6).doc("of a cylinder (x, y) or a sphere, in cells");
  table.option("radius", &Barrier::radius, std::nullopt).range(1e-6, 1e6).doc("of these, in cells");
  table.option("from", &Barrier::from, {}).range(-1e6, 1e6).doc("a corner of a box, or where a line begins, in cells");
  table.option("to", &Barrier::to, {}).range(-1e6, 1e6).doc("the opposite corner, or where it ends");
  table.option("width", &Barrier::width, 1.0).range(1e-6, 1e6).doc("of a line, in cells");
  table.option("length", &Barrier::length, std::nullopt)
      .range(1e-6, 1e6)
      .doc("across the flow, of which coefficients of forces are made; that of the shape without it");
  return table;
}

std::vector<Barrier> read_barriers(const core::Node& root, const std::string& path, const core::Node* picture,
                                   const mesh::Box& domain, core::Node& resolved) {
  std::vector<Barrier> barriers;
  if (const core::Node* const tables = root.find("barrier")) {
    core::Node all(core::Node::Members{});
    for (const auto& [name, node] : tables->members()) {
      core::Node part;
      Barrier barrier = barrier_table().read(node, &part);
      barrier.name = name;
      if (name == picture_name || name == painted_name ||
          !std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }))
        core::reject(node, fmt::format("a barrier cannot be called `{}`", name),
                     "use letters, digits and `_`; `picture` and `painted` are taken");
      const Shape& shape =
          *std::ranges::find(shapes(), barrier.shape, [](const Shape& one) { return std::string(one.name); });
      check_keys(node, barrier, shape);
      check_places(node, barrier, shape, domain);
      if (!has_cells(barrier, domain))
        core::reject(node, fmt::format("the barrier `{}` has no cell in the domain {}", name, to_string(domain)),
                     "places and lengths are in cells; the middle of the first cell lies at 0.5");
      barriers.push_back(std::move(barrier));
      all.set(name, part);
    }
    resolved.set("barrier", all);
  }
  if (picture == nullptr || path.empty()) return barriers;
  Barrier drawn;
  drawn.name = drawn.shape = picture_name;
  drawn.picture = read_picture(path, *picture, domain.extent().x, domain.extent().y);
  if (drawn.picture.dark_rows() == 0)
    core::reject(*picture, "nothing in the picture of barriers is dark",
                 "what is darker than half of white, and not transparent, is solid");
  barriers.push_back(std::move(drawn));
  return barriers;
}

std::int32_t barrier_at(const std::vector<Barrier>& barriers, mesh::Int3 cell) {
  for (std::size_t n = 0; n < barriers.size(); ++n)
    if (barriers[n].holds(cell)) return static_cast<std::int32_t>(n + 1);
  return 0;
}

}  // namespace sidestream::sims
