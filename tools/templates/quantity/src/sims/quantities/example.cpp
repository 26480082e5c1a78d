#include "sidestream/core/for_each.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

// To be made yours: what it follows from, its unit and its meaning here; the columns of its row in
// docs/reference/quantities.md, which say who has it and in what unit; and what its test computes.
std::optional<CommonQuantity> example(const std::vector<mesh::Quantity>& there) {
  const mesh::Quantity* const energy = find(there, "gas_total_energy");
  if (energy == nullptr) return std::nullopt;
  return CommonQuantity{
      {"example", energy->unit, "kinetic energy of the gas in a (comoving) volume"},
      {"gas_total_energy", "gas_internal_energy"},
      [](const mesh::Box& box, std::span<const core::View4<const double>> of, const core::View4<double>& out) {
        core::for_each_cell(box, [total = of[0], internal = of[1], out](int k, int j, int i) {
          out(k, j, i) = total(k, j, i) - internal(k, j, i);
        });
      }};
}

}  // namespace sidestream::sims
