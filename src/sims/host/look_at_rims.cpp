#include "sims/host/look_at_rims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/redistribute/data_mapping.hpp"
#include "sims/host/element_types.hpp"
#include "sims/host/told_apart.hpp"

namespace sidestream::sims {

namespace {

using mesh::Box;
using mesh::Int3;
using Numbers = std::vector<double>;

constexpr int enough_looks = 3;  // at a field, to say that its ghost cells are never filled
// What stays where a ghost cell has no neighbour: a NaN that no program computes.
constexpr std::uint64_t no_neighbour = 0x7ff4'5349'4445'5354U;

bool is_none(double value) {
  return std::bit_cast<std::uint64_t>(value) == no_neighbour;
}
bool are_same(double one, double other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

std::size_t index_in(const Box& box, int z, int y, int x) {
  const Int3 n = box.extent();
  return static_cast<std::size_t>((std::int64_t{z - box.lo.z} * n.y + (y - box.lo.y)) * n.x + (x - box.lo.x));
}

template <typename F>
void for_each(const Box& box, F f) {
  for (int z = box.lo.z; z < box.hi.z; ++z)
    for (int y = box.lo.y; y < box.hi.y; ++y)
      for (int x = box.lo.x; x < box.hi.x; ++x) f(z, y, x);
}

int axes_outside(const Box& box, int z, int y, int x) {
  return static_cast<int>(x < box.lo.x || x >= box.hi.x) + static_cast<int>(y < box.lo.y || y >= box.hi.y) +
         static_cast<int>(z < box.lo.z || z >= box.hi.z);
}

// What the rims of `grown` blocks would hold if they were filled from `own`, whose boxes they have.
std::vector<Numbers> filled(const comm::Communicator& compute, const HostMesh& mesh, Int3 rim, int levels,
                            const std::vector<Numbers>& own) {
  std::vector<Numbers> result(own.size());
  for (std::size_t n = 0; n < own.size(); ++n)
    result[n].assign(static_cast<std::size_t>(mesh.blocks[n].box.grown(rim).volume()),
                     std::bit_cast<double>(no_neighbour));
  for (int level = 0; level < levels; ++level) {
    const Int3 cells = mesh.geometry.refined(level).domain.extent();
    Int3 within = rim;
    for (int axis = 0; axis < 3; ++axis) within[axis] = std::min(rim[axis], cells[axis]);
    std::vector<Box> boxes;
    std::vector<redistribute::OwnedMemory> from;
    std::vector<redistribute::NeededMemory> to;
    for (std::size_t n = 0; n < own.size(); ++n) {
      if (mesh.blocks[n].level != level) continue;
      const Box& box = mesh.blocks[n].box;
      const Box all = box.grown(mesh.ghosts.layers), wide = box.grown(rim), needed = box.grown(within);
      boxes.push_back(box);
      auto source =
          redistribute::packed_memory(own[n].data() + index_in(all, box.lo.z, box.lo.y, box.lo.x), all.extent());
      source.cells = box.extent();
      from.push_back(source);
      auto target = redistribute::packed_memory(
          result[n].data() + index_in(wide, needed.lo.z, needed.lo.y, needed.lo.x), wide.extent());
      target.cells = needed.extent();
      to.push_back(target);
    }
    const redistribute::DataDescription description{
        .cells = cells, .periodic = mesh.geometry.periodic, .rim = within, .allows_holes = true};
    redistribute::DataMapping(compute.raw(), description, boxes, boxes).reorganise(from, to);
  }
  return result;
}

// How much neighbours differ in all.
double variation(const comm::Communicator& compute, const HostMesh& mesh, const std::vector<Numbers>& wide_ones) {
  core::ExactSum sum;
  for (std::size_t n = 0; n < wide_ones.size(); ++n) {
    const Box& box = mesh.blocks[n].box;
    const Box wide = box.grown(1);
    for_each(box, [&](int z, int y, int x) {
      const double here = wide_ones[n][index_in(wide, z, y, x)];
      for (const double next : {wide_ones[n][index_in(wide, z, y, x + 1)], wide_ones[n][index_in(wide, z, y + 1, x)],
                                wide_ones[n][index_in(wide, z + 1, y, x)]})
        if (const double step = std::abs(next - here); !is_none(next) && std::isfinite(step)) sum.add(step);
    });
  }
  return compute.sum(sum);
}

// As a packed array would be read if its axes lay the other way around; nothing where it is not packed.
std::optional<HostMemory> other_order(const HostMemory& memory, Int3 n) {
  const std::array<std::ptrdiff_t, 3> x_first{1, n.x, std::ptrdiff_t{n.x} * n.y},
      z_first{std::ptrdiff_t{n.z} * n.y, n.z, 1};
  if (memory.strides == x_first) return HostMemory{memory.first, z_first};
  if (memory.strides == z_first) return HostMemory{memory.first, x_first};
  return {};
}

// A flat axis has no order.
std::optional<HostMemory> other_order_of(const HostMemory& memory, Int3 n) {
  if (n.z > 1 || n.y == 1) return other_order(memory, n);
  const std::array<std::ptrdiff_t, 2> x_first{1, n.x}, y_first{n.y, 1};
  const std::array own{memory.strides[0], memory.strides[1]};
  if (own == x_first) return HostMemory{memory.first, {y_first[0], y_first[1], memory.strides[2]}};
  if (own == y_first) return HostMemory{memory.first, {x_first[0], x_first[1], memory.strides[2]}};
  return {};
}

HostFinding order_of(const comm::Communicator& compute, const HostState& state, const HostField& field, int levels) {
  constexpr double much = 0.6;
  const HostMesh& mesh = state.mesh();
  HostField other = field;
  bool is_packed = true;
  for (std::size_t n = 0; n < other.blocks.size(); ++n) {
    const auto turned = other_order_of(field.blocks[n], mesh.blocks[n].box.grown(mesh.ghosts.layers).extent());
    is_packed = is_packed && turned.has_value();
    if (turned) other.blocks[n] = *turned;
  }
  HostFinding finding{"order", "good", field.quantity.name, ""};
  if (!compute.all(is_packed)) return finding.message = "its strides are its own", finding;
  const auto of = [&](const HostField& read) {
    std::vector<Numbers> own;
    for (std::size_t n = 0; n < read.blocks.size(); ++n) own.push_back(numbers_of(state, read, n));
    return variation(compute, mesh, filled(compute, mesh, {1, 1, 1}, levels, own));
  };
  const double declared = of(field), turned = of(other);
  if (turned < much * declared) {
    finding.verdict = "wrong";
    finding.message = fmt::format(
        "neighbours differ {:.1f} times less if its axes lie the other way around in memory: in C and Fortran axis 0 "
        "is "
        "the one along which cells lie together, in Python the last one",
        declared / std::max(turned, 1e-300));
  } else if (declared == turned) {
    finding.verdict = "note";
    finding.message = "its order cannot be seen: blocks that are cubes, or numbers all alike";
  } else {
    finding.message = fmt::format("neighbours differ {:.1f} times less than in the other order", turned / declared);
  }
  return finding;
}

// A ghost cell that is none of its neighbour's.
struct Differing {
  double has = 0.0, wants = 0.0;
  std::size_t block = 0;
  Int3 cell;
};

// How many ghost cells are as what, and the first of those that are told of.
struct Counts {
  std::int64_t present = 0, before = 0, untouched = 0, at_edges = 0, rounded = 0, wrong = 0;
  Differing first_rounded, first_wrong;
};

// A program that computes its rim instead of copying it may add some sixteen numbers in another order than its
// neighbour does. Each addition rounds by at most half a unit in the last place of the largest number that takes part.
constexpr double roundings = 8.0;

double unit_in_last_place(mesh::ElementType type) {
  if (type == mesh::ElementType::float32) return double{std::numeric_limits<float>::epsilon()};
  return type == mesh::ElementType::float64 ? std::numeric_limits<double>::epsilon() : 0.0;
}

// The largest number of a block in a cell and those around it, which it is computed from.
double largest_around(const Box& all, const Numbers& numbers, Int3 cell) {
  double largest = 0.0;
  for_each(intersection(all, Box{cell, cell + Int3{1, 1, 1}}.grown(1)), [&](int z, int y, int x) {
    if (const double size = std::abs(numbers[index_in(all, z, y, x)]); std::isfinite(size))
      largest = std::max(largest, size);
  });
  return largest;
}

std::string owner_of(const HostState& state, int level, const Box& domain, Int3 cell) {
  const Int3 n = domain.extent();
  for (int axis = 0; axis < 3; ++axis) cell[axis] = ((cell[axis] - domain.lo[axis]) % n[axis] + n[axis]) % n[axis];
  const mesh::Layout& layout = state.layouts().blocks[static_cast<std::size_t>(level)];
  std::string owner = "nobody";
  layout.for_each_meeting({cell, cell + Int3{1, 1, 1}},
                          [&](std::int32_t box) { owner = fmt::format("rank {}", layout.owner(box)); });
  return owner;
}

HostFinding finding_of(const HostState& state, const HostField& field, const Differing& one) {
  const int level = state.mesh().blocks[one.block].level;
  const auto [has, wants] = told_apart(one.has, one.wants);
  return {"ghosts",
          "wrong",
          field.quantity.name,
          fmt::format("a ghost cell is {}, and its neighbour on {} {}", has,
                      owner_of(state, level, state.mesh().geometry.refined(level).domain, one.cell), wants),
          static_cast<std::int64_t>(one.block),
          fmt::format("{} {} {}", one.cell.x, one.cell.y, one.cell.z)};
}

void tell_rims(const HostState& state, const HostField& field, const Counts& counts, int looks,
               std::vector<HostFinding>& found) {
  const std::string& name = field.quantity.name;
  const bool are_filled = counts.present + counts.before + counts.rounded > 0;
  if (counts.wrong > 0) {
    found.push_back(finding_of(state, field, counts.first_wrong));
    found.back().message += fmt::format(" ({} such)", counts.wrong);
  } else if (counts.untouched > 0 && !are_filled) {
    if (looks >= enough_looks)
      found.push_back({"ghosts", "note", name, "its ghost cells are never filled, and nobody reads them"});
  } else if (counts.at_edges > 0) {
    found.push_back({"ghosts", "note", name,
                     fmt::format("{} ghost cells at edges and corners are no neighbour's", counts.at_edges)});
  } else if (are_filled) {
    found.push_back({"ghosts", "good", name, "ghost cells are those of neighbours"});
  }
  if (counts.rounded == 0) return;
  found.push_back(finding_of(state, field, counts.first_rounded));
  found.back().verdict = "note";
  found.back().message += fmt::format(
      " ({} such): they differ by no more than rounding does, as where both sides compute what one might copy",
      counts.rounded);
}

}  // namespace

std::vector<double> numbers_of(const HostState& state, const HostField& field, std::size_t block) {
  const Box all = state.mesh().blocks[block].box.grown(state.mesh().ghosts.layers);
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(all.volume()));
  const HostMemory& memory = field.blocks[block];
  const Int3 n = all.extent();
  with_type(field.type, [&]<typename T>(T*) {
    const T* const first = static_cast<const T*>(memory.first);
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x)
          numbers.push_back(
              static_cast<double>(first[x * memory.strides[0] + y * memory.strides[1] + z * memory.strides[2]]));
  });
  return numbers;
}

