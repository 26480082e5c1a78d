#include "sims/quantities/common_quantities.hpp"

#include <algorithm>
#include <array>

namespace sidestream::sims {

namespace {

// Each may follow from those before it.
constexpr std::array all{total_density, velocity_x, velocity_y, velocity_z, specific_internal_energy};

}  // namespace

const mesh::Quantity* find(const std::vector<mesh::Quantity>& quantities, const std::string& name) {
  const auto found = std::ranges::find(quantities, name, &mesh::Quantity::name);
  return found == quantities.end() ? nullptr : &*found;
}

std::string unit_beside(const mesh::Quantity& of, const std::string& unit) {
  return of.unit == "1" ? of.unit : unit;
}

std::vector<mesh::Quantity> with_common_quantities(std::vector<mesh::Quantity> quantities) {
  for (const auto common : all)
    if (auto one = common(quantities)) quantities.push_back(std::move(one->quantity));
  return quantities;
}

Sources add_common_quantities(mesh::Snapshot& snapshot) {
  Sources sources;
  for (const auto common : all)
    if (auto one = common(snapshot.quantities())) {
      sources[one->quantity.name] = one->of;
      snapshot.add_derived(std::move(one->quantity), std::move(one->of), std::move(one->derive));
    }
  return sources;
}

}  // namespace sidestream::sims
