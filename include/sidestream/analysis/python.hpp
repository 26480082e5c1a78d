#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sidestream/analysis/analysis.hpp"

namespace sidestream::analysis {

/// The analysis that calls such functions, and what the name of a program with an interpreter ends in.
inline constexpr const char *python_analysis = "python", *with_python = "-python";

/// A function in a file of Python, as a task of the analysis `python` names it.
struct PythonCall {
  std::string file;                            ///< its absolute path
  std::string function;                        ///< of those in it; empty: the only one
  std::string parameters;                      ///< its keywords: a JSON object
  std::vector<std::string> fields, species{};  ///< instead of those it says itself; empty: those
};

/// Makes an analysis of a function. Throws core::Error for one that is not there or does not take the parameters.
using PythonLoader = std::function<std::unique_ptr<Analysis>(const PythonCall&)>;

/// What a process with an interpreter says before it reads a configuration. There is one interpreter a process.
void set_python(PythonLoader load);
bool has_python();

}  // namespace sidestream::analysis