std::vector<HostFinding> LookAtRims::look(const comm::Communicator& compute, const HostState& state) {
  std::vector<HostFinding> found;
  for (const HostField& field : state.fields()) {
    Seen& seen = seen_[field.quantity.name];
    if (!seen.has_order) {
      seen.has_order = true;
      found.push_back(order_of(compute, state, field, static_cast<int>(state.layouts().blocks.size())));
    }
    compare(compute, state, field, found);
  }
  return found;
}

void LookAtRims::compare(const comm::Communicator& compute, const HostState& state, const HostField& field,
                         std::vector<HostFinding>& found) {
  const HostMesh& mesh = state.mesh();
  const Int3 rim = mesh.ghosts.layers;
  if (compute.max(std::int64_t{mesh.ghosts.most()}) == 0) return;
  Seen& seen = seen_[field.quantity.name];
  std::vector<Numbers> own;
  for (std::size_t n = 0; n < field.blocks.size(); ++n) own.push_back(numbers_of(state, field, n));
  std::vector<Numbers> wanted = filled(compute, mesh, rim, static_cast<int>(state.layouts().blocks.size()), own);
  if (seen.first.size() != own.size()) seen.first = own;
  ++seen.looks;
  Counts counts;
  for (std::size_t n = 0; n < own.size(); ++n) {
    const Box &box = mesh.blocks[n].box, all = box.grown(rim);
    for_each(all, [&](int z, int y, int x) {
      const int outside = axes_outside(box, z, y, x);
      const std::size_t at = index_in(all, z, y, x);
      const double has = own[n][at], wants = wanted[n][at];
      if (outside == 0 || is_none(wants)) return;
      if (are_same(has, wants)) return void(++counts.present);
      const double wanted_before = seen.before.size() == own.size() ? seen.before[n][at] : wants;
      if (are_same(has, wanted_before)) return void(++counts.before);
      if (are_same(has, seen.first[n][at])) return void(++counts.untouched);
      const Differing differing{has, wants, n, {x, y, z}};
      if (std::min(std::abs(has - wants), std::abs(has - wanted_before)) <=
          roundings * unit_in_last_place(field.type) * largest_around(all, own[n], differing.cell)) {
        if (counts.rounded++ == 0) counts.first_rounded = differing;
      } else if (outside > 1) {
        ++counts.at_edges;
      } else if (counts.wrong++ == 0) {
        counts.first_wrong = differing;
      }
    });
  }
  seen.before = std::move(wanted);
  tell_rims(state, field, counts, seen.looks, found);
}

}  // namespace sidestream::sims
