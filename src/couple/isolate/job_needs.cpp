#include "couple/isolate/job_needs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "couple/isolate/job.hpp"
#include "sidestream/comm/shared_memory.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

std::string missing_for_jobs(const comm::Communicator& group, const CouplingConfig& config) {
  if (config.job_program.empty()) return "this program starts no jobs of their own";
  if (!std::ranges::all_of(comm::sharers_of_memory(group.split_by_node()), [](bool shares) { return shares; }))
    return "the ranks cannot lend their memory to another job";
  if (job_launcher().empty()) return "there is no `" SIDESTREAM_MPIEXEC "` to start a job of its own with";
  return "";
}

void require_nothing_missing(const std::string& missing, const CouplingConfig& config) {
  if (missing.empty()) return;
  const auto first = std::ranges::find_if(config.tasks, [](const Task& task) { return task.isolation.has_value(); });
  throw core::Error(
      missing, fmt::format("key `task.{}.isolate`", first->name),
      "leave `isolate` out, or give the task the transport \"file\": `sidestream analyze` is another job, "
      "wherever it runs");
}

}  // namespace sidestream::couple
