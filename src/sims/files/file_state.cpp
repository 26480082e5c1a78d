#include "sims/files/file_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using Levels = std::vector<Field<double>>;

template <typename F>
void for_each_state(Levels& levels, F f) {
  for (Field<double>& level : levels)
    for (int b = 0; b < level.blocks(); ++b)
      core::for_each_cell(level.box(b), [&, gas = level.view(b)](int k, int j, int i) { f(gas, k, j, i); });
}

using Gas = core::View4<double>;

// Reads the first of `names` that the file has into `component`; returns its number or -1.
int read_first(const mesh::Snapshot& file, std::initializer_list<const char*> names, Levels& levels, int component) {
  int number = 0;
  for (const char* name : names) {
    if (file.has(name)) {
      read_levels(file, name, levels, component);
      return number;
    }
    ++number;
  }
  return -1;
}

void scale(Levels& levels, int component, double factor, bool is_per_mass) {
  if (factor == 1.0 && !is_per_mass) return;
  for_each_state(levels, [=](const Gas& gas, int k, int j, int i) {
    gas(component, k, j, i) *= factor * (is_per_mass ? gas(solvers::density, k, j, i) : 1.0);
  });
}

void miss(const comm::Communicator& comm, const mesh::Snapshot& file, const char* what) {
  comm.agree_on([&] {
    throw core::Error(fmt::format("the file has no {}", what), file.source,
                      "a run can start from a file with density, momenta or velocities, and energy, pressure or "
                      "temperature of the gas");
  });
}

void read_momenta(const comm::Communicator& comm, const mesh::Snapshot& file, const GasFactors& factors,
                  Levels& levels) {
  static constexpr std::array<std::array<const char*, 2>, 3> names{
      {{"gas_momentum_x", "velocity_x"}, {"gas_momentum_y", "velocity_y"}, {"gas_momentum_z", "velocity_z"}}};
  for (int axis = 0; axis < 3; ++axis) {
    const auto& [momentum, velocity] = names[static_cast<std::size_t>(axis)];
    const int component = solvers::momentum_x + axis;
    const int found = read_first(file, {momentum, velocity}, levels, component);
    if (found < 0) miss(comm, file, "velocities");
    scale(levels, component, factors.velocity, found == 1);
  }
}

double kinetic(const Gas& gas, int k, int j, int i) {
  using namespace solvers;
  return kinetic_energy(gas(density, k, j, i), gas(momentum_x, k, j, i), gas(momentum_y, k, j, i),
                        gas(momentum_z, k, j, i));
}

// Returns false when the file has none; the kinetic part is added or taken away where only one energy is there.
bool read_internal_energy(const mesh::Snapshot& file, const GasFactors& factors, Levels& levels) {
  static constexpr std::array names{"gas_internal_energy", "specific_internal_energy", "pressure", "temperature"};
  const int found = read_first(file, {names[0], names[1], names[2], names[3]}, levels, solvers::internal_energy);
  if (found < 0 || (found == 3 && factors.temperature == 0.0)) return false;
  const std::array<double, 4> factor{1.0, 1.0, 1.0 / (factors.gamma - 1.0), factors.temperature};
  scale(levels, solvers::internal_energy, factors.specific_energy * factor[static_cast<std::size_t>(found)],
        found == 1 || found == 3);
  return true;
}

bool read_total_energy(const mesh::Snapshot& file, const GasFactors& factors, Levels& levels) {
  static constexpr std::array names{"gas_total_energy", "specific_total_energy"};
  const int found = read_first(file, {names[0], names[1]}, levels, solvers::total_energy);
  if (found < 0) return false;
  scale(levels, solvers::total_energy, factors.specific_energy, found == 1);
  return true;
}

}  // namespace

void check_mesh(const mesh::Snapshot& file, const MeshConfig& mesh, int highest_level) {
  const mesh::Box domain = mesh::domain_of(mesh.extent());
  if (file.levels.front().domain() != domain)
    throw core::Error(fmt::format("the file holds the cells {}, the run {}", to_string(file.levels.front().domain()),
                                  to_string(domain)),
                      file.source, "give the run the `mesh.cells` of the file");
  const auto finest = static_cast<int>(file.levels.size()) - 1;
  if (finest > highest_level)
    throw core::Error(fmt::format("the file has {} levels of refinement, the run {}", finest, highest_level),
                      file.source, fmt::format("set `amr.max_level` to {} or more", finest));
}

void read_levels(const mesh::Snapshot& file, const std::string& name, Levels& levels, int component) {
  for (std::size_t level = 0; level < levels.size(); ++level)
    file.read(name, static_cast<int>(level), levels[level], component);
}

void read_gas(const comm::Communicator& comm, const mesh::Snapshot& file, const GasFactors& factors, Levels& levels) {
  if (read_first(file, {"gas_density"}, levels, solvers::density) < 0) miss(comm, file, "density");
  read_momenta(comm, file, factors, levels);
  const bool has_internal = read_internal_energy(file, factors, levels);
  const bool has_total = read_total_energy(file, factors, levels);
  if (!has_internal && !has_total) miss(comm, file, "energy");
  if (has_internal && has_total) return;
  const int from = has_total ? solvers::total_energy : solvers::internal_energy,
            to = has_total ? solvers::internal_energy : solvers::total_energy;
  const double sign = has_total ? -1.0 : 1.0;
  for_each_state(levels, [=](const Gas& gas, int k, int j, int i) {
    gas(to, k, j, i) = gas(from, k, j, i) + sign * kinetic(gas, k, j, i);
  });
}

}  // namespace sidestream::sims
