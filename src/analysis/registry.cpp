#include <array>

#include "analysis/entries.hpp"

namespace sidestream::analysis {

std::span<const AnalysisEntry> analyses() {
  static const std::array table{
      halos_entry(),  // iso-density halos
      merge_tree_entry(),
      pdf_entry(),    // histograms of overdensity
      phase_entry(),  // temperature against density
      power_spectrum_entry(),
      projection_entry(),  // pictures along a line of sight
      slice_entry(),       // pictures of a plane of cells
  };
  return table;
}

const AnalysisEntry& find_analysis(const core::Node& table) {
  std::vector<std::string> names;
  std::string list;
  for (const AnalysisEntry& entry : analyses()) {
    names.push_back(entry.name);
    list += (list.empty() ? "`" : ", `") + entry.name + "`";
  }
  const core::Node* key = table.find("analysis");
  if (key == nullptr)
    core::reject(table, "the task does not say which analysis it is", "set `analysis` to one of " + list);
  for (const AnalysisEntry& entry : analyses())
    if (entry.name == key->text()) return entry;
  const std::string nearest = core::nearest_name(key->text(), names);
  core::reject(*key, "there is no analysis `" + key->text() + "`",
               nearest.empty() ? "use one of " + list : "did you mean `" + nearest + "`? There are " + list);
}

std::span<const std::string> task_keys() {
  static const std::array<std::string, 4> keys{"analysis", "transport", "every", "at_redshift"};
  return keys;
}

}  // namespace sidestream::analysis
