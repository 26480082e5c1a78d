#include "sims/lbm/tiles.hpp"

#include <algorithm>
#include <vector>

namespace sidestream::sims {

namespace {

/// An axis in tiles of `thickness` cells, of which each of `parts` has some in a row.
struct Cut {
  std::int32_t cells = 1, thickness = 1, parts = 1;

  std::int32_t tiles() const { return (cells + thickness - 1) / thickness; }
  std::int32_t begin_of_tile(std::int32_t tile) const { return std::min(cells, tile * thickness); }
  std::int32_t first_tile(std::int32_t part) const {
    return static_cast<std::int32_t>(std::int64_t{part} * tiles() / parts);
  }
  std::int32_t begin_of_part(std::int32_t part) const { return begin_of_tile(first_tile(part)); }
  std::int32_t largest_part() const {
    std::int32_t most = 0;
    for (std::int32_t part = 0; part < parts; ++part)
      most = std::max(most, begin_of_part(part + 1) - begin_of_part(part));
    return most;
  }
};

// The parts along two axes that leave the largest box smallest, and of these the squarest boxes.
void choose_parts(Cut& first, Cut& second, int ranks) {
  std::int64_t least = -1, least_rim = 0;
  Cut best_first = first, best_second = second;
  for (int parts = 1; parts <= ranks; ++parts) {
    if (ranks % parts != 0) continue;
    first.parts = parts;
    second.parts = ranks / parts;
    const std::int64_t a = first.largest_part(), b = second.largest_part();
    if (least >= 0 && (a * b > least || (a * b == least && a + b >= least_rim))) continue;
    least = a * b;
    least_rim = a + b;
    best_first = first;
    best_second = second;
  }
  first = best_first;
  second = best_second;
}

}  // namespace

Tiles make_tiles(const mesh::Box& domain, const mesh::Periodicity& periodic, std::int32_t thickness,
                 bool are_rectangles, int ranks) {
  const mesh::Int3 n = domain.extent();
  const int last = n.z > 1 ? 2 : 1;
  std::array<Cut, 3> cuts;
  for (int axis = 0; axis < 3; ++axis) {
    const bool is_cut = axis == last || (are_rectangles && axis == last - 1);
    cuts[static_cast<std::size_t>(axis)] = {n[axis], is_cut ? thickness : n[axis], 1};
  }
  if (are_rectangles)
    choose_parts(cuts[static_cast<std::size_t>(last - 1)], cuts[static_cast<std::size_t>(last)], ranks);
  else
    cuts[static_cast<std::size_t>(last)].parts = ranks;
  std::vector<mesh::Box> tiles, boxes;
  std::vector<std::int32_t> tile_owners, box_owners;
  const auto& [x, y, z] = cuts;
  std::int32_t rank = 0;
  for (std::int32_t k = 0; k < z.parts; ++k)
    for (std::int32_t j = 0; j < y.parts; ++j)
      for (std::int32_t i = 0; i < x.parts; ++i, ++rank) {
        const mesh::Box box{{x.begin_of_part(i), y.begin_of_part(j), z.begin_of_part(k)},
                            {x.begin_of_part(i + 1), y.begin_of_part(j + 1), z.begin_of_part(k + 1)}};
        if (box.is_empty()) continue;
        boxes.push_back(box);
        box_owners.push_back(rank);
      }
  for (std::int32_t k = 0; k < z.tiles(); ++k)
    for (std::int32_t j = 0; j < y.tiles(); ++j)
      for (std::int32_t i = 0; i < x.tiles(); ++i) {
        const mesh::Box tile{{x.begin_of_tile(i), y.begin_of_tile(j), z.begin_of_tile(k)},
                             {x.begin_of_tile(i + 1), y.begin_of_tile(j + 1), z.begin_of_tile(k + 1)}};
        tiles.push_back(tile);
        const auto holder = std::ranges::find_if(boxes, [&](const mesh::Box& box) { return box.contains(tile.lo); });
        tile_owners.push_back(box_owners[static_cast<std::size_t>(holder - boxes.begin())]);
      }
  return {mesh::Layout(domain, periodic, std::move(tiles), std::move(tile_owners)),
          mesh::Layout(domain, periodic, std::move(boxes), std::move(box_owners))};
}

}  // namespace sidestream::sims
