#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sidestream/couple/session.hpp"

namespace sidestream::sims {

/// Results that were due in a run and are not there, plot files, and checkpoints where there is none at all. What was
/// dropped because a queue was full is not lost: the configuration allowed it.
struct Losses {
  std::int64_t results = 0, plotfiles = 0, checkpoints = 0;
  std::int64_t unwritten = 0;  ///< results that were found and could not be written
  nlohmann::json of_tasks = nlohmann::json::object();
  std::string text;  ///< for people; empty where nothing is lost

  Losses(const std::vector<couple::TaskTotals>& totals, std::int64_t lost_plotfiles, std::int64_t lost_checkpoints);

  bool are_any() const { return results + plotfiles + checkpoints > 0; }
  /// By a restart. An analysis that failed would fail again.
  bool can_be_made_again() const { return unwritten + plotfiles > 0; }
};

}  // namespace sidestream::sims
