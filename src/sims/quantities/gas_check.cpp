#include "sims/quantities/gas_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::sims {

namespace {

constexpr const char *density_name = "gas_density", *temperature_name = "temperature",
                     *energy_name = "specific_internal_energy";
constexpr double coldest_known = 1.0;  // [K], of the tables of rates

struct Place {
  int level = 0;
  mesh::Box box;  // of the leaf
  mesh::Int3 cell;
};

// The cells of one of this rank's leaves, in `room`.
core::View4<double> read_block(const mesh::Snapshot& file, const std::string& name, int level, const mesh::Box& box,
                               std::vector<double>& room) {
  const mesh::Int3 n = box.extent();
  room.resize(static_cast<std::size_t>(box.volume()));
  const core::View4<double> cells(room.data(), box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, 1);
  file.write(name, level, box, cells);
  return cells;
}

double value_at(const mesh::Snapshot& file, const std::string& name, const Place& place) {
  const auto& [level, box, cell] = place;
  std::vector<double> room;
  return read_block(file, name, level, box, room)(cell.z, cell.y, cell.x);
}

std::string with_unit(double value, const std::string& unit) {
  return fmt::format("{:g}{}", value, unit == "1" ? "" : " " + unit);
}

// What is left of a total energy when the kinetic one is taken off.
std::string parts_of_energy(const mesh::Snapshot& file, const Sources& sources, const std::string& name,
                            const Place& place) {
  const auto found = sources.find(name);
  if (found == sources.end() || found->second.front().find("total_energy") == std::string::npos) return "";
  double total = value_at(file, found->second.front(), place);
  if (found->second[1] == density_name) total /= value_at(file, density_name, place);
  const std::string& unit = file.unit(name);
  return fmt::format(", because its total energy is {} and its kinetic energy {}", with_unit(total, unit),
                     with_unit(total - value_at(file, name, place), unit));
}

std::string described(const mesh::Snapshot& file, const Sources& sources, const std::string& name, const Place& place) {
  const auto& [level, box, cell] = place;
  return fmt::format("`{}` is {} at the cell (z, y, x) = ({}, {}, {}){}{}", name,
                     with_unit(value_at(file, name, place), file.unit(name)), cell.z, cell.y, cell.x,
                     file.is_refined() ? fmt::format(" of level {}", level) : "",
                     parts_of_energy(file, sources, name, place));
}

// Block by block; what it is made of is at hand.
void for_each_value(const mesh::Snapshot& file, const std::string& name,
                    const std::function<void(const Place& place, double value)>& visit) {
  std::vector<double> room;
  for (int level = 0; level <= file.finest_level(); ++level) {
    const mesh::Layout& leaves = file.levels[static_cast<std::size_t>(level)];
    for (const std::int32_t index : leaves.boxes_of(file.rank)) {
      const mesh::Box& box = leaves.box(index);
      const auto cells = read_block(file, name, level, box, room);
      core::for_each_cell(box, [&](int k, int j, int i) { visit({level, box, {i, j, k}}, cells(k, j, i)); });
    }
  }
}

struct Cold {
  std::int64_t cells = 0;
  double least = coldest_known;
};

// Throws on all ranks for the first cell of the first rank that has one which is no gas.
Cold check_field(const comm::Communicator& comm, const mesh::Snapshot& file, const Sources& sources,
                 const std::string& name, const std::function<bool(double value)>& is_gas) {
  file.prepare(name);
  std::string problem;
  Cold cold;
  for_each_value(file, name, [&](const Place& place, double value) {
    if (problem.empty() && !is_gas(value)) problem = described(file, sources, name, place);
    if (value < coldest_known) ++cold.cells;
    cold.least = std::min(cold.least, value);
  });
  comm.agree_on([&] {
    if (!problem.empty())
      throw core::Error(problem + ": that is no gas", file.source,
                        "ionisation follows from a density and a temperature or energy that are above zero and finite: "
                        "mend the file, or declare `neutral_hydrogen` by an expression in [quantity.neutral_hydrogen]");
  });
  return {comm.sum(cold.cells), comm.min(cold.least)};
}

}  // namespace

std::string check_gas(const comm::Communicator& comm, const mesh::Snapshot& file, const Sources& sources,
                      const solvers::HeatingCooling::Epoch& gas) {
  check_field(comm, file, sources, density_name, [&](double density) { return gas.is_density_of_gas(density); });
  if (sources.contains(temperature_name)) {
    check_field(comm, file, sources, energy_name, [&](double energy) { return gas.is_energy_of_gas(energy); });
    return "";
  }
  const Cold cold = check_field(comm, file, sources, temperature_name,
                                [&](double temperature) { return gas.is_temperature_of_gas(temperature); });
  if (cold.cells == 0) return "";
  return fmt::format(
      "{} {} colder than {} K, down to {:g} K: they are ionised as gas of {} K is, the coldest that "
      "rates are known of",
      cold.cells, cold.cells == 1 ? "cell is" : "cells are", coldest_known, cold.least, coldest_known);
}

}  // namespace sidestream::sims
