#include "options.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "sidestream/amr/criteria.hpp"
#include "sidestream/analysis/analysis.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/mesh/derived.hpp"
#include "sidestream/sims/run.hpp"
#include "sidestream/sims/simulation.hpp"

namespace sidestream::apps {

namespace {

using Json = nlohmann::ordered_json;

Json described(const core::Option& option) {
  Json all = {{"name", option.name}, {"documentation", option.documentation}};
  if (!option.default_text.empty()) all["default"] = option.default_text;
  if (option.is_required) all["required"] = true;
  if (option.minimum) all["minimum"] = *option.minimum;
  if (option.maximum) all["maximum"] = *option.maximum;
  if (!option.choices.empty()) all["choices"] = option.choices;
  if (option.units != nullptr)
    for (const auto& [unit, factor] : *option.units) all["units"].push_back(unit);
  return all;
}

Json table(const std::string& name, const std::vector<core::Option>& options) {
  Json all = Json::array();
  for (const core::Option& option : options) all.push_back(described(option));
  return {{"name", name}, {"options", std::move(all)}};
}

Json common_tables() {
  return {table("run", sims::run_options()),
          table("output.plotfile", sims::output_options("plotfile")),
          table("output.checkpoint", sims::output_options("checkpoint")),
          table("coupling", couple::coupling_options()),
          table("stream", couple::stream_options()),
          table("task.NAME", couple::task_options()),
          table("quantity.NAME", mesh::quantity_options())};
}

Json everything() {
  Json all = {{"simulations", Json::array()}, {"criteria", Json::array()}, {"tables", common_tables()}};
  for (const auto& simulation : sims::simulations()) {
    Json tables = Json::array();
    for (const auto& [name, options] : simulation.options()) tables.push_back(table(name, options));
    all["simulations"].push_back(
        {{"name", simulation.name}, {"documentation", simulation.documentation}, {"tables", std::move(tables)}});
  }
  const auto add = [&](const char* kind, const char* name, const auto& entry) {
    all[kind].push_back({{"name", entry.name},
                         {"documentation", entry.documentation},
                         {"tables", Json::array({table(name, entry.options())})}});
  };
  for (const auto& criterion : amr::criterion_kinds()) add("criteria", "refine.NAME", criterion);
  for (const auto& analysis : analysis::analyses()) add("analyses", "task.NAME", analysis);
  for (const auto& suite : analysis::suites()) {
    Json parts = Json::array();
    for (const auto& [part, parameters] : suite.parts)
      parts.push_back({{"name", "NAME_" + part}, {"parameters", parameters}});
    all["suites"].push_back(
        {{"name", suite.name}, {"documentation", suite.documentation}, {"parts", std::move(parts)}});
  }
  return all;
}

void print_tables(const Json& tables) {
  for (const Json& table : tables) {
    fmt::print("\n[{}]\n", table["name"].get<std::string>());
    for (const Json& option : table["options"])
      fmt::print("  {:<20} {}{}\n", option["name"].get<std::string>(), option["documentation"].get<std::string>(),
                 option.contains("required")   ? " (required)"
                 : !option.contains("default") ? ""
                                               : fmt::format(" (default {})", option["default"].get<std::string>()));
  }
}

void print_entries(const Json& entries, const char* key) {
  for (const Json& entry : entries) {
    fmt::print("\n{} = \"{}\": {}\n", key, entry["name"].get<std::string>(), entry["documentation"].get<std::string>());
    print_tables(entry["tables"]);
  }
}

}  // namespace

void print_options(bool as_json) {
  const Json all = everything();
  if (as_json) return fmt::print("{}\n", all.dump());
  print_entries(all["simulations"], "simulation");
  print_entries(all["criteria"], "criterion");
  print_tables(all["tables"]);
  print_entries(all["analyses"], "analysis");
  for (const Json& suite : all["suites"]) {
    fmt::print("\nanalysis = \"{}\": {}; the analyses\n", suite["name"].get<std::string>(),
               suite["documentation"].get<std::string>());
    for (const Json& part : suite["parts"]) {
      const std::string parameters = part["parameters"].get<std::string>();
      fmt::print("  {:<20} {}\n", part["name"].get<std::string>(), parameters.substr(0, parameters.find('\n')));
    }
  }
}

}  // namespace sidestream::apps
