#include <cmath>

#include "analysis/entries.hpp"
#include "analysis/make.hpp"
#include "analysis/merge_tree/tree_tables.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/analysis/merge_tree.hpp"

namespace sidestream::analysis {

namespace {

class MergeTreeTask final : public Analysis {
 public:
  struct Parameters {
    std::string field, sets, cut_off;
    std::int64_t connectivity = 0;
    std::int32_t threads = 1;
    std::vector<std::string> store;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>(
        "The merge tree of a field, stored so that halos or voids of any thresholds can be asked for later");
    table.option("field", &Parameters::field, "total_density").doc("field whose tree it is");
    table.option("sets", &Parameters::sets, "above")
        .one_of({"above", "below"})
        .doc("cells above a threshold (halos) or below it (voids)");
    table.option("cut_off", &Parameters::cut_off, "60 mean")
        .doc(
            "cells below this value (above it, for sets below) are left out: a multiple of the mean (\"60 mean\"), "
            "standard deviations above it (\"1 sigma\"), a value (\"4e12\"), or \"none\" for the tree of all cells");
    table.option("connectivity", &Parameters::connectivity, 14)
        .doc("neighbours of a cell: 6 (faces), 14 (Freudenthal triangulation) or 26 (faces, edges and corners)");
    table.option("store", &Parameters::store, {})
        .doc("further fields whose values in the cells of the tree are stored");
    table.option("threads", &Parameters::threads, 1).at_least(1).doc("threads of each rank, which take a block each");
    return table;
  }

  explicit MergeTreeTask(Parameters parameters) : parameters_(std::move(parameters)) {
    connectivity_of(parameters_.connectivity);
    if (parameters_.cut_off != "none") parse_threshold(parameters_.cut_off, "cut_off");
    for (const std::string& name : parameters_.store)
      if (const std::string column = tree_tables::field_prefix + name;
          column == tree_tables::own_field || column == tree_tables::maximum_of_cell)
        throw core::Error("the tree has a column `" + column + "` of its own", "store",
                          "give the quantity another name than `" + name + "`");
  }

  std::vector<std::string> fields() const override {
    std::vector<std::string> names = names_for(parameters_.field);
    for (const std::string& name : parameters_.store) append_new(names, names_for(name));
    return names;
  }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const LeafField field = field_or_total(snapshot, parameters_.field);
    const double average = mean(comm, field, parameters_.field);
    TreeOptions options;
    options.connectivity = connectivity_of(parameters_.connectivity);
    options.sets = parameters_.sets == "above" ? Sets::above : Sets::below;
    options.threads = parameters_.threads;
    if (parameters_.cut_off != "none") {
      const Threshold threshold = parse_threshold(parameters_.cut_off);
      const double cut_off = threshold.of == Threshold::Of::sigma
                                 ? threshold.in(average, deviation(comm, field, parameters_.field, average))
                                 : threshold.in(average);
      options.cut_off = options.sets == Sets::above ? cut_off : -cut_off;
    }
    const MergeTree tree(comm, field, options);
    std::vector<NamedField> more;
    for (const std::string& name : parameters_.store)
      more.push_back({name, unit_of(snapshot, name), field_or_total(snapshot, name)});
    mesh::Result result = tree.to_result(more);
    const std::int64_t branches = tree.count_branches();
    if (comm.rank() != 0) return result;
    result.attributes["field"] = parameters_.field;
    result.attributes["field_unit"] = unit_of(snapshot, parameters_.field);
    result.attributes["length_unit"] = snapshot.length_unit;
    result.attributes["mean_density"] = average;
    result.attributes["branches"] = branches;
    for (int axis = 0; axis < 3; ++axis)
      result.attributes[std::string("length_") + "xyz"[axis]] =
          snapshot.geometry.length[static_cast<std::size_t>(axis)];
    result.summary = std::to_string(branches) + (branches == 1 ? " branch" : " branches");
    return result;
  }

 private:
  Parameters parameters_;
};

}  // namespace

AnalysisEntry merge_tree_entry() {
  return entry_of<MergeTreeTask>("merge_tree");
}

}  // namespace sidestream::analysis
