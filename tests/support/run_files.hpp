#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "sidestream/io/format.hpp"
#include "sidestream/io/result_file.hpp"

namespace sidestream::test {

/// The bytes of every column of every result of a run, by "task/step.nc:column", and of its pictures.
inline std::map<std::string, std::string> result_bytes(const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder + "/results")) {
    if (!file.is_regular_file()) continue;
    const std::string name = std::filesystem::relative(file.path(), folder + "/results").string();
    if (name.find(".pictures/") != name.npos) {
      std::ifstream bytes(file.path(), std::ios::binary);
      all[name] = {std::istreambuf_iterator<char>(bytes), {}};
      continue;
    }
    for (const mesh::Column& column : io::read_result(file.path().string()).columns)
      std::visit(
          [&](const auto& values) {
            const auto bytes = std::as_bytes(std::span(values));
            all[name + ":" + column.name] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
          },
          column.values);
  }
  return all;
}

/// The fields of all levels of a file, block by block, and its species in the order of their ids: everything as bytes.
/// Local.
inline std::map<std::string, std::string> state_bytes(const std::string& path) {
  const auto file = io::open_snapshot_file(path);
  const io::FileDescription& description = file->description();
  std::map<std::string, std::string> all;
  const auto keep = [&](const std::string& name, const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    all[name] = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  for (const auto& [name, unit, meaning, is_state, is_of_parts] : description.fields)
    for (std::size_t level = 0; level < description.state.levels.size(); ++level) {
      mesh::Field<double> field(description.state.levels[level], 0);
      file->read_field(name, field, static_cast<int>(level));
      for (int b = 0; b < field.blocks(); ++b)
        keep(name + std::to_string(level) + mesh::to_string(field.box(b)), field.block(b));
    }
  for (const auto& [name, value] : description.state.state_numbers) keep(name, std::array{value});
  const std::vector<io::FileSpecies> species = io::species_in(description);
  const std::vector<mesh::Particles> sets = file->read_species();
  for (std::size_t s = 0; s < species.size(); ++s) {
    const mesh::Particles& particles = sets[s];
    std::vector<std::size_t> order(particles.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return particles.id[i]; });
    const auto keep_sorted = [&](const std::string& name, const auto& values) {
      std::remove_cvref_t<decltype(values)> sorted;
      for (const std::size_t i : order) sorted.push_back(values[i]);
      keep(species[s].name + " " + name, sorted);
    };
    keep_sorted("id", particles.id);
    for (std::size_t axis = 0; axis < 3; ++axis)
      keep_sorted("position " + std::to_string(axis), particles.position[axis]);
    for (const auto& attribute : particles.attributes) keep_sorted(attribute.name, attribute.values);
  }
  return all;
}

/// The events of one kind of a run's file.
inline std::vector<nlohmann::json> events(const std::string& folder, const std::string& kind,
                                          const std::string& file = "events.jsonl") {
  std::vector<nlohmann::json> found;
  std::ifstream lines(folder + "/" + file);
  for (std::string line; std::getline(lines, line);)
    if (auto event = nlohmann::json::parse(line); event.at("event") == kind) found.push_back(std::move(event));
  return found;
}

}  // namespace sidestream::test
