#include "sidestream/mesh/derived.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/expression.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::mesh {

using core::Expression;

/// An expression whose names are known.
struct DerivedQuantity::Term {
  enum class Kind { number, quantity, scale_factor, redshift, gamma, function, operation, both, either };

  Kind kind = Kind::number;
  double number = 0.0;
  std::size_t input = 0;  // among the quantities that it follows from
  const CellFunction* function = nullptr;
  double (*operation)(double, double) = nullptr;
  std::vector<Term> parts{};
};

namespace {

using Term = DerivedQuantity::Term;

// Numbers of the moment, columns of results that stand beside those of quantities, and words of expressions.
constexpr std::array taken_names{"redshift", "scale_factor", "gamma", "step", "time", "id", "x", "y",
                                 "z",        "and",          "or",    "not"};

// Of all cells, in conditions.
constexpr std::array reductions{"min", "max", "mean", "sum"};

bool is_taken(const std::string& name) {
  return std::ranges::find(taken_names, name) != taken_names.end() ||
         std::ranges::find(cell_functions(), name, &CellFunction::name) != cell_functions().end();
}

// The inputs of a row of cells.
struct Row {
  std::vector<const double*> inputs;
  std::size_t width = 0;
  CellConstants constants;
};

using Values = std::vector<double>;

Values value_of(const Term& term, const Row& row);

template <typename F>
Values elementwise(const Term& term, const Row& row, F f) {
  std::array<Values, 3> parts;
  for (std::size_t p = 0; p < term.parts.size(); ++p) parts[p] = value_of(term.parts[p], row);
  Values& out = parts[0];
  for (std::size_t i = 0; i < row.width; ++i)
    out[i] = f(out[i], term.parts.size() > 1 ? parts[1][i] : 0.0, term.parts.size() > 2 ? parts[2][i] : 0.0);
  return std::move(out);
}

Values value_of(const Term& term, const Row& row) {
  using Kind = Term::Kind;
  const auto all = [&](double value) { return Values(row.width, value); };
  switch (term.kind) {
    case Kind::number:
      return all(term.number);
    case Kind::scale_factor:
      return all(row.constants.scale_factor);
    case Kind::redshift:
      return all(1.0 / row.constants.scale_factor - 1.0);
    case Kind::gamma:
      return all(row.constants.gamma);
    case Kind::quantity:
      return {row.inputs[term.input], row.inputs[term.input] + row.width};
    case Kind::function:
      return elementwise(term, row, term.function->of);
    case Kind::both:
      return elementwise(term, row, [](double a, double b, double) { return a != 0.0 && b != 0.0 ? 1.0 : 0.0; });
    case Kind::either:
      return elementwise(term, row, [](double a, double b, double) { return a != 0.0 || b != 0.0 ? 1.0 : 0.0; });
    case Kind::operation:
      break;
  }
  return elementwise(term, row, [&](double a, double b, double) { return term.operation(a, b); });
}

// Fills `of` and `columns` with the quantities that are named.
class Resolver {
 public:
  Resolver(const core::Source& source, std::vector<std::string>& of, std::vector<std::size_t>& columns)
      : source_(source), of_(of), columns_(columns) {}

  Term operator()(const Expression& expression) {
    using Kind = Expression::Kind;
    Term term{.number = expression.number, .operation = expression.operation};
    switch (expression.kind) {
      case Kind::number:
        return term;
      case Kind::name:
        return named(expression);
      case Kind::call:
        term.kind = Term::Kind::function;
        term.function = &function(expression);
        break;
      case Kind::operation:
        term.kind = Term::Kind::operation;
        break;
      case Kind::both:
        term.kind = Term::Kind::both;
        break;
      case Kind::either:
        term.kind = Term::Kind::either;
        break;
    }
    for (const Expression& part : expression.parts) term.parts.push_back((*this)(part));
    return term;
  }

