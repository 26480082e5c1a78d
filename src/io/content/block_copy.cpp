#include "io/content/block_copy.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sidestream::io {

using mesh::Box;
using mesh::Int3;

namespace {

// The position of box `index` among the blocks of `field`, or -1 when another rank owns it.
int block_number(const mesh::Field<double>& field, std::int32_t index) {
  if (field.layout().owner(index) != field.rank()) return -1;
  const auto own = field.layout().boxes_of(field.rank());
  return static_cast<int>(std::lower_bound(own.begin(), own.end(), index) - own.begin());
}

std::int32_t floor_divided(std::int32_t index, std::int32_t by) {
  return index >= 0 ? index / by : -((by - 1 - index) / by);
}

Int3 floor_divided(Int3 cell, Int3 by) {
  return {floor_divided(cell.x, by.x), floor_divided(cell.y, by.y), floor_divided(cell.z, by.z)};
}

// The coarse cells that meet `box`, and the fine cells of `box`.
Box refined(const Box& box, Int3 ratio) {
  const auto times = [&](Int3 a) { return Int3{a.x * ratio.x, a.y * ratio.y, a.z * ratio.z}; };
  return {times(box.lo), times(box.hi)};
}

void copy_row(const double* from, Int3 ratio, std::int32_t begin, std::int32_t end, std::int32_t from_begin,
              double* to) {
  if (ratio.x == 1) {
    std::copy_n(from + (begin - from_begin), end - begin, to);
    return;
  }
  for (std::int32_t i = begin; i < end; ++i) to[i - begin] = from[floor_divided(i, ratio.x) - from_begin];
}

}  // namespace

Box coarsened(const Box& box, Int3 ratio) {
  const Int3 one{1, 1, 1};
  return {floor_divided(box.lo, ratio), floor_divided(box.hi - one, ratio) + one};
}

std::vector<std::int32_t> boxes_needed(const mesh::Layout& source, const mesh::Field<double>& into, Int3 ratio) {
  std::vector<std::int32_t> needed;
  for (int b = 0; b < into.blocks(); ++b)
    source.for_each_meeting(coarsened(into.box(b), ratio), [&](std::int32_t index) { needed.push_back(index); });
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  return needed;
}

namespace {

// Components [first, last) of `into`, of which `cells` holds as many.
std::int64_t copy_components(const Box& box, const double* cells, mesh::Field<double>& into, int first, int last,
                             Int3 ratio) {
  const Int3 n = box.extent();
  const core::View4<const double> from(cells, box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, last - first);
  std::int64_t copied = 0;
  const Box fine = refined(box, ratio);
  into.layout().for_each_meeting(fine, [&](std::int32_t index) {
    const int b = block_number(into, index);
    if (b < 0) return;
    const Box common = intersection(fine, into.box(b));
    const auto to = into.view(b);
    for (int c = first; c < last; ++c)
      for (int k = common.lo.z; k < common.hi.z; ++k)
        for (int j = common.lo.y; j < common.hi.y; ++j)
          copy_row(&from(c - first, floor_divided(k, ratio.z), floor_divided(j, ratio.y), box.lo.x), ratio, common.lo.x,
                   common.hi.x, box.lo.x, &to(c, k, j, common.lo.x));
    copied += common.volume();
  });
  return copied;
}

}  // namespace

std::int64_t copy_box(const Box& box, const double* cells, mesh::Field<double>& into, Int3 ratio) {
  return copy_components(box, cells, into, 0, into.components(), ratio);
}

std::int64_t copy_box(const Box& box, const double* cells, mesh::Field<double>& into, int component, Int3 ratio) {
  return copy_components(box, cells, into, component, component + 1, ratio);
}

std::int64_t owned_cells(const mesh::Field<double>& field) {
  std::int64_t count = 0;
  for (int b = 0; b < field.blocks(); ++b) count += field.box(b).volume();
  return count;
}

void check_covered(std::int64_t copied, const mesh::Field<double>& into, const std::string& where) {
  if (copied != owned_cells(into))
    throw core::Error(fmt::format("the file covers {} of the {} cells wanted", copied, owned_cells(into)), where);
}

void check_domain(const Box& in_file, const Box& wanted, const std::string& where) {
  if (in_file != wanted)
    throw core::Error(fmt::format("the file holds the cells {}, not {}", to_string(in_file), to_string(wanted)), where,
                      "give the run the number of cells of the file");
}

std::string fault_of_boxes(const Box& domain, const std::vector<Box>& boxes) {
  const auto cells = [&](int axis) { return std::int64_t{domain.hi[axis]} - domain.lo[axis]; };
  const double all = static_cast<double>(cells(0)) * static_cast<double>(cells(1)) * static_cast<double>(cells(2));
  if (domain.is_empty() || std::max({cells(0), cells(1), cells(2)}) > most_cells_an_axis || all > most_cells_a_domain)
    return "the domain is empty or absurdly large: " + to_string(domain);
  std::int64_t total = 0;
  for (const Box& box : boxes) {
    if (box.is_empty() || !domain.contains(box))
      return "box " + to_string(box) + " is empty or leaves the domain " + to_string(domain);
    if (box.volume() > most_cells_a_box) return "box " + to_string(box) + " is absurdly large";
    total += box.volume();
    if (total > domain.volume()) return "the boxes overlap";
  }
  try {
    check(mesh::Layout(domain, {}, boxes, std::vector<std::int32_t>(boxes.size(), 0)));
  } catch (const core::Error& error) {
    return error.message();
  }
  return "";
}

}  // namespace sidestream::io
