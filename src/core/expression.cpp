#include "sidestream/core/expression.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/utf8.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::core {

namespace {

using NodeKind = Expression::Kind;

// So that no text exhausts the stack.
constexpr int deepest = 100;
constexpr std::size_t longest = 1000;

struct Operator {
  std::string_view sign;
  double (*operation)(double, double);
};
constexpr std::array comparisons{
    Operator{"<=", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    Operator{">=", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
    Operator{"==", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    Operator{"!=", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
    Operator{"<", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    Operator{">", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
};
constexpr std::array sums{Operator{"+", [](double a, double b) { return a + b; }},
                          Operator{"-", [](double a, double b) { return a - b; }}};
constexpr std::array products{Operator{"*", [](double a, double b) { return a * b; }},
                              Operator{"/", [](double a, double b) { return a / b; }}};

// Signs of other languages, and what is written here.
struct Foreign {
  std::string_view sign, hint;
};
constexpr std::array foreign{Foreign{"&&", "write `and`"}, Foreign{"||", "write `or`"}, Foreign{"!", "write `not`"},
                             Foreign{"=", "to compare, write `==`"}, Foreign{"^", "write a product"}};

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_in_name(char c) {
  return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Recursive descent: one function for each rank of the operators, from `or` down to a number.
class Parser {
 public:
  explicit Parser(const Source& source) : source_(source) {}

  Expression whole() {
    if (source_.text.size() > longest)
      fail(longest, "the expression is too long", fmt::format("{} characters are the most", longest));
    Expression all = either();
    if (!at_end()) fail(at_, "this is not understood", hint_for_rest());
    return all;
  }

 private:
  [[noreturn]] void fail(std::size_t column, const std::string& what, const std::string& hint) const {
    throw Error(what, source_.place(column), hint);
  }
  std::string hint_for_rest() const {
    const std::string_view rest = std::string_view(source_.text).substr(at_ - 1);
    for (const auto& [sign, hint] : foreign)
      if (rest.starts_with(sign)) return std::string(hint);
    return "an expression is made of numbers, names, functions of them, + - * /, comparisons, `and`, `or`, `not`";
  }

  // Skips blanks.
  bool at_end() {
    while (at_ <= source_.text.size() && std::isspace(static_cast<unsigned char>(source_.text[at_ - 1])) != 0) ++at_;
    return at_ > source_.text.size();
  }
  bool takes(std::string_view sign) {
    if (at_end() || !std::string_view(source_.text).substr(at_ - 1).starts_with(sign)) return false;
    if (begins_name(sign.front()) && name_here() != sign) return false;
    at_ += sign.size();
    return true;
  }
  std::string_view name_here() const {
    std::size_t end = at_ - 1;
    while (end < source_.text.size() && is_in_name(source_.text[end])) ++end;
    return std::string_view(source_.text).substr(at_ - 1, end - (at_ - 1));
  }
  template <typename Operators>
  const Operator* take_one_of(const Operators& operators) {
    for (const Operator& candidate : operators)
      if (takes(candidate.sign)) return &candidate;
    return nullptr;
  }

  Expression joined(NodeKind kind, Expression left, Expression right) const {
    for (const Expression* part : {&left, &right})
      if (!part->is_truth)
        fail(part->column, "a number is neither true nor false", "`and`, `or` and `not` join comparisons");
    Expression all{.kind = kind, .is_truth = true, .column = left.column};
    all.parts = {std::move(left), std::move(right)};
    return all;
  }
  Expression combined(const Operator& with, bool is_truth, Expression left, Expression right) const {
    for (const Expression* part : {&left, &right})
      if (part->is_truth)
        fail(part->column, fmt::format("`{}` takes numbers, and this is true or false", with.sign),
             is_truth ? "join two comparisons with `and`"
                      : "join comparisons with `and`; in a quantity `where(a > b, 1, 0)` is a number");
    Expression all{
        .kind = NodeKind::operation, .is_truth = is_truth, .column = left.column, .operation = with.operation};
    all.parts = {std::move(left), std::move(right)};
    return all;
  }

  Expression either() {
    if (++depth_ > deepest) fail(at_, "the expression is nested too deeply", "use fewer parentheses");
    Expression left = both();
    while (takes("or")) left = joined(NodeKind::either, std::move(left), both());
    --depth_;
    return left;
  }
  Expression both() {
    Expression left = inverted();
    while (takes("and")) left = joined(NodeKind::both, std::move(left), inverted());
    return left;
  }
  Expression inverted() {
    at_end();
    const std::size_t column = at_;
    bool is_inverted = false;
    while (takes("not")) is_inverted = !is_inverted;
    Expression inner = comparison();
    if (!is_inverted) return inner;
    if (!inner.is_truth) fail(inner.column, "a number is neither true nor false", "`not` stands before a comparison");
    Expression all{.kind = NodeKind::operation, .is_truth = true, .column = column};
    all.operation = [](double truth, double) { return 1.0 - truth; };
    all.parts = {std::move(inner)};
    return all;
  }
  Expression comparison() {
    Expression left = sum();
    while (const Operator* with = take_one_of(comparisons)) left = combined(*with, true, std::move(left), sum());
    return left;
  }
  Expression sum() {
    Expression left = product();
    while (const Operator* with = take_one_of(sums)) left = combined(*with, false, std::move(left), product());
    return left;
  }
  Expression product() {
    Expression left = factor();
    while (const Operator* with = take_one_of(products)) left = combined(*with, false, std::move(left), factor());
    return left;
  }
  Expression factor() {
    at_end();
    const std::size_t column = at_;
    bool is_negative = false;
    while (takes("-")) is_negative = !is_negative;
    Expression inner = operand();
    if (!is_negative) return inner;
    Expression zero{.kind = NodeKind::number, .column = column, .number = -0.0};
    return combined(sums[1], false, std::move(zero), std::move(inner));
  }

  Expression operand() {
    if (at_end()) fail(at_, "the expression ends too early", "a number or a name is missing here");
    const std::size_t column = at_;
    if (takes("(")) {
      Expression inner = either();
      if (!takes(")")) fail(at_, "a `)` is missing", "");
      return inner;
    }
    const std::string_view name = name_here();
    if (name.empty() || !begins_name(name.front())) return number();
    at_ += name.size();
    if (takes("(")) return call(column, name);
    return {.kind = NodeKind::name, .column = column, .name = std::string(name)};
  }
  Expression number() {
    const char* const first = source_.text.data() + (at_ - 1);
    Expression found{.kind = NodeKind::number, .column = at_};
    const auto [end, status] = std::from_chars(first, source_.text.data() + source_.text.size(), found.number);
    if (status != std::errc{} || !std::isfinite(found.number)) fail(at_, "this is no number", hint_for_rest());
    at_ += static_cast<std::size_t>(end - first);
    return found;
  }
  Expression call(std::size_t column, std::string_view name) {
    Expression found{.kind = NodeKind::call, .column = column, .name = std::string(name)};
    if (takes(")")) return found;
    do found.parts.push_back(either());
    while (takes(","));
    if (!takes(")")) fail(at_, "a `)` is missing", "");
    return found;
  }

  const Source& source_;
  std::size_t at_ = 1;  // column of the next character
  int depth_ = 0;
};

}  // namespace

std::string Source::place(std::size_t column) const {
  return fmt::format("{}{}column {} of `{}`", where, where.empty() ? "" : ", ", column, excerpt(text, column));
}

Expression parse(const Source& source) {
  return Parser(source).whole();
}

}  // namespace sidestream::core
