#include <fmt/format.h>

#include <utility>

#include "sidestream/core/for_each.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

namespace {

// Where there are momenta alone, as in plot files of Nyx.
std::optional<CommonQuantity> velocity_along(char axis, const std::vector<mesh::Quantity>& there) {
  const std::string name = fmt::format("velocity_{}", axis), momentum = fmt::format("gas_momentum_{}", axis);
  if (find(there, name) != nullptr || find(there, momentum) == nullptr || find(there, "gas_density") == nullptr)
    return std::nullopt;
  mesh::Quantity velocity{name, unit_beside(*find(there, momentum), "km/s"),
                          fmt::format("velocity of the gas along {}", axis)};
  return CommonQuantity{
      std::move(velocity),
      {momentum, "gas_density"},
      [](const mesh::Box& box, std::span<const core::View4<const double>> of, const core::View4<double>& out) {
        core::for_each_cell(box, [&](int k, int j, int i) { out(k, j, i) = of[0](k, j, i) / of[1](k, j, i); });
      }};
}

}  // namespace

std::optional<CommonQuantity> velocity_x(const std::vector<mesh::Quantity>& there) {
  return velocity_along('x', there);
}
std::optional<CommonQuantity> velocity_y(const std::vector<mesh::Quantity>& there) {
  return velocity_along('y', there);
}
std::optional<CommonQuantity> velocity_z(const std::vector<mesh::Quantity>& there) {
  return velocity_along('z', there);
}

}  // namespace sidestream::sims