 private:
  Term named(const Expression& expression) {
    if (expression.name == "scale_factor") return {.kind = Term::Kind::scale_factor};
    if (expression.name == "redshift") return {.kind = Term::Kind::redshift};
    if (expression.name == "gamma") return {.kind = Term::Kind::gamma};
    auto found = std::ranges::find(of_, expression.name);
    if (found == of_.end()) {
      found = of_.insert(of_.end(), expression.name);
      columns_.push_back(expression.column);
    }
    return {.kind = Term::Kind::quantity, .input = static_cast<std::size_t>(found - of_.begin())};
  }
  const CellFunction& function(const Expression& call) const {
    if (call.parts.size() == 1 && std::ranges::find(reductions, call.name) != reductions.end())
      throw core::Error(fmt::format("`{}` of one quantity is a number of all cells", call.name),
                        source_.place(call.column),
                        "reductions are for conditions (`when`, `only_if`); here all is of one cell");
    const auto found = std::ranges::find(cell_functions(), call.name, &CellFunction::name);
    if (found == cell_functions().end())
      throw core::unknown_name("function", call.name, cell_functions().names(), source_.place(call.column));
    if (call.parts.size() != found->arguments)
      throw core::Error(fmt::format("`{}` takes {} argument{}, not {}", call.name, found->arguments,
                                    found->arguments == 1 ? "" : "s", call.parts.size()),
                        source_.place(call.column), found->documentation);
    for (const Expression& part : call.parts)
      if (const bool decides = call.name == "where" && &part == &call.parts.front(); part.is_truth != decides)
        throw core::Error(decides ? "a number is neither true nor false"
                                  : fmt::format("`{}` takes numbers, and this is true or false", call.name),
                          source_.place(part.column), found->documentation);
    return *found;
  }

  const core::Source& source_;
  std::vector<std::string>& of_;
  std::vector<std::size_t>& columns_;
};

struct Keys {
  std::string expression, unit, meaning;
};

core::Table<Keys> quantity_table() {
  core::Table<Keys> table("A quantity that follows from others, cell by cell");
  table.option("expression", &Keys::expression, "")
      .required()
      .doc("of quantities, numbers, `gamma`, `redshift` and `scale_factor`, with + - * /, comparisons and functions");
  table.option("unit", &Keys::unit, "1").doc("its unit, as tables and figures name it");
  table.option("meaning", &Keys::meaning, "").doc("what it is, in a few words");
  return table;
}

void check_name(const core::Node& node, const std::string& name, const std::vector<Quantity>& known) {
  if (std::ranges::find(known, name, &Quantity::name) != known.end())
    core::reject(node, fmt::format("`{}` is there already", name), "give the new quantity another name");
  if (const std::string problem = problem_of_name(name); !problem.empty())
    core::reject(node, problem, "use letters, digits and `_`, and no word that means something else");
}

// Each after those that it follows from.
std::vector<DerivedQuantity> sorted(std::vector<DerivedQuantity> waiting, const core::Node& where) {
  std::vector<DerivedQuantity> done;
  while (!waiting.empty()) {
    const auto is_ready = [&](const DerivedQuantity& one) {
      return std::ranges::none_of(waiting, [&](const DerivedQuantity& other) {
        return std::ranges::find(one.of(), other.quantity().name) != one.of().end();
      });
    };
    const auto next = std::ranges::find_if(waiting, is_ready);
    if (next == waiting.end())
      core::reject(*where.find(waiting.front().quantity().name),
                   fmt::format("the quantity `{}` follows from itself", waiting.front().quantity().name),
                   "let each follow from others only");
    done.push_back(std::move(*next));
    waiting.erase(next);
  }
  return done;
}

}  // namespace

const core::Registry<CellFunction>& cell_functions() {
  static const core::Registry<CellFunction> all(
      {"functions", "function", "of a cell's numbers, in `[quantity.NAME] expression`"},
      {{"sqrt", "sqrt(x): the square root", 1, [](double a, double, double) { return std::sqrt(a); }},
       {"abs", "abs(x): without its sign", 1, [](double a, double, double) { return std::fabs(a); }},
       {"exp", "exp(x): e to the power of x", 1, [](double a, double, double) { return core::exp(a); }},
       {"log", "log(x): the natural logarithm", 1, [](double a, double, double) { return core::log(a); }},
       {"log10", "log10(x): the decimal logarithm", 1, [](double a, double, double) { return core::log10(a); }},
       {"pow", "pow(x, y): x to the power of y", 2, [](double a, double b, double) { return core::pow(a, b); }},
       {"min", "min(x, y): the smaller one", 2, [](double a, double b, double) { return b < a ? b : a; }},
       {"max", "max(x, y): the larger one", 2, [](double a, double b, double) { return b > a ? b : a; }},
       {"where", "where(condition, x, y): x in cells where the condition holds, y elsewhere", 3,
        [](double truth, double a, double b) { return truth != 0.0 ? a : b; }}});
  return all;
}

