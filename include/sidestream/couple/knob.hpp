#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/core/config.hpp"

namespace sidestream::couple {

/// A number, word, flag or vector of a run that may change between two steps: how a user names it, what it may be, and
/// how to get at it.
struct Knob {
  core::Option option;  ///< as the configuration declares it; its name is the whole key: "hydro.cfl"
  /// What is meant by a value, without units. Throws core::Error with the range or the choices. Any thread may call it.
  std::function<nlohmann::json(const core::Node& value)> read;
  /// The present value, as `read` gives it; null where none is set.
  std::function<nlohmann::json()> value;
  /// Sets what `read` gave, on one rank, all of which do. Throws core::Error, on all alike, where it does not go with
  /// the state of the run: then nothing has changed.
  std::function<void(const nlohmann::json& value)> set;
};

/// The option `key` of those of `table`, by its whole name.
core::Option option_of(const std::vector<core::Option>& options, const std::string& table, const std::string& key);

/// A knob as it is told of: `name`, `meaning`, `type` ("number", "whole number", "flag", "word", "vector"), `unit`,
/// `minimum`, `maximum`, `choices`, without what it has not.
nlohmann::json description_of(const Knob& knob, const nlohmann::json& value);

/// The value, as `Knob::read` gives it, as the configuration writes it.
core::Node node_of(const Knob& knob, const nlohmann::json& value);

/// A knob by functions that get and set a value of the type of its option: a number, a word or a vector.
template <typename V>
Knob make_knob(core::Option option, std::function<nlohmann::json()> value, std::function<void(const V&)> set);

/// A knob that is a variable (a flag, a number, a word or a vector), which outlives it. `take_up`, if any, is called
/// where it was set.
template <typename V>
Knob make_knob(core::Option option, V& variable, std::function<void()> take_up = {});
template <typename V>
Knob make_knob(core::Option option, std::optional<V>& variable);

}  // namespace sidestream::couple
