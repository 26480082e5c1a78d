#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/core/config.hpp"
#include "sidestream/couple/condition.hpp"
#include "sidestream/mesh/moment.hpp"

namespace sidestream::couple {

/// What a simulation's times are, for those who read and write them.
struct TimeKeeping {
  bool has_redshift = true;
  const core::Units* units = nullptr;  ///< of times in the configuration; null: numbers without a unit
  double unit = 1.0;                   ///< of `time` in expressions, in the simulation's unit of time
  /// What the simulation goes through, as far as it knows.
  std::optional<double> first_time{}, last_time{}, first_redshift{}, last_redshift{};
};

/// When something is due: the keys of a task, a plot file or a checkpoint. Due when any of them says so, and `only_if`,
/// where there is one, holds.
struct When {
  std::int64_t every = 0;         ///< steps; 0: never by steps
  bool counts_start = true;       ///< whether step 0 is one of `every`
  std::vector<double> at_time{};  ///< in the simulation's unit of time
  std::vector<double> at_redshift{};
  double every_wall_time_s = 0.0;  ///< since it was last due for whatever reason; 0: never
  bool at_start = false, at_end = false;
  std::optional<Condition> when{};  ///< due when it becomes true
  std::optional<Condition> only_if{};

  /// Whether the ranks have to talk with each other to find out.
  bool is_collective() const { return when || only_if || every_wall_time_s > 0.0; }
  /// What a restart must be told of.
  bool has_memory() const { return when || every_wall_time_s > 0.0; }
};

/// Times and redshifts for a simulation to land on exactly, in any order.
struct Landings {
  std::vector<double> times{}, redshifts{};

  void add(const When& when);
};

/// Whether a moment has come to a time or redshift that is wanted, or is past it, but for rounding: what follows within
/// that is the same moment.
bool has_come_to_time(double wanted, double now);
bool has_come_to_redshift(double wanted, double now);

/// A moment at which triggers are asked.
struct Occasion {
  mesh::Moment moment;
  bool is_start = false;  ///< of the run, not of its continuation
  bool is_end = false;    ///< no step will follow
  /// Seconds since the run began or went on, the same on all ranks; without it they ask the first rank if they need it.
  std::optional<double> wall_s{};
};

/// What a trigger remembers over a restart.
struct TriggerMemory {
  double quiet_s = 0.0;   ///< wall time since it was due
  bool was_true = false;  ///< `when`, when it was last looked at
};

/// Says at which moments of a run something is due. Remembers where the run stands, so it is asked once about each
/// step, in order.
class Trigger {
 public:
  Trigger() = default;
  explicit Trigger(When when) : when_(std::move(when)) {}

  /// `by_clock`: what the clock of another run has said, instead of this one's.
  void heed(std::optional<bool> by_clock) { heeded_ = by_clock; }
  /// Whether the clock had a part in its being due last.
  bool was_due_by_clock() const { return was_due_by_clock_; }
  /// From now on.
  void set_every(std::int64_t steps) { when_.every = steps; }
  void set_every_wall_time(double seconds) { when_.every_wall_time_s = seconds; }

  /// `state` is looked at at every step for `when`, and where something says yes for `only_if`: then it is
  /// collective. Throws core::Error at a moment without redshift when it has redshifts. A time or redshift that was
  /// passed before the first step asked about is not due.
  bool is_due(const Occasion& occasion, PresentState& state);

  const When& when() const { return when_; }
  /// At a wall time; `resume` takes it up at another, at the moment of the restart, where nothing is due again.
  TriggerMemory memory(double wall_s) const { return {wall_s - last_s_, was_true_}; }
  void resume(const mesh::Moment& moment, double wall_s, const TriggerMemory& memory);

 private:
  bool says_yes(const Occasion& occasion) const;
  bool says_clock(const Occasion& occasion) const;
  bool reaches_time(const mesh::Moment& now) const;
  bool reaches_redshift(const mesh::Moment& now) const;
  bool becomes_true(PresentState& state);

  When when_;
  std::optional<mesh::Moment> before_;
  double last_s_ = 0.0;
  bool was_true_ = false, was_due_by_clock_ = false;
  std::optional<bool> heeded_;
};

/// The keys of a trigger as they are written; tables that have them derive from it.
struct TriggerKeys {
  std::optional<std::int64_t> every;
  std::optional<std::vector<double>> at_time, at_redshift;
  std::optional<double> every_wall_time_s;
  bool at_start = false, at_end = false;
  std::optional<Condition> when, only_if;
};

/// Declares the keys in the table `T` of a configuration.
template <typename T>
void add_trigger_options(core::Table<T>& table, const TimeKeeping& times) {
  const auto own = []<typename V>(V TriggerKeys::*member) { return static_cast<V T::*>(member); };
  table.option("every", own(&TriggerKeys::every), std::nullopt)
      .at_least(0)
      .doc("due every so many steps; 0: not by steps");
  auto& at_time = table.option("at_time", own(&TriggerKeys::at_time), std::nullopt)
                      .doc("due at these times, on which the run lands; with a unit in cosmology: \"1.5 Gyr\"");
  at_time.units = times.units;
  table.option("at_redshift", own(&TriggerKeys::at_redshift), std::nullopt)
      .doc("due at these redshifts, on which the run lands");
  table.option("every_wall_time", own(&TriggerKeys::every_wall_time_s), std::nullopt)
      .in(core::wall_time_units())
      .at_least(0)
      .doc("due when this time has passed by the clock since it was due: \"10 min\"; 0: not by the clock");
  table.option("at_start", own(&TriggerKeys::at_start), false).doc("due before the first step");
  table.option("at_end", own(&TriggerKeys::at_end), false)
      .doc("due after the last step, of the simulation or of `max_steps`");
  const std::function<std::optional<Condition>(const core::Node&)> parse = [](const core::Node& node) {
    return std::optional(Condition(node));
  };
  table.parsed("when", own(&TriggerKeys::when), std::optional<Condition>(), parse)
      .doc("due when this becomes true: \"max(temperature) > 1e7\"");
  table.parsed("only_if", own(&TriggerKeys::only_if), std::optional<Condition>(), parse)
      .doc("of the moments that the other keys name, only those at which this is true");
}

/// What the keys in the table `node` mean. `what` is never due without: "the task". Throws core::Error, for a time or
/// redshift too that the simulation never comes to.
When read_when(const core::Node& node, const TriggerKeys& keys, const std::string& what, const TimeKeeping& times);
/// Throws core::Error unless the conditions ask only for what there is.
void check_conditions(const When& when, std::span<const std::string> quantities, bool has_redshift);

/// The keys of a trigger, for the reference.
const core::Registry<core::Option>& trigger_keys();

/// In words: "every 10 steps or when `max(x) > 1` becomes true".
std::string in_words(const When& when);

}  // namespace sidestream::couple
