#include "redistribute/mapping/chunk_layouts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include "sidestream/core/error.hpp"

namespace sidestream::redistribute {

namespace {

using mesh::Box;
using mesh::Int3;
using mesh::Layout;

constexpr const char* axes_hint = "boxes are [first cell, end) along x, y, z";
constexpr std::int32_t most_cells = (std::int32_t{1} << 30) - 1;  // so that differences of indices are indices
constexpr double most_of_all = 4e18;                              // whose number is an index of 64 bits
constexpr std::int64_t most_parts = 1 << 20;

Box whole_of(const DataDescription& description) {
  return mesh::domain_of(description.cells);
}

std::string text_of(Int3 cells) {
  return fmt::format("{} x {} x {}", cells.x, cells.y, cells.z);
}

// The number of a box among those of its owner.
std::int32_t number_of(const Layout& layout, std::int32_t index) {
  return index - layout.boxes_of(layout.owner(index)).front();
}

std::string name_of(const Layout& owned, std::int32_t index) {
  return fmt::format("owned chunk {} of rank {}, {}", number_of(owned, index), owned.owner(index),
                     to_string(owned.box(index)));
}

// The box with a rim; throws core::Error where it is none.
Box grown(const std::string& name, const Box& box, Int3 rim) {
  for (int axis = 0; axis < 3; ++axis) {
    if (box.hi[axis] < box.lo[axis])
      throw core::Error(fmt::format("{}, {}, ends before it begins", name, to_string(box)), "", axes_hint);
    if (std::int64_t{box.lo[axis]} - rim[axis] < -most_cells || std::int64_t{box.hi[axis]} + rim[axis] > most_cells)
      throw core::Error(fmt::format("{}, {}, reaches beyond 2^30 cells", name, to_string(box)), "", axes_hint);
  }
  return box.grown(rim);
}

/// The images of the whole that a range of cells meets along one axis.
struct Images {
  std::int64_t first = 0, count = 1;
};

Images images_of(std::int64_t lo, std::int64_t hi, std::int64_t cells) {
  const auto image_of = [cells](std::int64_t index) {
    return index >= 0 ? index / cells : -((-index - 1) / cells) - 1;
  };
  return {image_of(lo), image_of(hi - 1) - image_of(lo) + 1};
}

// The part of a chunk in one image of the whole.
ChunkPart part_in(const Int3& image, const Box& chunk, std::int32_t number, Int3 cells) {
  ChunkPart part{number, {}, {}};
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t shift = std::int64_t{image[axis]} * cells[axis];
    part.shift[axis] = static_cast<std::int32_t>(shift);
    part.box.lo[axis] = static_cast<std::int32_t>(std::max<std::int64_t>(chunk.lo[axis] - shift, 0));
    part.box.hi[axis] = static_cast<std::int32_t>(std::min<std::int64_t>(chunk.hi[axis] - shift, cells[axis]));
  }
  return part;
}

// `box` without `taken`: up to six boxes.
void subtract(const Box& box, const Box& taken, std::vector<Box>& rest) {
  const Box common = intersection(box, taken);
  if (common.is_empty()) {
    rest.push_back(box);
    return;
  }
  Box left = box;
  for (int axis = 2; axis >= 0; --axis) {
    Box below = left, above = left;
    below.hi[axis] = left.lo[axis] = common.lo[axis];
    above.lo[axis] = left.hi[axis] = common.hi[axis];
    if (!below.is_empty()) rest.push_back(below);
    if (!above.is_empty()) rest.push_back(above);
  }
}

// The first box of cells of `region` that nobody owns.
Box first_hole(const Layout& owned, const Box& region) {
  std::vector<Box> holes{region};
  owned.for_each_meeting(region, [&](std::int32_t index) {
    std::vector<Box> rest;
    for (const Box& hole : holes) subtract(hole, owned.box(index), rest);
    holes = std::move(rest);
  });
  return *std::ranges::min_element(holes, {}, [](const Box& box) { return std::tuple(box.lo.z, box.lo.y, box.lo.x); });
}

}  // namespace

void check(const DataDescription& description) {
  const Int3 cells = description.cells, rim = description.rim;
  for (int axis = 0; axis < 3; ++axis) {
    if (cells[axis] < 1 || cells[axis] > most_cells)
      throw core::Error(fmt::format("data of {} cells cannot be", text_of(cells)), "",
                        "give 1 to 2^30 - 1 cells along each axis, 1 along those that the data do not have");
    if (rim[axis] < 0 || rim[axis] > most_cells)
      throw core::Error(fmt::format("a rim of {} cells cannot be", text_of(rim)), "", "give 0 or more along each axis");
  }
  if (static_cast<double>(cells.x) * cells.y * cells.z > most_of_all)
    throw core::Error(fmt::format("data of {} cells are more than can be numbered", text_of(cells)));
  if (description.components < 1)
    throw core::Error(fmt::format("data with {} components cannot be", description.components), "", "give 1 or more");
}

