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
Extremes pack(const FileField& entry, std::size_t level, int b, std::byte* out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto view = entry.levels[level]->view(b);
  const mesh::Box box = entry.levels[level]->box(b);
  const auto row = static_cast<std::size_t>(box.extent().x);
  LaneExtremes extremes;
  extremes.lowest.fill(infinity);
  extremes.highest.fill(-infinity);
  core::for_each_row(box, [&](int k, int j) {
    const double* from = &view(entry.component, k, j, box.lo.x);
    for (std::size_t i = 0; i < row; i += lanes) {
      const std::size_t count = std::min(lanes, row - i);
      pack_lanes<Real, is_scaled>(from + i, entry.factor, count, out, extremes);
      out += count * sizeof(Real);
    }
  });
  return {*std::ranges::min_element(extremes.lowest), *std::ranges::max_element(extremes.highest)};
}

}  // namespace

Extremes pack_block(const FileField& entry, std::size_t level, int b, Precision precision, std::byte* out) {
  const bool is_scaled = entry.factor != 1.0;
  if (precision == Precision::double_precision)
    return is_scaled ? pack<double, true>(entry, level, b, out) : pack<double, false>(entry, level, b, out);
  return is_scaled ? pack<float, true>(entry, level, b, out) : pack<float, false>(entry, level, b, out);
}

}  // namespace sidestream::io
