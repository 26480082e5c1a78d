#include <algorithm>
#include <utility>

#include "sidestream/core/for_each.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

namespace {

using Views = std::span<const core::View4<const double>>;

// Of an energy of a volume.
void of_volume(const mesh::Box& box, Views of, const core::View4<double>& out) {
  core::for_each_cell(box, [&](int k, int j, int i) { out(k, j, i) = of[0](k, j, i) / of[1](k, j, i); });
}

double kinetic(Views velocity, int k, int j, int i) {
  double sum = 0.0;
  for (const auto& along : velocity) sum += along(k, j, i) * along(k, j, i);
  return 0.5 * sum;
}

void without_kinetic(const mesh::Box& box, Views of, const core::View4<double>& out) {
  core::for_each_cell(box,
                      [&](int k, int j, int i) { out(k, j, i) = of[0](k, j, i) - kinetic(of.subspan(1), k, j, i); });
}

void of_volume_without_kinetic(const mesh::Box& box, Views of, const core::View4<double>& out) {
  core::for_each_cell(box, [&](int k, int j, int i) {
    out(k, j, i) = of[0](k, j, i) / of[1](k, j, i) - kinetic(of.subspan(2), k, j, i);
  });
}

}  // namespace

std::optional<CommonQuantity> specific_internal_energy(const std::vector<mesh::Quantity>& there) {
  static const struct {
    std::vector<std::string> of;
    mesh::Snapshot::Derivation derive;
  } ways[] = {
      {{"gas_internal_energy", "gas_density"}, of_volume},
      {{"specific_total_energy", "velocity_x", "velocity_y", "velocity_z"}, without_kinetic},
      {{"gas_total_energy", "gas_density", "velocity_x", "velocity_y", "velocity_z"}, of_volume_without_kinetic},
  };
  if (find(there, "specific_internal_energy") != nullptr) return std::nullopt;
  for (const auto& [of, derive] : ways) {
    if (!std::ranges::all_of(of, [&](const std::string& name) { return find(there, name) != nullptr; })) continue;
    mesh::Quantity energy{"specific_internal_energy", unit_beside(*find(there, of.front()), "(km/s)^2"),
                          "internal energy of a mass of gas"};
    return CommonQuantity{std::move(energy), of, derive};
  }
  return std::nullopt;
}

}  // namespace sidestream::sims
