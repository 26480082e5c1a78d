#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/couple/region_edit.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/couple/steering.hpp"
#include "sidestream/io/run_folder.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/checks/losses.hpp"
#include "sims/run/outputs.hpp"

namespace sidestream::sims {

/// What happens between the steps of a run, on the ranks that compute. All members are collective on these.
class BetweenSteps {
 public:
  /// All references outlive it.
  BetweenSteps(const comm::Communicator& world, const comm::Communicator& compute, RunConfig& config,
               couple::Session& session, const io::RunFolder& folder, core::Bill& bill,
               const std::function<void(const std::string&)>& progress);

  Simulation& simulation() { return *simulation_; }

  /// Makes or reads the state, and does what is due with it.
  void begin(const RunStart& start);
  /// Whether another step follows. Where none does, what is left to do with the state is done.
  bool goes_on();
  /// Tells the simulation what will be asked of the state after the next step.
  void foresee() { simulation_->foresee(session_.foreseen(simulation_->moment().step + 1, quantities_)); }
  /// Returns whether the simulation took one.
  bool take_step();
  /// Does what is due with the state after a step of `wall_s` seconds.
  void step_taken(double wall_s);
  /// `has_state`: whether the state may still be looked at.
  RunStatus end(bool has_state);

 private:
  // Why the loop over steps ends before the simulation does; where ranks differ, the last of these counts.
  enum class End : std::int64_t {
    none,
    steps,        // `max_steps`
    late,         // `wall_time`
    steered,      // by hand
    interrupted,  // from the keyboard
    told,         // by a batch system
  };

  void leave_steps(bool has_state);
  nlohmann::json edit(couple::RegionEdit edit);
  std::string load(const std::string& path, bool goes_on);
  void take_settings(const mesh::Snapshot& checkpoint);
  void resume();
  void publish(bool is_start = false);
  bool is_last_step() const;
  std::string stop_reason() const;
  bool ends_here();
  End end_of_earlier_run(std::int64_t step) const;
  void write_cause();
  bool must_stop();
  void agree(End end, Outputs::Commit commit);
  bool was_signalled() const { return end_ == End::interrupted || end_ == End::told; }
  void write_start();
  nlohmann::json describe_world() const;
  void write_step(double wall_s);
  void write_warnings();
  void warn(const core::Error& warning);
  double seconds_left() const;
  std::string hint_for(const Losses& losses) const;
  void report(const Losses& losses) const;
  void write_end(RunStatus status, const std::vector<couple::TaskTotals>& totals, const Losses& losses);
  void say(const std::string& line) const;

  const comm::Communicator& world_;
  const comm::Communicator& compute_;
  RunConfig& config_;
  couple::Session& session_;
  const io::RunFolder& folder_;
  core::Bill& bill_;
  const std::function<void(const std::string&)>& progress_;
  std::vector<mesh::Quantity> quantities_ = config_.quantities();
  std::unique_ptr<Simulation> simulation_;
  couple::Steering steering_;
  Outputs outputs_;
  core::Stopwatch watch_, loop_watch_;
  double first_progress_ = 0.0;
  bool is_of_another_ = false;  // the file that is loaded: it has what does not fit the simulation
  double wall_s_ = 0.0;         // since the start, agreed on before the step
  bool tells_steps_ = true;
  std::string going_on_, replacing_;
  End end_ = End::none;
  std::optional<RunStatus> status_;  // when no step follows
};

}  // namespace sidestream::sims
