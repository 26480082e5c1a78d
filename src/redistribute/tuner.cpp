#include "sidestream/redistribute/tuner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "sidestream/core/error.hpp"

namespace sidestream::redistribute {

namespace {

// Why it cannot be done: the first reason of the ranks.
template <typename F>
std::string problem_of(const comm::Communicator& comm, F prepare) {
  try {
    comm.agree_on(prepare);
  } catch (const core::Error& error) {
    return error.message();
  }
  return "";
}

// What every rank knows is what the slowest of them measured, so all decide alike.
class Measurement {
 public:
  Measurement(const comm::Communicator& comm, const TuningEffort& effort)
      : comm_(comm), effort_(effort), began_s_(effort.now_s()) {}

  Trial measure(const Candidate& candidate) {
    Trial trial{candidate.name, std::numeric_limits<double>::infinity(), 0};
    if (best_s_ < std::numeric_limits<double>::infinity() && is_spent()) return trial;
    std::function<void()> work;
    double first_s = 0.0;
    trial.problem = problem_of(comm_, [&] {
      work = candidate.prepare();
      const double before_s = effort_.now_s();
      work();
      first_s = effort_.now_s() - before_s;
    });
    ++runs_;
    if (!trial.problem.empty()) return trial;
    if (!effort_.is_warmed_up) count(trial, comm_.max(first_s));
    while (trial.repeats < effort_.repeats && !is_far_behind(trial) && (trial.repeats == 0 || !is_spent())) {
      ++runs_;
      count(trial, slowest_time(work));
    }
    best_s_ = std::min(best_s_, trial.best_s);
    return trial;
  }

 private:
  static void count(Trial& trial, double seconds) {
    trial.best_s = std::min(trial.best_s, seconds);
    ++trial.repeats;
  }
  bool is_far_behind(const Trial& trial) const {
    return trial.repeats > 0 && trial.best_s > effort_.drop_ratio * best_s_;
  }
  bool is_spent() const {
    return runs_ >= effort_.most_runs || comm_.max(effort_.now_s() - began_s_) > effort_.budget_s;
  }

  double slowest_time(const std::function<void()>& work) const {
    comm_.barrier();
    const double before_s = effort_.now_s();
    work();
    return comm_.max(effort_.now_s() - before_s);
  }

  const comm::Communicator& comm_;
  const TuningEffort& effort_;
  double began_s_;
  int runs_ = 0;
  double best_s_ = std::numeric_limits<double>::infinity();
};

// The index of the candidate that the file knows to be the fastest, or -1: also where that one is not possible today,
// as with other settings of the MPI library.
std::int64_t remembered(const comm::Communicator& comm, const Wisdom& wisdom, const std::string& key,
                        std::span<const Candidate> candidates) {
  std::int64_t index = -1;
  if (comm.rank() == 0)
    if (const auto finding = wisdom.find(key)) {
      const auto found = std::ranges::find(candidates, finding->choice, &Candidate::name);
      if (found != candidates.end()) index = found - candidates.begin();
    }
  index = comm.broadcast(index);
  if (index >= 0 && !problem_of(comm, candidates[static_cast<std::size_t>(index)].prepare).empty()) return -1;
  return index;
}

}  // namespace

double wall_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Tuning tune(const comm::Communicator& comm, std::span<const Candidate> candidates, const TuningEffort& effort) {
  Tuning tuning;
  Measurement measurement(comm, effort);
  for (const Candidate& candidate : candidates) tuning.trials.push_back(measurement.measure(candidate));
  const auto best = std::ranges::min_element(tuning.trials, {}, &Trial::best_s);
  if (best == tuning.trials.end() || best->repeats == 0)
    throw core::Error("nothing that was to be tuned is possible", "", best == tuning.trials.end() ? "" : best->problem);
  tuning.chosen = comm.broadcast(static_cast<std::size_t>(best - tuning.trials.begin()));
  return tuning;
}

Tuning tune(const comm::Communicator& comm, const Wisdom& wisdom, const std::string& key,
            std::span<const Candidate> candidates, const TuningEffort& effort) {
  if (const std::int64_t index = remembered(comm, wisdom, key, candidates); index >= 0)
    return {static_cast<std::size_t>(index), true, {}};
  Tuning tuning = tune(comm, candidates, effort);
  const Trial& best = tuning.trials[tuning.chosen];
  if (comm.rank() == 0) wisdom.keep(key, {best.name, best.best_s});
  return tuning;
}

}  // namespace sidestream::redistribute
