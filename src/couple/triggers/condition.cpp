#include "sidestream/couple/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "sidestream/core/error.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::couple {

namespace {

// All values of a quantity on this rank, row by row and level by level.
template <typename Take>
void for_each_level(const mesh::Snapshot& snapshot, const std::string& quantity, Take take) {
  for (int level = 0; level <= snapshot.finest_level(); ++level) {
    const mesh::FieldView<const double> field = snapshot.field(quantity, level);
    for (int b = 0; b < field.blocks(); ++b) {
      const mesh::Box& box = field.box(b);
      const auto length = static_cast<std::size_t>(box.extent().x);
      core::for_each_row(
          box, [&, cells = field.view(b)](int k, int j) { take(std::span(&cells(k, j, box.lo.x), length), level); });
    }
  }
}

double largest(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const std::string& quantity) {
  double found = -std::numeric_limits<double>::infinity();
  for_each_level(snapshot, quantity, [&](auto values, int) {
    for (const double value : values)
      if (value > found) found = value;
  });
  return comm.max(found) + 0.0;  // no zero with a sign
}

double smallest(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const std::string& quantity) {
  double found = std::numeric_limits<double>::infinity();
  for_each_level(snapshot, quantity, [&](auto values, int) {
    for (const double value : values)
      if (value < found) found = value;
  });
  return comm.min(found) + 0.0;
}

// A cell counts for its volume in cells of level 0, a power of two: so refinement does not change the sum of a quantity
// that is the same everywhere.
double sum(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const std::string& quantity) {
  const auto whole = static_cast<double>(snapshot.geometry.domain.volume());
  core::ExactSum total;
  for_each_level(snapshot, quantity, [&](auto values, int level) {
    const auto cells = static_cast<double>(snapshot.levels[static_cast<std::size_t>(level)].domain().volume());
    for (const double value : values) total.add(value * (whole / cells));
  });
  return comm.sum(total);
}

double mean(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const std::string& quantity) {
  return sum(comm, snapshot, quantity) / static_cast<double>(snapshot.geometry.domain.volume());
}

using core::Expression;

template <typename Entry>
const Entry* find(const core::Registry<Entry>& all, const std::string& name) {
  for (const Entry& entry : all)
    if (entry.name == name) return &entry;
  return nullptr;
}

// That names are variables, calls are reductions of one quantity, and the whole is true or false.
void check_names(const Expression& expression, const core::Source& source) {
  if (expression.kind == Expression::Kind::name && find(variables(), expression.name) == nullptr) {
    const core::Error error =
        core::unknown_name("variable", expression.name, variables().names(), source.place(expression.column));
    throw core::Error(
        error.message(), error.where(),
        error.hint() + fmt::format("; of a quantity take a reduction, such as `max({})`", expression.name));
  }
  if (expression.kind != Expression::Kind::call) {
    for (const Expression& part : expression.parts) check_names(part, source);
    return;
  }
  if (find(reductions(), expression.name) == nullptr)
    throw core::unknown_name("reduction", expression.name, reductions().names(), source.place(expression.column));
  if (expression.parts.size() != 1 || expression.parts.front().kind != Expression::Kind::name)
    throw core::Error(fmt::format("`{}` takes the name of one quantity", expression.name),
                      source.place(expression.column), fmt::format("for example `{}(gas_density)`", expression.name));
}

Expression parsed(const core::Source& source) {
  Expression all = core::parse(source);
  check_names(all, source);
  if (!all.is_truth)
    throw core::Error("a number is neither true nor false", source.place(1),
                      "compare it with another, for example `... > 1e7`");
  return all;
}

void check_parts(const Expression& expression, const core::Source& source, std::span<const std::string> quantities,
                 bool has_redshift) {
  if (expression.kind == Expression::Kind::call) {
    const std::vector<std::string> names(quantities.begin(), quantities.end());
    const Expression& quantity = expression.parts.front();
    if (std::ranges::find(names, quantity.name) == names.end())
      throw core::unknown_name("quantity", quantity.name, names, source.place(quantity.column));
    return;
  }
  if (expression.kind == Expression::Kind::name && expression.name == "redshift" && !has_redshift)
    throw core::Error("this simulation has no redshift", source.place(expression.column), "use `time` or `step`");
  for (const Expression& part : expression.parts) check_parts(part, source, quantities, has_redshift);
}

double value_of(const Expression& expression, PresentState& state) {
  using Kind = Expression::Kind;
  const auto part = [&](std::size_t n) { return value_of(expression.parts[n], state); };
  switch (expression.kind) {
    case Kind::number:
      return expression.number;
    case Kind::name:
      return state.value(*find(variables(), expression.name));
    case Kind::call:
      return state.reduced(*find(reductions(), expression.name), expression.parts.front().name);
    case Kind::both:
      return part(0) != 0.0 ? part(1) : 0.0;
    case Kind::either:
      return part(0) != 0.0 ? 1.0 : part(1);
    case Kind::operation:
      break;
  }
  const double left = part(0);
  return expression.operation(left, expression.parts.size() > 1 ? part(1) : 0.0);
}

}  // namespace

const core::Registry<Reduction>& reductions() {
  static const core::Registry<Reduction> all(
      {"reductions", "reduction", "of a quantity, in `when` and `only_if`"},
      {{"min", "the smallest value in any cell", smallest},
       {"max", "the largest value in any cell", largest},
       {"mean", "the mean, each cell by its volume", mean},
       {"sum", "the sum over cells, each by its volume in cells of level 0", sum}});
  return all;
}

const core::Registry<Variable>& variables() {
  static const core::Registry<Variable> all(
      {"variables", "variable", "of the moment, in `when` and `only_if`"},
      {{"step", "number of the step", [](const mesh::Moment& m, double) { return static_cast<double>(m.step); }},
       {"time", "as in `at_time`: in Gyr in cosmology",
        [](const mesh::Moment& m, double unit) { return m.time / unit; }},
       {"redshift", "in cosmology", [](const mesh::Moment& m, double) {
          return m.redshift().value_or(std::numeric_limits<double>::quiet_NaN());
        }}});
  return all;
}

double PresentState::reduced(const Reduction& reduction, const std::string& quantity) {
  const auto [known, is_new] = known_.try_emplace({reduction.name, quantity}, 0.0);
  if (is_new) known->second = reduction.of(*comm_, snapshot_(), quantity);
  return known->second;
}

Condition::Condition(const core::Node& node)
    : text_(node.text()),
      where_(node.where()),
      expression_(std::make_shared<const Expression>(parsed({text_, where_}))) {}

bool Condition::holds(PresentState& state) const {
  return value_of(*expression_, state) != 0.0;
}

void Condition::check(std::span<const std::string> quantities, bool has_redshift) const {
  check_parts(*expression_, {text_, where_}, quantities, has_redshift);
}

}  // namespace sidestream::couple
