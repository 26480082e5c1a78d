#pragma once

#include <functional>
#include <vector>

#include "sidestream/couple/knob.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace sidestream::sims {

/// What may be steered of how a gas is advanced: the keys of `[hydro]` on which no state depends. `config` outlives the
/// knobs; `take_up` is called where one of them was set.
std::vector<couple::Knob> gas_knobs(solvers::HydroConfig& config, const std::function<void()>& take_up);

}  // namespace sidestream::sims
