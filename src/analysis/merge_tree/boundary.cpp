#include "analysis/merge_tree/boundary.hpp"

#include <cstring>
#include <tuple>

#include "analysis/at.hpp"
#include "analysis/fields/levels.hpp"
#include "analysis/parallel.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Box;
using mesh::Int3;

// A local block, number `block` on `level`, and a box, or periodic image of a box, that it touches: on its own level or
// a coarser one, in the cells of which `shift` is counted.
struct Contact {
  int level = 0, block = 0, other_level = 0;
  std::int32_t other = 0;
  Int3 shift;
};

const mesh::Layout& layout_of(const Runs& runs) {
  return runs.field().layout();
}

const Runs& on(std::span<const Runs> levels, int level) {
  return levels[static_cast<std::size_t>(level)];
}

Int3 bits_of(const Runs& runs, int levels) {
  return bits_between(layout_of(runs).domain(), levels);
}

// One cell on each axis; none on an axis of one cell, where the neighbours across the boundary are the cells of the
// same plane.
Int3 reach(const Runs& runs) {
  return bits_of(runs, 1);
}

struct LocalBlock {
  int level = 0, block = 0;
};

// The local blocks that have active cells.
std::vector<LocalBlock> active_blocks(std::span<const Runs> levels) {
  std::vector<LocalBlock> blocks;
  for (int level = 0; level < static_cast<int>(levels.size()); ++level)
    for (int b = 0; b < on(levels, level).blocks(); ++b)
      if (on(levels, level).first_cell_of(b) < on(levels, level).first_cell_of(b + 1)) blocks.push_back({level, b});
  return blocks;
}

// Calls `f(contact)` for each box, or image of a box, that a local block touches on its own level or a coarser one.
template <typename F>
void for_each_contact(std::span<const Runs> levels, LocalBlock local, F f) {
  const Runs& runs = on(levels, local.level);
  for (int coarse = 0; coarse <= local.level; ++coarse) {
    const Box near = coarsened(runs.box(local.block).grown(reach(runs)), bits_of(runs, local.level - coarse));
    layout_of(on(levels, coarse)).for_each_image_meeting(near, [&](std::int32_t other, Int3 shift) {
      f(Contact{local.level, local.block, coarse, other, shift});
    });
  }
}

bool is_forward(Int3 shift) {
  return std::tie(shift.z, shift.y, shift.x) > std::tuple(0, 0, 0);
}

// Whether the contact of two local blocks is not the one that the other block has with this one.
bool is_once(const Contact& contact, std::int32_t self) {
  return contact.other_level < contact.level || contact.other < self ||
         (contact.other == self && is_forward(contact.shift));
}

// Adds the active cells of the contact's block that lie next to its box.
void add_cells(std::span<const Runs> levels, const Contact& contact, std::span<const std::int32_t> maximum_of,
               Surface& surface) {
  const Runs& runs = on(levels, contact.level);
  const int finer = contact.level - contact.other_level;
  const Int3 bits = bits_of(runs, finer), shift = refined(contact.shift, bits);
  const Box other = refined(layout_of(on(levels, contact.other_level)).box(contact.other), bits);
  const auto view = runs.field().view(contact.block);
  const Box near = other.shifted(shift).grown(reach(runs));
  runs.for_each_in(contact.block, near, [&](std::int32_t z, std::int32_t y, Run part, std::int32_t number) {
    const std::int32_t begin = runs.row(contact.block, z, y)[at(number - runs.first(contact.block, z, y))].begin;
    surface.runs.push_back({contact.other_level, finer, contact.other, z - shift.z, y - shift.y,
                            Run{part.begin - shift.x, part.end - shift.x},
                            static_cast<std::int32_t>(surface.cells.size())});
    for (std::int32_t x = part.begin; x < part.end; ++x)
      surface.cells.push_back({runs.height(view(z, y, x)), maximum_of[at(runs.first_cell(number) + x - begin)], 0});
  });
}

// Finds the pairs of neighbouring cells of a surface and of the blocks here that it touches.
class Matcher {
 public:
  Matcher(std::span<const Runs> levels, Connectivity connectivity, std::span<const std::int32_t> maximum_of)
      : levels_(levels),
        rows_(row_offsets(connectivity)),
        maximum_of_(maximum_of),
        finest_(layout_of(levels.back()).domain()) {}

