#include <array>

#include "analysis/entries.hpp"

namespace sidestream::analysis {

const core::Registry<AnalysisEntry>& analyses() {
  static const core::Registry<AnalysisEntry> all(
      {"analyses", "analysis", "what a task does with a snapshot: `analysis` of [task.NAME]"},
      {flux_entry(), flux_skewers_entry(), halos_entry(), merge_tree_entry(), pdf_entry(), phase_entry(),
       power_spectrum_entry(), projection_entry(), slice_entry(), structure_functions_entry(), turbulence_entry()});
  return all;
}

std::span<const std::string> task_keys() {
  static const std::array<std::string, 11> keys{"analysis", "grid",        "transport",       "every",
                                                "at_time",  "at_redshift", "every_wall_time", "at_start",
                                                "at_end",   "when",        "only_if"};
  return keys;
}

}  // namespace sidestream::analysis
