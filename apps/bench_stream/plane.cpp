#include "plane.hpp"

#include <utility>
#include <vector>

namespace sidestream::apps {

namespace {

double value_at(mesh::Int3 cell) {
  return static_cast<double>(cell.y) * 1e5 + cell.x;
}

}  // namespace

mesh::Layout Plane::slices(int ranks) const {
  const mesh::Box domain = mesh::domain_of({width, height, 1});
  const mesh::Layout pieces = mesh::split(domain, {blocks, ranks, 1}, {false, false, false});
  std::vector<std::int32_t> owners;
  for (std::int32_t b = 0; b < pieces.size(); ++b) owners.push_back(b / blocks);
  return {domain, pieces.periodic(), {pieces.boxes().begin(), pieces.boxes().end()}, std::move(owners)};
}

void set_numbers(const mesh::Box& box, const core::View4<double>& view) {
  for (std::int32_t y = box.lo.y; y < box.hi.y; ++y)
    for (std::int32_t x = box.lo.x; x < box.hi.x; ++x) view(0, y, x) = value_at({x, y, 0});
}

bool are_right(std::int64_t step, const mesh::Box& box, const core::View4<const double>& view) {
  const std::int32_t stride = step == 0 ? 1 : 61;
  for (std::int32_t y = box.lo.y; y < box.hi.y; y += stride)
    for (std::int32_t x = box.lo.x; x < box.hi.x; x += stride)
      if (const double more = view(0, y, x) - value_at({x, y, 0});
          more != 0.0 && more != static_cast<double>(step) + 1.0)
        return false;
  return true;
}

bool are_right(const mesh::Snapshot& snapshot) {
  const mesh::FieldView<const double> cells = snapshot.field("cells");
  for (int b = 0; b < cells.blocks(); ++b)
    if (!are_right(snapshot.moment.step, cells.box(b), cells.view(b))) return false;
  return true;
}

}  // namespace sidestream::apps
