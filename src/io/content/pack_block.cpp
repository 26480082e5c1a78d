#include "io/content/pack_block.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "sidestream/core/for_each.hpp"

namespace sidestream::io {

namespace {

// Extremes are kept apart for each lane, so that the loop over lanes becomes vector instructions.
constexpr std::size_t lanes = 64;

struct LaneExtremes {
  std::array<double, lanes> lowest, highest;
};

template <typename Real, bool is_scaled>
void pack_lanes(const double* from, double factor, std::size_t count, std::byte* out, LaneExtremes& extremes) {
  for (std::size_t l = 0; l < count; ++l) {
    const double value = is_scaled ? factor * from[l] : from[l];
    extremes.lowest[l] = value < extremes.lowest[l] ? value : extremes.lowest[l];
    extremes.highest[l] = value > extremes.highest[l] ? value : extremes.highest[l];
    const auto real = static_cast<Real>(value);
    std::memcpy(out + l * sizeof(Real), &real, sizeof real);
  }
}

template <typename Real, bool is_scaled>
Extremes pack(const BlockCells& from, const mesh::Box& box, std::byte* out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto row = static_cast<std::size_t>(box.extent().x);
  LaneExtremes extremes;
  extremes.lowest.fill(infinity);
  extremes.highest.fill(-infinity);
  core::for_each_row(box, [&](int k, int j) {
    const double* const cells = &from.cells(k, j, box.lo.x);
    for (std::size_t i = 0; i < row; i += lanes) {
      const std::size_t count = std::min(lanes, row - i);
      pack_lanes<Real, is_scaled>(cells + i, from.factor, count, out, extremes);
      out += count * sizeof(Real);
    }
  });
  return {*std::ranges::min_element(extremes.lowest), *std::ranges::max_element(extremes.highest)};
}

}  // namespace

core::BlockForm form_of(mesh::Int3 cells, ElementType type) {
  return {{cells.z, cells.y, cells.x}, type == ElementType::float32 ? core::Real::float32 : core::Real::float64};
}

BlockCells cells_of(const FileContent& content, const std::string& field, std::size_t level, const mesh::Box& box,
                    std::vector<double>& room) {
  const mesh::Snapshot::Stored& stored = content.state.stored(field);
  if (!stored.levels.empty()) return {stored.levels[level].view_on(box).component(stored.component), stored.factor};
  room.resize(static_cast<std::size_t>(box.volume()));
  const mesh::Int3 n = box.extent();
  const core::View4<double> made(room.data(), box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, 1);
  content.state.write(field, static_cast<int>(level), box, made);
  const auto factor = content.factors.find(field);
  return {made, factor == content.factors.end() ? 1.0 : factor->second};
}

Extremes pack_block(const FileContent& content, const std::string& field, std::size_t level, const mesh::Box& box,
                    std::byte* out) {
  std::vector<double> room;
  const BlockCells from = cells_of(content, field, level, box, room);
  const bool is_scaled = from.factor != 1.0;
  if (content.precision == Precision::double_precision)
    return is_scaled ? pack<double, true>(from, box, out) : pack<double, false>(from, box, out);
  return is_scaled ? pack<float, true>(from, box, out) : pack<float, false>(from, box, out);
}

}  // namespace sidestream::io
