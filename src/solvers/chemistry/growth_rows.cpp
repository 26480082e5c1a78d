#include <algorithm>
#include <bit>

#include "solvers/chemistry/growth_table.hpp"

namespace sidestream::solvers {

namespace {

constexpr int mantissa_bits = 52;
constexpr std::uint64_t one = std::bit_cast<std::uint64_t>(1.0);

/// A place between two nodes: the lower one, and the share of the way to the next.
struct Place {
  std::int64_t node;
  double share;
};

template <int bits>
[[gnu::always_inline]] inline Place place_of(double value, std::int64_t first, std::int64_t nodes) {
  constexpr int shift = mantissa_bits - bits;
  const auto count = std::bit_cast<std::uint64_t>(value);
  const auto node = static_cast<std::int64_t>(count >> shift) - first;
  const std::uint64_t rest = (count & ((std::uint64_t{1} << shift) - 1)) << bits;
  const std::int64_t lowest = 0, highest = nodes - 2;
  return {node < lowest ? lowest : node > highest ? highest : node, std::bit_cast<double>(rest | one) - 1.0};
}

}  // namespace

inline namespace kernels {

void multiply_by_growth(const GrowthTable& table, int cells, const double* density, double* pressure) {
  const double* const factors = table.factors.data();
  const std::int64_t pitch = table.energies, densities = table.densities;
  const std::int64_t first_density = table.first_density, first_energy = table.first_energy;
#pragma GCC ivdep
  for (int i = 0; i < cells; ++i) {
    const Place d = place_of<GrowthTable::density_bits>(density[i], first_density, densities);
    const Place e = place_of<GrowthTable::energy_bits>(pressure[i] / density[i], first_energy, pitch);
    const double* const at = factors + d.node * pitch + e.node;
    const double below = at[0] + e.share * (at[1] - at[0]);
    const double above = at[pitch] + e.share * (at[pitch + 1] - at[pitch]);
    pressure[i] *= below + d.share * (above - below);
  }
}

}  // namespace kernels

}  // namespace sidestream::solvers
