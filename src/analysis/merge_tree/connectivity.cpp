#include "sidestream/analysis/connectivity.hpp"

#include <algorithm>
#include <string>

#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

bool is_neighbor(Connectivity connectivity, mesh::Int3 offset) {
  const auto [low, high] = std::minmax({offset.x, offset.y, offset.z});
  if (low == 0 && high == 0) return false;
  switch (connectivity) {
    case Connectivity::faces:
      return offset.x * offset.x + offset.y * offset.y + offset.z * offset.z == 1;
    case Connectivity::freudenthal:
      return low >= 0 || high <= 0;
    case Connectivity::full:
      return true;
  }
  return false;
}

}  // namespace

Connectivity connectivity_of(std::int64_t neighbors) {
  if (neighbors != 6 && neighbors != 14 && neighbors != 26)
    throw core::Error("connectivity " + std::to_string(neighbors) + " is not known", "connectivity", "use 6, 14 or 26");
  return static_cast<Connectivity>(neighbors);
}

std::vector<mesh::Int3> neighbor_offsets(Connectivity connectivity) {
  std::vector<mesh::Int3> offsets;
  for (std::int32_t dz = -1; dz <= 1; ++dz)
    for (std::int32_t dy = -1; dy <= 1; ++dy)
      for (std::int32_t dx = -1; dx <= 1; ++dx)
        if (is_neighbor(connectivity, {dx, dy, dz})) offsets.push_back({dx, dy, dz});
  return offsets;
}

std::vector<RowOffset> row_offsets(Connectivity connectivity) {
  std::vector<RowOffset> rows;
  for (const mesh::Int3 offset : neighbor_offsets(connectivity)) {
    if (rows.empty() || rows.back().dz != offset.z || rows.back().dy != offset.y)
      rows.push_back({offset.z, offset.y, offset.x, offset.x});
    rows.back().dx_high = offset.x;
  }
  return rows;
}

}  // namespace sidestream::analysis