std::string problem_of_name(const std::string& name) {
  const auto is_fit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool is_name = !name.empty() && is_fit(name.front()) &&
                       std::ranges::all_of(name, [&](char c) { return is_fit(c) || (c >= '0' && c <= '9'); });
  if (!is_name) return fmt::format("`{}` is no name of a quantity", name);
  return is_taken(name) ? fmt::format("`{}` is there already", name) : "";
}

DerivedQuantity::DerivedQuantity(Quantity quantity, const core::Node& expression)
    : quantity_(std::move(quantity)), text_(expression.text()), where_(expression.where()) {
  const core::Source source{text_, where_};
  term_ = std::make_shared<const Term>(Resolver(source, of_, columns_)(core::parse(source)));
}

void DerivedQuantity::check(const std::vector<std::string>& quantities, bool has_redshift) const {
  const core::Source source{text_, where_};
  std::vector<std::string> known = quantities;
  std::erase(known, quantity_.name);
  known.push_back("gamma");
  if (has_redshift) known.insert(known.end(), {"redshift", "scale_factor"});
  for (std::size_t i = 0; i < of_.size(); ++i)
    if (std::ranges::find(quantities, of_[i]) == quantities.end())
      throw core::unknown_name("quantity", of_[i], known, source.place(columns_[i]));
  const auto asks = [](const auto& self, const Term& term) -> bool {
    return term.kind == Term::Kind::redshift || term.kind == Term::Kind::scale_factor ||
           std::ranges::any_of(term.parts, [&](const Term& part) { return self(self, part); });
  };
  if (!has_redshift && asks(asks, *term_))
    throw core::Error("this simulation has no redshift", where_, "leave `redshift` and `scale_factor` out");
}

void DerivedQuantity::add_to(Snapshot& snapshot) const {
  const CellConstants constants{snapshot.moment.scale_factor.value_or(1.0), snapshot.gamma};
  snapshot.add_derived(
      quantity_, of_,
      [derived = *this, constants](const Box& box, std::span<const core::View4<const double>> of,
                                   const core::View4<double>& out) { derived.fill(box, of, constants, out); });
}

void DerivedQuantity::fill(const Box& box, std::span<const core::View4<const double>> of,
                           const CellConstants& constants, const core::View4<double>& out) const {
  core::for_each_row(box, [&](int k, int j) {
    Row row{{}, static_cast<std::size_t>(box.extent().x), constants};
    for (const auto& input : of) row.inputs.push_back(&input(k, j, box.lo.x));
    std::ranges::copy(value_of(*term_, row), &out(k, j, box.lo.x));
  });
}

std::vector<DerivedQuantity> read_derived(const core::Node& root, const std::vector<Quantity>& known, bool has_redshift,
                                          core::Node* resolved) {
  const core::Node* const tables = root.find("quantity");
  if (tables == nullptr) return {};
  std::vector<std::string> names = names_of(known);
  std::vector<DerivedQuantity> all;
  core::Node full(core::Node::Members{});
  for (const auto& [name, node] : tables->members()) {
    check_name(node, name, known);
    core::Node part;
    const Keys keys = quantity_table().read(node, &part);
    all.emplace_back(Quantity{name, keys.unit, keys.meaning}, *node.find("expression"));
    full.set(name, part);
    names.push_back(name);
  }
  for (const DerivedQuantity& derived : all) derived.check(names, has_redshift);
  if (resolved != nullptr) resolved->set("quantity", full);
  return sorted(std::move(all), *tables);
}

std::vector<core::Option> quantity_options() {
  return quantity_table().options();
}

}  // namespace sidestream::mesh
