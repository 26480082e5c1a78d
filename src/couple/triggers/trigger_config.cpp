#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/couple/trigger.hpp"

namespace sidestream::couple {

namespace {

// The run lands on moments by way of the scale factor: one that is not quite the first or last is.
constexpr double landing_rounding = 1e-9;

void check_reach(const When& when, const core::Node& node, const TimeKeeping& times) {
  const auto refuse = [&](const char* key, const std::string& what, const std::string& hint) {
    core::reject(*node.find(key), what, hint);
  };
  const auto text = [&](double time) {
    std::string unit;
    if (times.units != nullptr)
      for (const auto& [name, factor] : *times.units)
        if (factor == times.unit) unit = " " + name;
    return fmt::format("{:g}{}", time / times.unit, unit);
  };
  for (const double z : when.at_redshift) {
    const double slack = landing_rounding * (1.0 + std::abs(z));
    if (times.first_redshift && z > *times.first_redshift + slack)
      refuse("at_redshift", fmt::format("the run begins at redshift {:g}, after {:g}", *times.first_redshift, z),
             "leave it out, or begin earlier");
    if (times.last_redshift && z < *times.last_redshift - slack)
      refuse("at_redshift", fmt::format("the run ends at redshift {:g}, before {:g}", *times.last_redshift, z),
             "leave it out, or end later");
  }
  for (const double time : when.at_time) {
    const double slack = landing_rounding * std::abs(time);
    if (times.first_time && time < *times.first_time - slack)
      refuse("at_time", fmt::format("the run begins at the time {}, after {}", text(*times.first_time), text(time)),
             "leave it out, or begin earlier");
    if (times.last_time && time > *times.last_time + slack)
      refuse("at_time", fmt::format("the run ends at the time {}, before {}", text(*times.last_time), text(time)),
             "leave it out, or end later");
  }
}

}  // namespace

When read_when(const core::Node& node, const TriggerKeys& keys, const std::string& what, const TimeKeeping& times) {
  When when{.every = keys.every.value_or(0),
            .at_time = keys.at_time.value_or(std::vector<double>{}),
            .at_redshift = keys.at_redshift.value_or(std::vector<double>{}),
            .every_wall_time_s = keys.every_wall_time_s.value_or(0.0),
            .at_start = keys.at_start,
            .at_end = keys.at_end,
            .when = keys.when,
            .only_if = keys.only_if};
  const bool is_ever_due = when.every > 0 || !when.at_time.empty() || !when.at_redshift.empty() ||
                           when.every_wall_time_s > 0.0 || when.at_start || when.at_end || when.when;
  if (!is_ever_due)
    core::reject(node, fmt::format("{} is never due", what),
                 when.only_if
                     ? "`only_if` chooses among the moments of other keys: for what begins to hold, write `when`"
                     : "add for example `every = 10` (steps), `at_redshift = [3, 2]` or `at_end = true`");
  if (!when.at_redshift.empty() && !times.has_redshift)
    core::reject(*node.find("at_redshift"), "this simulation has no redshift", "use `at_time` or `every`");
  for (const double z : when.at_redshift)
    if (z <= -1.0)
      core::reject(*node.find("at_redshift"), fmt::format("{} is no redshift", z), "redshifts are above -1");
  for (const double time : when.at_time)
    if (time < 0.0) core::reject(*node.find("at_time"), "times are counted from 0", "leave out what is below it");
  check_reach(when, node, times);
  return when;
}

void check_conditions(const When& when, std::span<const std::string> quantities, bool has_redshift) {
  if (when.when) when.when->check(quantities, has_redshift);
  if (when.only_if) when.only_if->check(quantities, has_redshift);
}

const core::Registry<core::Option>& trigger_keys() {
  static const core::Registry<core::Option> all(
      {"triggers", "trigger", "when something is due: keys of [task.NAME] and [output]"}, [] {
        core::Table<TriggerKeys> table("when something is due");
        add_trigger_options(table, {});
        return table.options();
      }());
  return all;
}

std::string in_words(const When& when) {
  std::vector<std::string> parts;
  if (when.at_start) parts.emplace_back("at the start");
  if (when.every > 0) parts.push_back(when.every == 1 ? "every step" : fmt::format("every {} steps", when.every));
  if (!when.at_time.empty()) parts.push_back(fmt::format("at {} times", when.at_time.size()));
  if (!when.at_redshift.empty()) parts.push_back(fmt::format("at redshift {}", fmt::join(when.at_redshift, ", ")));
  if (when.every_wall_time_s > 0.0) parts.push_back(fmt::format("every {:g} s by the clock", when.every_wall_time_s));
  if (when.when) parts.push_back(fmt::format("when `{}` becomes true", when.when->text()));
  if (when.at_end) parts.emplace_back("at the end");
  std::string text = fmt::format("{}", fmt::join(parts, " or "));
  return when.only_if ? fmt::format("{}, only if `{}`", text, when.only_if->text()) : text;
}

}  // namespace sidestream::couple
