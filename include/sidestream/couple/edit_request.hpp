#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/mesh/box.hpp"

namespace sidestream::couple {

/// Cells of an array that a process has.
struct ArrayPart {
  mesh::Box cells;
  core::View4<const double> values;
};

/// Asks the run at `where` (see `ask_run`) for an edit by an array on `box`, cells of level 0, of which each rank has
/// parts: together they are the whole. `request` is that of the verb `edit`, as `SteeringDesk` takes it, without cells
/// and value. Returns the answer of the run, the same on all ranks. Collective on `comm`; throws core::Error on all
/// ranks where the run cannot be reached, or refuses a part.
nlohmann::json ask_for_edit(const comm::Communicator& comm, const std::string& where, const std::string& keys,
                            nlohmann::json request, const mesh::Box& box, std::span<const ArrayPart> parts,
                            double timeout_s);

}  // namespace sidestream::couple
