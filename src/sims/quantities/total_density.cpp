#include "sidestream/core/for_each.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

std::optional<CommonQuantity> total_density(const std::vector<mesh::Quantity>& there) {
  std::vector<mesh::Quantity> parts;
  for (const char* const name : {"gas_density", "dark_matter_density"})
    if (const mesh::Quantity* const part = find(there, name)) parts.push_back(*part);
  if (parts.empty()) return std::nullopt;
  return CommonQuantity{
      {"total_density", parts.front().unit, "mass of gas and dark matter together in a (comoving) volume", false, true},
      mesh::names_of(parts),
      [](const mesh::Box& box, std::span<const core::View4<const double>> of, const core::View4<double>& out) {
        core::for_each_cell(box, [&](int k, int j, int i) {
          out(k, j, i) = of.size() > 1 ? of[0](k, j, i) + of[1](k, j, i) : of[0](k, j, i);
        });
      }};
}

}  // namespace sidestream::sims
