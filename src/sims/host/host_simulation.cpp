#include "sims/host/host_simulation.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"

namespace sidestream::sims {

mesh::LevelLayouts HostSimulation::blocks_for(const mesh::Snapshot& file) const {
  const mesh::LevelLayouts& own = state_.layouts();
  const mesh::Int3 cells = file.geometry.domain.extent(), wanted = state_.mesh().geometry.domain.extent();
  if (cells != wanted)
    throw core::Error(fmt::format("the checkpoint has {} x {} x {} cells, the program {} x {} x {}", cells.x, cells.y,
                                  cells.z, wanted.x, wanted.y, wanted.z),
                      file.source, "go on with as many cells");
  state_.require_mesh_of(file);
  state_.require_fields_of(file);
  return own;
}

nlohmann::json HostSimulation::status() const {
  nlohmann::json status{{"time", state_.moment.time}};
  for (const auto& [name, value] : state_.moment.attributes) status[name] = value;
  return status;
}

nlohmann::json HostSimulation::summary() const {
  return nlohmann::json::object();
}

}  // namespace sidestream::sims
