#pragma once

#include <cstdlib>
#include <string>

namespace sidestream {

/// A variable of the environment; empty without it.
inline std::string environment(const char* variable) {
  const char* text = ::getenv(variable);
  return text == nullptr ? "" : text;
}

/// The number that a launcher has given to this process; 0 without one.
inline int rank_of_process() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* text = ::getenv(variable)) return std::atoi(text);
  return 0;
}

}  // namespace sidestream
