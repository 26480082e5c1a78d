#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/analysis/analysis.hpp"

namespace sidestream::analysis {

/// A table of options that leaves the keys of the coupling to the coupling.
template <typename T>
core::Table<T> task_table(std::string documentation) {
  core::Table<T> table(std::move(documentation));
  for (const std::string& key : task_keys()) table.ignore(key);
  return table;
}

/// The registry entry of an analysis class `A` with a plain struct `A::Parameters`, their table `A::table()`, and a
/// constructor from them that throws core::Error for what the table cannot say, at the key that it is about.
template <typename A>
AnalysisEntry entry_of(std::string name) {
  return {std::move(name), A::table().documentation(),
          [](const core::Node& node, core::Node* resolved) -> std::unique_ptr<Analysis> {
            auto parameters = A::table().read(node, resolved);
            try {
              return std::make_unique<A>(std::move(parameters));
            } catch (const core::Error& error) {
              const core::Node* const key = node.find(error.where());
              core::reject(key != nullptr ? *key : node, error.message(), error.hint());
            }
          },
          [] { return A::table().options(); }};
}

/// Appends the elements of `more` that are not there yet.
inline void append_new(std::vector<std::string>& names, const std::vector<std::string>& more) {
  for (const std::string& name : more)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace sidestream::analysis
