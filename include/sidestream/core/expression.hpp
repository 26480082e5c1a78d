#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sidestream::core {

/// A node of an expression such as `max(temperature) > 1e7 and step > 10`: arithmetic, comparisons and calls. What
/// names and functions mean is for who reads it. Truth is 1 or 0.
struct Expression {
  enum class Kind { number, name, call, operation, both, either };

  Kind kind = Kind::number;
  bool is_truth = false;
  std::size_t column = 1;  ///< in the text, from 1
  double number = 0.0;
  std::string name{};                                        ///< of what is called, too
  double (*operation)(double left, double right) = nullptr;  ///< of one or two parts
  std::vector<Expression> parts{};                           ///< arguments of a call
};

/// Where an expression was written: its text and its place in the configuration.
struct Source {
  const std::string& text;
  const std::string& where;

  /// "run.toml:5:8, key `task.a.when`, column 5 of `max(x) > 1`"
  std::string place(std::size_t column) const;
};

/// Throws core::Error with the column.
Expression parse(const Source& source);

}  // namespace sidestream::core