  // Calls `f(edge)` for each such pair.
  template <typename F>
  void for_each_edge(const Surface& surface, F f) const {
    for (const Surface::RunThere& run : surface.runs) {
      core::require(run.level >= 0 && run.level + run.finer < static_cast<int>(levels_.size()),
                    "a surface of another rank has a level that is not here");
      const Runs& runs = on(levels_, run.level);
      const auto mine = layout_of(runs).boxes_of(runs.field().rank());
      const auto block = static_cast<int>(std::lower_bound(mine.begin(), mine.end(), run.box) - mine.begin());
      for (const RowOffset& row : rows_) match_row(surface, run, runs, block, row, f);
    }
  }

 private:
  template <typename F>
  void match_row(const Surface& surface, const Surface::RunThere& ghost, const Runs& runs, int block,
                 const RowOffset& offset, F f) const {
    const Int3 bits = bits_of(runs, ghost.finer);
    const std::int32_t z = (ghost.z + offset.dz) >> bits.z, y = (ghost.y + offset.dy) >> bits.y;
    const auto there = runs.row(block, z, y);
    if (there.empty()) return;
    const std::int32_t begin = ghost.run.begin + offset.dx_low, end = ghost.run.end + offset.dx_high;
    auto run = std::partition_point(there.begin(), there.end(), [&](const Run& r) { return r.end << bits.x <= begin; });
    const CellIndex index_there = index_of(ghost.level + ghost.finer), index_here = index_of(ghost.level);
    const Box domain = refined(layout_of(runs).domain(), bits);
    const double* const row = &runs.field().view(block)(z, y, 0);
    for (; run != there.end() && run->begin << bits.x < end; ++run) {
      const std::int32_t number = runs.first(block, z, y) + static_cast<std::int32_t>(run - there.begin());
      for (std::int32_t dx = offset.dx_low; dx <= offset.dx_high; ++dx) {
        const std::int32_t first = std::max(ghost.run.begin, (run->begin << bits.x) - dx);
        const std::int32_t last = std::min(ghost.run.end, (run->end << bits.x) - dx);
        for (std::int32_t x = first; x < last; ++x) {
          const Surface::Cell& cell = surface.cells[at(ghost.first_cell + x - ghost.run.begin)];
          const std::int32_t here = (x + dx) >> bits.x;
          const Saddle a{runs.height(row[here]), index_here({here, y, z})};
          const Saddle b{cell.height, index_there(wrapped(domain, {x, ghost.y, ghost.z}))};
          f(Edge{std::min(a, b), maximum_of_[at(runs.first_cell(number) + here - run->begin)], cell.maximum});
        }
      }
    }
  }

  CellIndex index_of(int level) const { return {finest_, static_cast<int>(levels_.size()) - 1 - level}; }
  static Int3 wrapped(const Box& domain, Int3 cell) {
    const Int3 n = domain.extent();
    for (int axis = 0; axis < 3; ++axis)
      cell[axis] = domain.lo[axis] + mesh::wrapped(cell[axis] - domain.lo[axis], n[axis]);
    return cell;
  }

  std::span<const Runs> levels_;
  std::vector<RowOffset> rows_;
  std::span<const std::int32_t> maximum_of_;
  Box finest_;
};

// Adds an edge to those from `first` on, unless the one before is between the same two maxima: then the higher one
// stays.
void add_edge(const Edge& edge, std::size_t first, std::vector<Edge>& edges) {
  if (edges.size() > first && edges.back().a == edge.a && edges.back().b == edge.b)
    edges.back().saddle = std::max(edges.back().saddle, edge.saddle);
  else
    edges.push_back(edge);
}

// Keeps of the edges from `first` on the highest one between the same two maxima.
void keep_highest(std::vector<Edge>& edges, std::size_t first) {
  const auto begin = edges.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.a, a.b) != std::tie(b.a, b.b) ? std::tie(a.a, a.b) < std::tie(b.a, b.b) : b.saddle < a.saddle;
  });
  edges.erase(std::unique(begin, edges.end(), [](const Edge& a, const Edge& b) { return a.a == b.a && a.b == b.b; }),
              edges.end());
}

