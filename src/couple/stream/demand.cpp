#include "couple/stream/demand.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr const char* everything = "*";
constexpr int most_levels = 30;
constexpr std::size_t longest_names = 4096;  // of a demand: they are logged

// The cells of level `level` in which the region of a demand lies; the domain where it has none.
mesh::Box region_on(const Demand& demand, const mesh::Layout& layout) {
  if (!demand.region) return layout.domain();
  const auto scaled = [&](mesh::Int3 at) {
    const mesh::Int3 n = layout.domain().extent();
    for (int axis = 0; axis < 3; ++axis)
      at[axis] = n[axis] == 1 ? at[axis] : static_cast<std::int32_t>(std::int64_t{at[axis]} << layout.level());
    return at;
  };
  return {scaled(demand.region->lo), scaled(demand.region->hi)};
}

mesh::Layout meeting(const mesh::Layout& layout, const std::vector<mesh::Box>& regions) {
  std::vector<mesh::Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t index = 0; index < layout.size(); ++index) {
    const mesh::Box& box = layout.box(index);
    if (std::ranges::none_of(regions, [&](const mesh::Box& region) { return !intersection(box, region).is_empty(); }))
      continue;
    boxes.push_back(box);
    owners.push_back(layout.owner(index));
  }
  if (std::ssize(boxes) == layout.size()) return layout;
  return {layout.domain(), layout.periodic(), std::move(boxes), std::move(owners), layout.level()};
}

}  // namespace

json to_json(const Demand& demand) {
  json message = {{"quantities", demand.quantities}, {"species", demand.species}, {"single", demand.single_precision}};
  if (demand.finest_level) message["level"] = *demand.finest_level;
  if (demand.region) {
    const auto& [lo, hi] = *demand.region;
    message["region"] = {lo.x, lo.y, lo.z, hi.x, hi.y, hi.z};
  }
  return message;
}

Demand demand_from(const json& message) {
  Demand demand;
  message.at("quantities").get_to(demand.quantities);
  message.at("species").get_to(demand.species);
  message.at("single").get_to(demand.single_precision);
  std::size_t names = 0;
  for (const auto* list : {&demand.quantities, &demand.species})
    for (const std::string& name : *list) names += name.size() + 1;
  if (names > longest_names)
    throw core::Error("the names of what is wanted are too long", "", "ask for fewer fields at a time");
  if (message.contains("level")) demand.finest_level = message["level"].get<int>();
  if (demand.finest_level && (*demand.finest_level < 0 || *demand.finest_level > most_levels))
    throw core::Error(fmt::format("there is no level {}", *demand.finest_level), "", "levels are counted from 0");
  if (!message.contains("region")) return demand;
  const auto at = [&](std::size_t i) { return message["region"].at(i).get<std::int32_t>(); };
  demand.region = {{at(0), at(1), at(2)}, {at(3), at(4), at(5)}};
  if (demand.region->is_empty())
    throw core::Error("the region is empty: " + to_string(*demand.region), "",
                      "a region is a first cell and an end beyond it, in cells of level 0");
  return demand;
}

std::vector<std::string> fields_for(const Demand& demand, const std::vector<mesh::Quantity>& known) {
  std::vector<std::string> all;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(all, name) == all.end()) all.push_back(name);
  };
  for (const std::string& request : demand.quantities) {
    if (request == everything) {
      for (const mesh::Quantity& quantity : known) add(quantity.name);
      continue;
    }
    const bool is_optional = request.ends_with('?');
    const std::string name = request.substr(0, request.size() - (is_optional ? 1 : 0));
    const auto found = std::ranges::find(known, name, &mesh::Quantity::name);
    if (found == known.end() && !is_optional) throw core::unknown_name("quantity", name, mesh::names_of(known));
    if (found != known.end() && !(is_optional && found->is_of_parts)) add(name);
  }
  return all;
}

std::vector<std::string> species_for(const Demand& demand, const std::vector<std::string>& known) {
  std::vector<std::string> all;
  for (const std::string& name : known) {
    const bool is_first = name == known.front();
    if (std::ranges::any_of(demand.species, [&](const std::string& wanted) {
          return wanted == name || wanted == everything || (wanted.empty() && is_first);
        }))
      all.push_back(name);
  }
  for (const std::string& wanted : demand.species)
    if (!wanted.empty() && wanted != everything && std::ranges::find(known, wanted) == known.end())
      throw core::unknown_name("species", wanted, known);
  return all;
}

std::vector<mesh::Layout> levels_for(const Demand& demand, const std::vector<mesh::Layout>& leaves,
                                     const std::vector<mesh::Layout>& blocks) {
  std::vector<mesh::Layout> levels;
  for (std::size_t level = 0; level < leaves.size(); ++level) {
    const bool is_last = demand.finest_level && static_cast<int>(level) == *demand.finest_level;
    const mesh::Layout& all = is_last ? blocks[level] : leaves[level];
    levels.push_back(demand.region ? meeting(all, {region_on(demand, all)}) : all);
    if (is_last) break;
  }
  return levels;
}

std::vector<mesh::Layout> levels_for_all(const std::vector<Demand>& demands, const std::vector<mesh::Layout>& leaves,
                                         const std::vector<mesh::Layout>& blocks) {
  std::vector<mesh::Layout> levels;
  for (int level = 0; level < std::ssize(leaves); ++level) {
    const auto l = static_cast<std::size_t>(level);
    bool is_wanted = false, ends_here = false;
    std::vector<mesh::Box> regions;
    for (const Demand& demand : demands) {
      if (demand.finest_level && *demand.finest_level < level) continue;
      is_wanted = true;
      ends_here = ends_here || (demand.finest_level && *demand.finest_level == level);
      regions.push_back(region_on(demand, leaves[l]));
    }
    if (!is_wanted) break;
    const bool is_whole = std::ranges::any_of(
        demands, [&](const Demand& demand) { return !demand.region && demand.finest_level.value_or(level) >= level; });
    const mesh::Layout& all = ends_here ? blocks[l] : leaves[l];
    levels.push_back(is_whole ? all : meeting(all, regions));
  }
  return levels;
}

}  // namespace sidestream::couple
