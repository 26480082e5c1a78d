#include "analysis/lyman_alpha/absorbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/at.hpp"
#include "sidestream/analysis/covering_grid.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/units.hpp"

namespace sidestream::analysis {

namespace {

constexpr std::array axis_names{"x", "y", "z"};
constexpr const char* temperature_name = "temperature";

std::string velocity_name(int axis) {
  return std::string("velocity_") + axis_names[at(axis)];
}

// The first cell of this rank that holds what is below `least` or not below `most`; empty if none does.
std::string first_outside(const ScalarView& field, const std::string& name, double least, double most) {
  std::string found;
  for (int b = 0; b < field.blocks() && found.empty(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
      const double value = view(k, j, i);
      if (found.empty() && !(value >= least && value < most))
        found = fmt::format("the field `{}` holds {} at the cell (z, y, x) = ({}, {}, {})", name, value, k, j, i);
    });
  return found;
}

}  // namespace

Absorption absorption_of(const AbsorptionOptions& options, const std::vector<std::string>& axes) {
  const auto kind = std::ranges::find(broadening_names, options.optical_depth);
  core::require(kind != broadening_names.end(), "optical depths are local, full or voigt");
  Absorption absorption{lyman_alpha(options.ion),
                        static_cast<Broadening>(kind - broadening_names.begin()),
                        {},
                        static_cast<int>(options.level)};
  for (const std::string& name : axes) {
    const auto axis = std::ranges::find(axis_names, name);
    if (axis == axis_names.end()) throw core::Error("there is no axis `" + name + "`", "axes", "use x, y and z");
    absorption.axes.push_back(static_cast<int>(axis - axis_names.begin()));
  }
  if (axes.empty()) throw core::Error("there is no axis to look along", "axes", "use x, y and z");
  std::ranges::sort(absorption.axes);
  return absorption;
}

std::vector<std::string> Absorption::fields() const {
  std::vector<std::string> names{line.quantity, temperature_name};
  for (const int axis : axes) names.push_back(velocity_name(axis));
  return names;
}

void Absorption::describe(mesh::Result& result, const HubbleFlow& flow) const {
  result.attributes["ion"] = line.ion;
  result.attributes["optical_depth_kind"] = broadening_names[static_cast<std::size_t>(broadening)];
  result.attributes["hubble_rate"] = flow.hubble;
  result.attributes["level"] = std::int64_t{level};
}

double Absorbers::most_pixels(int axis) const {
  return core::units::speed_of_light * scales[at(axis)].pixels_per_velocity;
}

namespace {

// Lines are computed in these units. What tells no unit is taken to be in them.
void require_unit(const std::string& what, const std::string& unit, const std::string& wanted) {
  if (!unit.empty() && unit != "1" && unit != wanted)
    throw core::Error(fmt::format("optical depths take {} in {}, and these are in {}", what, wanted, unit), "",
                      fmt::format("give them in {}, with that unit", wanted));
}

}  // namespace

Absorbers absorbers_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const Absorption& absorption) {
  const auto& [line, broadening, axes, level] = absorption;
  if (!snapshot.has(line.quantity))
    throw core::Error(
        fmt::format("the snapshot has no `{}`, the number of {} atoms in a proper cm^3", line.quantity, line.ion), "",
        fmt::format("simulate gas with heating and cooling, or declare it by an expression of other "
                    "quantities in [quantity.{}]",
                    line.quantity));
  require_unit("lengths", snapshot.length_unit, "Mpc");
  require_unit(temperature_name, snapshot.unit(temperature_name), "K");
  for (const int axis : axes) require_unit(velocity_name(axis), snapshot.unit(velocity_name(axis)), "km/s");
  const CoveringGrid grid(comm, snapshot.levels, level);
  const auto on_grid = [&](const std::string& name) { return grid.of(comm, field_or_total(snapshot, name)); };
  ScalarView temperature = on_grid(temperature_name);  // first: the density of the absorbers may follow from it
  Absorbers gas{HubbleFlow(snapshot.moment),
                snapshot.geometry.refined(level),
                on_grid(line.quantity),
                std::move(temperature),
                {},
                {},
                {line.quantity, temperature_name, velocity_name(0), velocity_name(1), velocity_name(2)}};
  for (const int axis : axes) gas.velocity[at(axis)] = on_grid(velocity_name(axis));
  for (int axis = 0; axis < 3; ++axis) gas.scales[at(axis)] = scales_of(line, gas.flow, gas.geometry.cell_size(axis));
  return gas;
}

void refuse_absorbers(const comm::Communicator& comm, const Absorbers& gas, int axis) {
  const auto a = at(axis);
  const LineScales& scales = gas.scales[a];
  const double most = gas.most_pixels(axis), light = core::units::speed_of_light,
               hottest = most / scales.width_per_root_kelvin * (most / scales.width_per_root_kelvin);
  const struct {
    const ScalarView& field;
    const std::string& name;
    double least, most;
  } bounds[] = {{gas.density, gas.field_names[0], 0.0, std::numeric_limits<double>::infinity()},
                {gas.temperature, gas.field_names[1], 0.0, hottest},
                {gas.velocity[a], gas.field_names[2 + a], std::nextafter(-light, 0.0), light}};
  for (const auto& [field, name, least, above] : bounds) {
    mean(comm, field, name);
    comm.agree(first_outside(field, name, least, above));
  }
  throw core::Error("the gas absorbs no light that could be followed");
}

}  // namespace sidestream::analysis
