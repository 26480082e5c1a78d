#include "sims/config/run_knobs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::sims {

namespace {

using couple::Knob;
using couple::make_knob;
using couple::option_of;

core::Option trigger_option(const std::string& table, const std::string& key) {
  const auto& keys = couple::trigger_keys();
  return option_of({keys.begin(), keys.end()}, table, key);
}

void add_trigger(std::vector<Knob>& knobs, couple::Schedule& schedule, const std::string& table,
                 const std::string& trigger) {
  couple::Trigger& own = schedule.trigger(trigger);
  knobs.push_back(make_knob<std::int64_t>(
      trigger_option(table, "every"), [&own] { return nlohmann::json(own.when().every); },
      [&own](std::int64_t steps) { own.set_every(steps); }));
  knobs.push_back(make_knob<double>(
      trigger_option(table, "every_wall_time"), [&own] { return nlohmann::json(own.when().every_wall_time_s); },
      [&own](double seconds) { own.set_every_wall_time(seconds); }));
}

constexpr const char* stops = "stop";

// How a file of `table`, whether it is a checkpoint or not, is written.
void add_output(std::vector<Knob>& knobs, OutputConfig& output, const std::string& table) {
  const std::vector<core::Option> options = output_options("checkpoint");
  if (!output.carried && output.stage.empty())
    knobs.push_back(make_knob(option_of(options, table, "asynchronous"), output.is_asynchronous));
  knobs.push_back(make_knob<std::string>(
      option_of(options, table, "on_failure"),
      [&output] { return nlohmann::json(output.stops_on_failure ? stops : "continue"); },
      [&output](const std::string& word) { output.stops_on_failure = word == stops; }));
}

std::string table_of(const OutputConfig& plotfile) {
  return plotfile.task.empty() ? "output.plotfile" : "task." + plotfile.task;
}

// A limit that is past would say that more was done than was to be.
Knob max_steps(RunConfig& config, std::function<std::int64_t()> present_step) {
  Knob knob = make_knob(option_of(run_options(), "run", "max_steps"), config.max_steps);
  knob.set = [set = knob.set, present_step = std::move(present_step)](const nlohmann::json& value) {
    if (!value.is_null() && value.get<std::int64_t>() < present_step())
      throw core::Error(fmt::format("`run.max_steps` cannot be {}: the run has taken {} steps",
                                    value.get<std::int64_t>(), present_step()),
                        "", "give a step that lies ahead, or end the run: sidestream steer RUN stop");
    set(value);
  };
  return knob;
}

}  // namespace

std::string checkpoint_trigger() {
  return "output.checkpoint";  // no task has a name with a dot
}

std::string trigger_of(const OutputConfig& plotfile) {
  return plotfile.task.empty() ? "output.plotfile" : plotfile.task;
}

std::vector<Knob> run_knobs(RunConfig& config, couple::Schedule& schedule, std::function<std::int64_t()> present_step) {
  std::vector<Knob> knobs{max_steps(config, std::move(present_step)),
                          make_knob(option_of(run_options(), "run", "wall_time"), config.wall_time_s)};
  for (const couple::Task& task : config.coupling.tasks) add_trigger(knobs, schedule, "task." + task.name, task.name);
  for (OutputConfig& plotfile : config.plotfiles) {
    add_trigger(knobs, schedule, table_of(plotfile), trigger_of(plotfile));
    add_output(knobs, plotfile, table_of(plotfile));
  }
  if (config.checkpoint) {
    add_trigger(knobs, schedule, "output.checkpoint", checkpoint_trigger());
    add_output(knobs, *config.checkpoint, "output.checkpoint");
  }
  return knobs;
}

}  // namespace sidestream::sims
