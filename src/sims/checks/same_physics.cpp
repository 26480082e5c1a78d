#include "sims/checks/same_physics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "sidestream/core/error.hpp"
#include "sidestream/io/open_snapshot.hpp"

namespace sidestream::sims {

namespace {

using Physics = std::map<std::string, std::string>;

constexpr const char* simulation_key = "simulation";

std::string table_of(const std::string& key) {
  return key.substr(0, key.find('.'));
}

// What may differ: all that either has. Earlier versions did not keep the simulation, nor the engine of transforms, and
// fewer keys of a table.
Physics comparable(const Physics& kept, const Physics& wanted) {
  Physics all = kept;
  const bool is_early = !kept.contains(simulation_key);
  const auto has_table = [&](const std::string& table) {
    return std::ranges::any_of(std::views::keys(kept), [&](const std::string& key) { return table_of(key) == table; });
  };
  for (const auto& [key, text] : wanted)
    if (key != fft_engine_key && (!is_early || (key != simulation_key && !has_table(table_of(key)))))
      all.emplace(key, text);
  return all;
}

void require_known(std::span<const std::string> allowed, const Physics& physics) {
  for (const std::string& key : allowed)
    if (key == simulation_key || !physics.contains(key))
      throw core::Error(fmt::format("`{}` is no key that is compared here and may change", key), "--allow-change",
                        fmt::format("those there are: {}", fmt::join(std::views::keys(physics), ", ")));
}

}  // namespace

Physics physics_in(const mesh::Snapshot& checkpoint) {
  const auto found = checkpoint.texts.find(physics_text);
  if (found == checkpoint.texts.end()) return {};
  return nlohmann::json::parse(found->second);
}

std::string differences(const Physics& kept, const Physics& wanted, std::span<const std::string> allowed,
                        const std::string& holder) {
  const auto value = [](const Physics& all, const std::string& key) {
    const auto found = all.find(key);
    return found == all.end() ? std::string("nothing") : found->second;
  };
  std::string text;
  for (const auto& [key, unused] : comparable(kept, wanted))
    if (value(kept, key) != value(wanted, key) && std::ranges::find(allowed, key) == allowed.end())
      text += fmt::format("{}`{}` is {} in {}, {} in the configuration", text.empty() ? "" : "; ", key,
                          value(kept, key), holder, value(wanted, key));
  return text;
}

Physics physics_of(const RunConfig& config) {
  Physics all = config.plan->physics();
  all[simulation_key] = config.simulation;
  return all;
}

void require_same_physics(const RunConfig& config, const Physics& kept, const std::string& path,
                          std::span<const std::string> allowed) {
  if (kept.empty()) return;
  const Physics wanted = physics_of(config);
  Physics known = kept;
  known.insert(wanted.begin(), wanted.end());
  require_known(allowed, known);
  if (const std::string different = differences(kept, wanted, allowed); !different.empty())
    throw core::Error("the checkpoint is of a run with other physics: " + different, path,
                      "give the configuration what the run had; `--allow-change KEY` goes on with another value; "
                      "`--from` begins another run with the state in a file");
}

void require_same_physics(const RunConfig& config, const std::vector<io::Generation>& generations,
                          std::span<const std::string> allowed) {
  for (const io::Generation& generation : generations) {
    Physics kept;
    try {
      kept = physics_in(io::open_snapshot_file(generation.path)->description().state);
    } catch (const core::Error&) {
      continue;  // to be passed over, with its name, when the run begins
    }
    return require_same_physics(config, kept, generation.path, allowed);
  }
}

void require_fitting_start(const RunConfig& config, const io::FileDescription& file,
                           std::span<const std::string> allowed) {
  const Physics in_file = config.plan->physics_of_start(file);
  require_known(allowed, in_file);
  Physics wanted = physics_of(config);
  std::erase_if(wanted, [&](const auto& entry) { return !in_file.contains(entry.first); });
  if (const std::string different = differences(in_file, wanted, allowed, "the file"); !different.empty())
    throw core::Error("the state does not fit the run: " + different, file.state.source,
                      "give the configuration what the file has; `--allow-change KEY` begins with another value");
}

}  // namespace sidestream::sims
