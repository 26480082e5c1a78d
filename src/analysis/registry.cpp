#include "analysis/entries.hpp"

namespace sidestream::analysis {

const core::Registry<AnalysisEntry>& analyses() {
  static const core::Registry<AnalysisEntry> all(
      {"analyses", "analysis", "what a task does with a snapshot: `analysis` of [task.NAME]"},
      {display_entry(), flux_entry(), flux_skewers_entry(), halos_entry(), merge_tree_entry(), pdf_entry(),
       phase_entry(), power_spectrum_entry(), projection_entry(), python_entry(), readers_entry(), regions_entry(),
       slice_entry(), structure_functions_entry(), turbulence_entry()});
  return all;
}

}  // namespace sidestream::analysis
