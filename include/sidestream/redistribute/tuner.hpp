#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/redistribute/wisdom.hpp"

// Choosing among ways of doing the same by measuring them: the one tuner of all plans. All candidates give the same
// bits, so what it finds changes times alone.
namespace sidestream::redistribute {

/// One way: a strategy, or whatever else a caller has to choose, such as a process grid with a strategy.
struct Candidate {
  std::string name;
  /// Gets ready (collective) and returns what does the work once (collective), which lives until the next candidate is
  /// prepared. What throws there before it waits for other ranks, on all or some, is no candidate.
  std::function<std::function<void()>()> prepare;
};

/// Seconds since some moment.
double wall_clock_s();

/// How much is measured, and by which clock.
struct TuningEffort {
  int repeats = 5;           ///< that count
  bool is_warmed_up = true;  ///< by a first time that does not count
  double drop_ratio = 1.5;   ///< dropped after one repeat that took so many times the best of the others
  double budget_s = 2.0;     ///< of wall time; candidates that are not reached before it is spent are left out
  int most_runs = std::numeric_limits<int>::max();  ///< of all candidates together, whether they count or not
  std::function<double()> now_s = wall_clock_s;
};

/// How a candidate fared.
struct Trial {
  std::string name;
  double best_s = 0.0;    ///< least over the repeats of the maximum over the ranks
  int repeats = 0;        ///< 0: not reached, or not possible
  std::string problem{};  ///< why it is not possible
};

struct Tuning {
  std::size_t chosen = 0;      ///< index of the fastest candidate
  bool is_remembered = false;  ///< from the wisdom file: nothing was measured
  std::vector<Trial> trials;
};

/// Measures `candidates` (the first one whatever the budget) and chooses the fastest; the same on all ranks.
/// Collective. Throws core::Error when none is possible.
Tuning tune(const comm::Communicator& comm, std::span<const Candidate> candidates, const TuningEffort& effort = {});

/// The same, unless `wisdom` knows the fastest for `key` (which begins with `machine_key`) and that can be prepared;
/// what is measured is kept there. The first rank reads and writes the file.
Tuning tune(const comm::Communicator& comm, const Wisdom& wisdom, const std::string& key,
            std::span<const Candidate> candidates, const TuningEffort& effort = {});

}  // namespace sidestream::redistribute
