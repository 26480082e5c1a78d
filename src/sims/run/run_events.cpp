#include "sims/run/run_events.hpp"

#include <sys/resource.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

#include "sidestream/core/machine.hpp"

namespace sidestream::sims {

nlohmann::json machine() {
  std::string cpu = "unknown", line;
  for (std::ifstream info("/proc/cpuinfo"); std::getline(info, line);)
    if (line.starts_with("model name")) {
      cpu = line.substr(line.find(':') + 2);
      break;
    }
  return {{"host", core::host_name()}, {"cpu", cpu}, {"cores", sysconf(_SC_NPROCESSORS_ONLN)}};
}

double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024.0 / 1e6;
}

nlohmann::json totals_as_json(const std::vector<couple::TaskTotals>& totals) {
  nlohmann::json tasks = nlohmann::json::object();
  for (const auto& task : totals)
    tasks[task.task] = {{"count", task.count},         {"dropped", task.dropped}, {"failed", task.failed},
                        {"unwritten", task.unwritten}, {"pack_s", task.pack_s},   {"wait_s", task.wait_s},
                        {"compute_s", task.compute_s}, {"bytes", task.bytes}};
  return tasks;
}

}  // namespace sidestream::sims