// Names the peaks that the cells of a surface lead up to by their positions in its own list.
void add_peaks(std::span<const Peak> peaks, Surface& surface) {
  std::vector<std::int32_t> maxima;
  for (const Surface::Cell& cell : surface.cells) maxima.push_back(cell.maximum);
  std::sort(maxima.begin(), maxima.end());
  maxima.erase(std::unique(maxima.begin(), maxima.end()), maxima.end());
  for (const std::int32_t maximum : maxima) surface.peaks.push_back(peaks[at(maximum)]);
  for (Surface::Cell& cell : surface.cells)
    cell.maximum =
        static_cast<std::int32_t>(std::lower_bound(maxima.begin(), maxima.end(), cell.maximum) - maxima.begin());
}

template <typename T>
void append(std::vector<std::byte>& message, const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const auto* const head = reinterpret_cast<const std::byte*>(&count);
  message.insert(message.end(), head, head + sizeof count);
  const auto bytes = std::as_bytes(std::span(values));
  message.insert(message.end(), bytes.begin(), bytes.end());
}

template <typename T>
std::vector<T> next(std::span<const std::byte>& message) {
  std::int64_t count = 0;
  std::memcpy(&count, message.data(), sizeof count);
  std::vector<T> values(static_cast<std::size_t>(count));
  std::memcpy(values.data(), message.data() + sizeof count, values.size() * sizeof(T));
  message = message.subspan(sizeof count + values.size() * sizeof(T));
  return values;
}

}  // namespace

std::vector<std::byte> packed(const Surface& surface) {
  std::vector<std::byte> message;
  append(message, surface.runs);
  append(message, surface.cells);
  append(message, surface.peaks);
  return message;
}

Surface surface_from(std::span<const std::byte> message) {
  Surface surface;
  surface.runs = next<Surface::RunThere>(message);
  surface.cells = next<Surface::Cell>(message);
  surface.peaks = next<Peak>(message);
  return surface;
}

std::vector<Edge> edges_across_blocks(std::span<const Runs> levels, Connectivity connectivity,
                                      std::span<const std::int32_t> maximum_of, int threads) {
  const Matcher matcher(levels, connectivity, maximum_of);
  const auto blocks = active_blocks(levels);
  std::vector<std::vector<Edge>> edges_of(blocks.size());
  for_each_in_parallel(static_cast<int>(blocks.size()), threads, [&](int b) {
    std::vector<Edge>& edges = edges_of[at(b)];
    for_each_contact(levels, blocks[at(b)], [&](const Contact& contact) {
      const Runs& runs = on(levels, contact.level);
      const int rank = runs.field().rank();
      const std::int32_t self = layout_of(runs).boxes_of(rank)[at(contact.block)];
      if (layout_of(on(levels, contact.other_level)).owner(contact.other) != rank || !is_once(contact, self)) return;
      Surface surface;
      add_cells(levels, contact, maximum_of, surface);
      const std::size_t first = edges.size();
      matcher.for_each_edge(surface, [&](const Edge& edge) {
        if (edge.a != edge.b) add_edge(edge, first, edges);
      });
      keep_highest(edges, first);
    });
  });
  std::vector<Edge> all;
  for (const auto& edges : edges_of) all.insert(all.end(), edges.begin(), edges.end());
  return all;
}

std::map<int, Surface> surfaces_for_others(std::span<const Runs> levels, std::span<const std::int32_t> maximum_of,
                                           std::span<const Peak> peaks) {
  std::map<int, Surface> surfaces;
  const auto send = [&](const Contact& contact) {
    const int rank = on(levels, contact.level).field().rank();
    const std::int32_t owner = layout_of(on(levels, contact.other_level)).owner(contact.other);
    if (contact.other_level == contact.level ? owner >= rank : owner == rank) return;
    add_cells(levels, contact, maximum_of, surfaces[owner]);
  };
  for (const LocalBlock& block : active_blocks(levels)) for_each_contact(levels, block, send);
  for (auto& [rank, surface] : surfaces) add_peaks(peaks, surface);
  std::erase_if(surfaces, [](const auto& of_rank) { return of_rank.second.runs.empty(); });
  return surfaces;
}

std::vector<Edge> edges_to(const Surface& surface, std::span<const Runs> levels, Connectivity connectivity,
                           std::span<const std::int32_t> maximum_of) {
  std::vector<Edge> edges;
  Matcher(levels, connectivity, maximum_of).for_each_edge(surface, [&](const Edge& edge) { add_edge(edge, 0, edges); });
  keep_highest(edges, 0);
  return edges;
}

}  // namespace sidestream::analysis
