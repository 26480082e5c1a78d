#include <array>

#include "sidestream/analysis/analysis.hpp"

namespace sidestream::analysis {

std::span<const std::string> task_keys() {
  static const std::array<std::string, 14> keys{
      "analysis", "grid",   "transport", "every",   "at_time", "at_redshift", "every_wall_time",
      "at_start", "at_end", "when",      "only_if", "isolate", "deadline",    "memory_limit"};
  return keys;
}

}  // namespace sidestream::analysis
