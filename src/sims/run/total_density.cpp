#include "sims/run/total_density.hpp"

#include <algorithm>
#include <array>

#include "sidestream/core/for_each.hpp"

namespace sidestream::sims {

namespace {

constexpr std::array part_names{"gas_density", "dark_matter_density"};

std::vector<mesh::Quantity> parts_in(const std::vector<mesh::Quantity>& quantities) {
  std::vector<mesh::Quantity> parts;
  for (const char* const name : part_names)
    if (const auto found = std::ranges::find(quantities, name, &mesh::Quantity::name); found != quantities.end())
      parts.push_back(*found);
  return parts;
}

mesh::Quantity total_of(const std::vector<mesh::Quantity>& parts) {
  return {"total_density", parts.front().unit, "mass of gas and dark matter together in a (comoving) volume", false,
          true};
}

}  // namespace

std::vector<mesh::Quantity> with_total_density(std::vector<mesh::Quantity> quantities) {
  const std::vector<mesh::Quantity> parts = parts_in(quantities);
  if (!parts.empty()) quantities.push_back(total_of(parts));
  return quantities;
}

void add_total_density(mesh::Snapshot& snapshot) {
  const std::vector<mesh::Quantity> parts = parts_in(snapshot.quantities());
  if (parts.empty()) return;
  snapshot.add_derived(
      total_of(parts), mesh::names_of(parts),
      [](const mesh::Box& box, std::span<const core::View4<const double>> of, const core::View4<double>& out) {
        core::for_each_cell(box, [&](int k, int j, int i) {
          out(k, j, i) = of.size() > 1 ? of[0](k, j, i) + of[1](k, j, i) : of[0](k, j, i);
        });
      });
}

}  // namespace sidestream::sims
