#pragma once

#include <string>
#include <vector>

#include "sidestream/couple/condition.hpp"

namespace sidestream::couple {

/// A node of an expression. Truth is 1 or 0.
struct Expression {
  enum class Kind { number, variable, reduction, operation, both, either };

  Kind kind = Kind::number;
  bool is_truth = false;
  std::size_t column = 1;  ///< in the text, from 1
  double number = 0.0;
  const Variable* variable = nullptr;
  const Reduction* reduction = nullptr;
  std::string quantity{};
  double (*operation)(double left, double right) = nullptr;  ///< of one or two parts
  std::vector<Expression> parts{};
};

/// Where an expression was written: its text and its place in the configuration.
struct Source {
  const std::string& text;
  const std::string& where;

  /// "run.toml:5:8, key `task.a.when`, column 5 of `max(x) > 1`"
  std::string place(std::size_t column) const;
};

/// Throws core::Error.
Expression parse(const Source& source);

/// Collective where it asks for a reduction.
double value_of(const Expression& expression, PresentState& state);

}  // namespace sidestream::couple