void check_chunks(const DataDescription& description, int rank, std::span<const Box> owned,
                  std::span<const Box> needed) {
  const Box whole = whole_of(description);
  const auto name_of = [rank](const char* kind, std::size_t number) {
    return fmt::format("{} chunk {} of rank {}", kind, number, rank);
  };
  for (std::size_t n = 0; n < owned.size(); ++n)
    if (!whole.contains(grown(name_of("owned", n), owned[n], {})))
      throw core::Error(fmt::format("{}, {}, reaches out of the whole, {}", name_of("owned", n), to_string(owned[n]),
                                    to_string(whole)),
                        "", axes_hint);
  for (std::size_t n = 0; n < needed.size(); ++n) {
    grown(name_of("needed", n), needed[n], description.rim);
    for (int axis = 0; axis < 3 && !needed[n].is_empty(); ++axis)
      if (!description.periodic[static_cast<std::size_t>(axis)] &&
          (needed[n].lo[axis] < 0 || needed[n].hi[axis] > whole.hi[axis]))
        throw core::Error(fmt::format("{}, {}, reaches out of the whole, {}, which is not periodic along {}",
                                      name_of("needed", n), to_string(needed[n]), to_string(whole), "xyz"[axis]),
                          "", "a `rim` may reach out of it: its cells stay as they are there");
  }
}

std::vector<ChunkPart> parts_of(const DataDescription& description, std::span<const Box> needed) {
  std::vector<ChunkPart> parts;
  for (std::size_t n = 0; n < needed.size(); ++n) {
    if (needed[n].is_empty()) continue;
    const Box chunk = needed[n].grown(description.rim);
    std::array<Images, 3> images;
    double count = 1.0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int a = static_cast<int>(axis);
      if (description.periodic[axis]) images[axis] = images_of(chunk.lo[a], chunk.hi[a], description.cells[a]);
      count *= static_cast<double>(images[axis].count);
    }
    if (count > static_cast<double>(most_parts))
      throw core::Error(fmt::format("needed chunk {}, {} with its rim, has the whole of {} cells {:.0f} times", n,
                                    to_string(chunk), text_of(description.cells), count),
                        "", "a chunk may have it 2^20 times");
    const auto first = [&](std::size_t axis) { return static_cast<std::int32_t>(images[axis].first); };
    const auto end = [&](std::size_t axis) {
      return static_cast<std::int32_t>(images[axis].first + images[axis].count);
    };
    for (Int3 image{0, 0, first(2)}; image.z < end(2); ++image.z)
      for (image.y = first(1); image.y < end(1); ++image.y)
        for (image.x = first(0); image.x < end(0); ++image.x)
          parts.push_back(part_in(image, chunk, static_cast<std::int32_t>(n), description.cells));
  }
  return parts;
}

Layout chunk_layout(const DataDescription& description, std::vector<Box> boxes, std::span<const std::int64_t> counts) {
  std::vector<std::int32_t> owners;
  owners.reserve(boxes.size());
  for (std::size_t rank = 0; rank < counts.size(); ++rank)
    owners.insert(owners.end(), static_cast<std::size_t>(counts[rank]), static_cast<std::int32_t>(rank));
  return {whole_of(description), description.periodic, std::move(boxes), std::move(owners)};
}

void check_disjoint(const Layout& owned, int rank) {
  for (const std::int32_t index : owned.boxes_of(rank)) {
    std::int32_t other = -1;
    owned.for_each_meeting(owned.box(index), [&](std::int32_t met) {
      if (met != index && (other < 0 || met < other)) other = met;
    });
    if (other < 0) continue;
    const std::int32_t first = std::min(index, other), second = std::max(index, other);
    throw core::Error(fmt::format("{}, and {} overlap in {}", name_of(owned, first), name_of(owned, second),
                                  to_string(intersection(owned.box(first), owned.box(second)))),
                      "", "each cell has one owner, and is owned once");
  }
}

void check_covered(const Layout& owned, int rank, std::span<const ChunkPart> parts) {
  for (const ChunkPart& part : parts) {
    std::int64_t covered = 0;
    owned.for_each_meeting(part.box,
                           [&](std::int32_t index) { covered += intersection(owned.box(index), part.box).volume(); });
    if (covered == part.box.volume()) continue;
    throw core::Error(fmt::format("nobody owns the cells {}, which chunk {} of rank {} needs",
                                  to_string(first_hole(owned, part.box)), part.chunk, rank),
                      "", "let a rank own them, or allow holes: such cells then stay as they are");
  }
}

}  // namespace sidestream::redistribute
