#include "sidestream/mesh/cell_condition.hpp"

#include "sidestream/core/error.hpp"
#include "sidestream/core/expression.hpp"
#include "sidestream/mesh/on_level.hpp"

namespace sidestream::mesh {

namespace {

// A text that is true or false.
core::Node checked(const std::string& text, const std::string& key) {
  const std::string where = "key `" + key + "`";
  const core::Source source{text, where};
  if (!core::parse(source).is_truth)
    throw core::Error("a number is neither true nor false", source.place(1),
                      "compare it with another, for example `pressure > 2`");
  return {text, key};
}

}  // namespace

CellCondition::CellCondition(const std::string& text, const std::string& key)
    : truth_({key, "1", ""}, checked(text, key)) {}

void CellCondition::check(const std::vector<std::string>& quantities, bool has_redshift) const {
  truth_.check(quantities, has_redshift);
}

std::vector<Field<double>> CellCondition::holds(const Snapshot& snapshot, const Box& cells) const {
  const CellConstants constants{snapshot.moment.scale_factor.value_or(1.0), snapshot.gamma};
  const Box& root = snapshot.levels.front().domain();
  std::vector<Field<double>> all;
  for (int level = 0; level <= snapshot.finest_level(); ++level) {
    const Layout& leaves = snapshot.levels[static_cast<std::size_t>(level)];
    std::vector<FieldView<const double>> inputs;
    for (const std::string& quantity : truth_.of()) inputs.push_back(snapshot.field(quantity, level));
    Field<double>& holds = all.emplace_back(leaves, snapshot.rank);
    for (int b = 0; b < holds.blocks(); ++b) {
      const Box within = intersection(holds.box(b), on_level(cells, root, leaves.domain()));
      if (within.is_empty()) continue;
      std::vector<core::View4<const double>> views;
      for (const auto& input : inputs) views.push_back(input.view(b));
      truth_.fill(within, views, constants, holds.view(b));
    }
  }
  return all;
}

}  // namespace sidestream::mesh
