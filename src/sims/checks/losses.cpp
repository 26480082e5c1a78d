#include "sims/checks/losses.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sidestream::sims {

Losses::Losses(const std::vector<couple::TaskTotals>& totals, std::int64_t lost_plotfiles,
               std::int64_t lost_checkpoints)
    : plotfiles(lost_plotfiles), checkpoints(lost_checkpoints) {
  std::vector<std::string> told;
  for (const couple::TaskTotals& task : totals) {
    if (task.failed == 0) continue;
    results += task.failed;
    unwritten += task.unwritten;
    of_tasks[task.task] = task.failed;
    const std::int64_t analyses = task.failed - task.unwritten;
    std::vector<std::string> why;
    if (task.unwritten > 0) why.push_back(fmt::format("{} could not be written", task.unwritten));
    if (analyses > 0) why.push_back(fmt::format("the analysis failed {} time{}", analyses, analyses > 1 ? "s" : ""));
    told.push_back(fmt::format("{} of {} results of `{}` ({})", task.failed, task.failed + task.count, task.task,
                               fmt::join(why, ", ")));
  }
  if (plotfiles > 0) told.push_back(fmt::format("{} plot file{}", plotfiles, plotfiles > 1 ? "s" : ""));
  if (checkpoints > 0)
    told.push_back(checkpoints > 1 ? fmt::format("all of {} checkpoints", checkpoints) : "the checkpoint");
  if (!told.empty()) text = fmt::format("the run has lost {}", fmt::join(told, "; "));
}

}  // namespace sidestream::sims
