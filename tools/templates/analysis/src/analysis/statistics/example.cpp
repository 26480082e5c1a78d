#include <cmath>
#include <span>

#include "analysis/entries.hpp"
#include "analysis/fields/levels.hpp"
#include "analysis/make.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

class Example final : public Analysis {
 public:
  struct Parameters {
    std::string field;
    double above = 0.0;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("How much of the volume has a field above a multiple of its mean");
    table.option("field", &Parameters::field, "total_density").doc("field to look at");
    table.option("above", &Parameters::above, 10.0).at_least(0.0).doc("in means of the field");
    return table;
  }

  explicit Example(Parameters parameters) : parameters_(std::move(parameters)) {}

  std::vector<std::string> fields() const override { return names_for(parameters_.field); }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const LeafField field = field_or_total(snapshot, parameters_.field);
    const double average = mean(comm, field, parameters_.field);  // names a cell that holds no number
    std::vector<std::int64_t> cells;
    for (const ScalarView& level : field) cells.push_back(cells_above(level, parameters_.above * average));
    comm.sum(std::span(cells));
    mesh::Result result;
    if (comm.rank() != 0) return result;
    const double volume = volume_weighted(cells, bits_a_level(root_domain(field)));
    result.add("cells", "1", "number of cells of a level above the threshold", {"level"}, {std::ssize(cells)}, cells);
    result.attributes["mean"] = average;
    result.attributes["volume_share"] = volume / static_cast<double>(root_domain(field).volume());
    result.summary = "above in " + std::to_string(std::llround(volume)) + " coarse cells";
    return result;
  }

 private:
  static std::int64_t cells_above(const ScalarView& level, double threshold) {
    std::int64_t cells = 0;
    for (int b = 0; b < level.blocks(); ++b)
      core::for_each_cell(level.box(b),
                          [&, view = level.view(b)](int k, int j, int i) { cells += view(k, j, i) > threshold; });
    return cells;
  }

  Parameters parameters_;
};

}  // namespace

AnalysisEntry example_entry() {
  return entry_of<Example>("example");
}

}  // namespace sidestream::analysis
