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
Extremes pack(const FileField& entry, std::size_t level, const mesh::Box& box, std::byte* out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> room;
  const auto view = cells_of(entry, level, box, room);
  const auto row = static_cast<std::size_t>(box.extent().x);
  LaneExtremes extremes;
  extremes.lowest.fill(infinity);
  extremes.highest.fill(-infinity);
  core::for_each_row(box, [&](int k, int j) {
    const double* from = &view(k, j, box.lo.x);
    for (std::size_t i = 0; i < row; i += lanes) {
      const std::size_t count = std::min(lanes, row - i);
      pack_lanes<Real, is_scaled>(from + i, entry.factor, count, out, extremes);
      out += count * sizeof(Real);
    }
  });
  return {*std::ranges::min_element(extremes.lowest), *std::ranges::max_element(extremes.highest)};
}

}  // namespace

core::View4<const double> cells_of(const FileField& entry, std::size_t level, const mesh::Box& box,
                                   std::vector<double>& room) {
  if (!entry.levels.empty()) {
    const core::View4<const double> all = entry.levels[level].view_on(box);
    return {all.origin() + entry.component * all.stride_component(), all.stride_y(), all.stride_z(),
            all.stride_component(), 1};
  }
  room.resize(static_cast<std::size_t>(box.volume()));
  const mesh::Int3 n = box.extent();
  const core::View4<double> made(room.data(), box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, 1);
  entry.fill(static_cast<int>(level), box, made);
  return made;
}

Extremes pack_block(const FileField& entry, std::size_t level, const mesh::Box& box, Precision precision,
                    std::byte* out) {
  const bool is_scaled = entry.factor != 1.0;
  if (precision == Precision::double_precision)
    return is_scaled ? pack<double, true>(entry, level, box, out) : pack<double, false>(entry, level, box, out);
  return is_scaled ? pack<float, true>(entry, level, box, out) : pack<float, false>(entry, level, box, out);
}

}  // namespace sidestream::io
