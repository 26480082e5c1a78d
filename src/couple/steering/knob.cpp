#include "sidestream/couple/knob.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

std::string type_of(const nlohmann::json& value) {
  if (value.is_boolean()) return "flag";
  if (value.is_string()) return "word";
  if (value.is_array()) return "vector";
  return value.is_number_integer() ? "whole number" : "number";
}

// That in which values are, without a factor.
std::string unit_of(const core::Option& option) {
  if (option.units != nullptr)
    for (const auto& [name, factor] : *option.units)
      if (factor == 1.0) return name;
  return "";
}

}  // namespace

core::Option option_of(const std::vector<core::Option>& options, const std::string& table, const std::string& key) {
  const auto found = std::ranges::find(options, key, &core::Option::name);
  core::require(found != options.end(), "a knob is an option of its table");
  core::Option option = *found;
  option.name = table + "." + key;
  return option;
}

nlohmann::json description_of(const Knob& knob, const nlohmann::json& value) {
  const core::Option& option = knob.option;
  nlohmann::json all{{"name", option.name}, {"meaning", option.documentation}, {"value", value}};
  all["type"] = value.is_null() ? "number" : type_of(value);
  if (const std::string unit = unit_of(option); !unit.empty()) all["unit"] = unit;
  if (option.minimum) all["minimum"] = *option.minimum;
  if (option.maximum) all["maximum"] = *option.maximum;
  if (!option.choices.empty()) all["choices"] = option.choices;
  return all;
}

core::Node node_of(const Knob& knob, const nlohmann::json& value) {
  if (value.is_boolean()) return core::Node(value.get<bool>());
  if (value.is_string()) return core::Node(value.get<std::string>());
  if (value.is_array()) return *core::to_node(value.get<std::vector<double>>(), knob.option);
  if (value.is_number_integer()) return core::Node(value.get<std::int64_t>());
  return *core::to_node(value.get<double>(), knob.option);
}

template <typename V>
Knob make_knob(core::Option option, std::function<nlohmann::json()> value, std::function<void(const V&)> set) {
  return {option,
          [option](const core::Node& node) {
            V read{};
            core::read_value(node, option, read);
            return nlohmann::json(read);
          },
          std::move(value), [set = std::move(set)](const nlohmann::json& to) { set(to.get<V>()); }};
}

template <typename V>
Knob make_knob(core::Option option, V& variable, std::function<void()> take_up) {
  return make_knob<V>(
      std::move(option), [&variable] { return nlohmann::json(variable); },
      [&variable, take_up = std::move(take_up)](const V& to) {
        variable = to;
        if (take_up) take_up();
      });
}

template <typename V>
Knob make_knob(core::Option option, std::optional<V>& variable) {
  Knob knob = make_knob<V>(std::move(option),
                           [&variable] { return variable ? nlohmann::json(*variable) : nlohmann::json(); }, {});
  knob.set = [&variable](const nlohmann::json& to) {
    variable = to.is_null() ? std::nullopt : std::optional(to.get<V>());
  };
  return knob;
}

template Knob make_knob(core::Option, std::function<nlohmann::json()>, std::function<void(const std::int64_t&)>);
template Knob make_knob(core::Option, std::function<nlohmann::json()>, std::function<void(const double&)>);
template Knob make_knob(core::Option, std::function<nlohmann::json()>, std::function<void(const std::string&)>);
template Knob make_knob(core::Option, std::function<nlohmann::json()>, std::function<void(const std::vector<double>&)>);
template Knob make_knob(core::Option, bool&, std::function<void()>);
template Knob make_knob(core::Option, std::int64_t&, std::function<void()>);
template Knob make_knob(core::Option, double&, std::function<void()>);
template Knob make_knob(core::Option, std::string&, std::function<void()>);
template Knob make_knob(core::Option, std::vector<double>&, std::function<void()>);
template Knob make_knob(core::Option, std::optional<std::int64_t>&);
template Knob make_knob(core::Option, std::optional<double>&);

}  // namespace sidestream::couple
