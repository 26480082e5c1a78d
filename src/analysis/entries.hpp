#pragma once

#include "sidestream/analysis/analysis.hpp"

/// One function for each analysis, defined in the file of its name; `registry.cpp` lists them.
namespace sidestream::analysis {

AnalysisEntry display_entry();
AnalysisEntry flux_entry();
AnalysisEntry flux_skewers_entry();
AnalysisEntry halos_entry();
AnalysisEntry merge_tree_entry();
AnalysisEntry pdf_entry();
AnalysisEntry phase_entry();
AnalysisEntry power_spectrum_entry();
AnalysisEntry projection_entry();
AnalysisEntry python_entry();
AnalysisEntry readers_entry();
AnalysisEntry regions_entry();
AnalysisEntry slice_entry();
AnalysisEntry structure_functions_entry();
AnalysisEntry turbulence_entry();

}  // namespace sidestream::analysis
