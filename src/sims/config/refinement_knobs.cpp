#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sims/config/amr_config.hpp"

namespace sidestream::sims {

namespace {

// Between which a quantity may lie.
constexpr std::array<std::string_view, 4> limits{"refine_above", "coarsen_below", "refine_below", "coarsen_above"};

// The criterion is made again of its table; where that refuses the value, nothing has changed.
couple::Knob limit_of(AmrConfig& config, std::size_t rule, const core::Option& option, const std::string& key) {
  const std::string name = config.criteria[rule].name;
  return couple::make_knob<double>(
      option, [&config, name, key] { return nlohmann::json(config.rules.find(name)->find(key)->number()); },
      [&config, rule, name, key](double value) {
        core::Node table = *config.rules.find(name);
        table.set(key, core::Node(value));
        amr::Criterion criterion = amr::criterion_kinds().chosen(table, "criterion").make(table, nullptr);
        criterion.name = name;
        config.criteria[rule] = std::move(criterion);
        config.rules.set(name, std::move(table));
      });
}

}  // namespace

std::vector<couple::Knob> refinement_knobs(AmrConfig& config, const std::function<void()>& take_up) {
  if (config.max_level == 0) return {};
  const std::vector<core::Option> own = amr_table().options();
  std::vector<couple::Knob> knobs{
      couple::make_knob(couple::option_of(own, "amr", "max_blocks"), config.max_blocks),
      couple::make_knob(couple::option_of(own, "amr", "regrid_every"), config.regrid_every),
      couple::make_knob(couple::option_of(own, "amr", "subcycle"), config.subcycle, take_up)};
  for (std::size_t rule = 0; rule < config.criteria.size(); ++rule) {
    const core::Node& table = *config.rules.find(config.criteria[rule].name);
    const std::vector<core::Option> options = amr::criterion_kinds().chosen(table, "criterion").options();
    for (const core::Option& option : options)
      if (std::ranges::find(limits, option.name) != limits.end())
        knobs.push_back(limit_of(config, rule,
                                 couple::option_of(options, "refine." + config.criteria[rule].name, option.name),
                                 option.name));
  }
  return knobs;
}

}  // namespace sidestream::sims
