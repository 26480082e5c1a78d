#include "sidestream/sims/simulation.hpp"

#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"

namespace sidestream::sims {

nlohmann::json Simulation::edit(const couple::RegionEdit& edit) {
  throw core::Error("this simulation lets nobody edit `" + edit.quantity + "`", "",
                    "`sidestream steer RUN list` says what may be edited");
}

}  // namespace sidestream::sims
