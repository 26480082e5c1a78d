#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sidestream/couple/knob.hpp"
#include "sidestream/couple/schedule.hpp"
#include "sidestream/sims/run.hpp"

namespace sidestream::sims {

/// What may be changed of a run beside its simulation: its limits, and when tasks and files are due, and how files are
/// written. `config` and `schedule` outlive the knobs; `present_step` tells where the run stands.
std::vector<couple::Knob> run_knobs(RunConfig& config, couple::Schedule& schedule,
                                    std::function<std::int64_t()> present_step);

/// By what name the schedule knows a kind of file of `[output]`, or a task that writes one.
std::string checkpoint_trigger();
std::string trigger_of(const OutputConfig& plotfile);

}  // namespace sidestream::sims
