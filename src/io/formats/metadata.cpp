#include "io/formats/metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "io/text/json_text.hpp"
#include "io/text/names_and_units.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

using nlohmann::json;

constexpr int metadata_version = 1;

// JSON has no word for numbers that are not finite: these are kept as text.
json number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

// Not by a conversion, which for a number that is none is undefined.
std::int64_t integer_of(const json& value) {
  if (!value.is_number_integer()) throw core::Error("this is no integer: " + value.dump());
  return value.get<std::int64_t>();
}

double number_of(const json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

json to_json(const FileSpecies& species) {
  return {{"name", species.name},
          {"particles", species.particles},
          {"mass", number(species.mass)},
          {"numbers", species.numbers}};
}

// Of the table `columns` of several species, or of one.
std::vector<FileSpecies> species_from(const json& list, const std::vector<mesh::ParticleAttribute>& columns) {
  std::vector<FileSpecies> all;
  const auto has = [&](const std::string& name) {
    return std::ranges::find(columns, name, &mesh::ParticleAttribute::name) != columns.end();
  };
  for (const json& one : list) {
    const auto name = one.at("name").get<std::string>();
    if (std::ranges::find(all, name, &FileSpecies::name) != all.end())
      throw std::invalid_argument(fmt::format("two species are called `{}`", name));
    all.push_back({name, static_cast<double>(all.size() + 1), integer_of(one.at("particles")),
                   number_of(one.at("mass")), one.at("numbers").get<std::vector<std::string>>()});
    if (!std::ranges::all_of(all.back().numbers, has))
      throw std::invalid_argument(fmt::format("the species `{}` has numbers that the file has not", name));
  }
  if (all.size() > 1 && !has(species_column)) throw std::invalid_argument("nothing tells species from each other");
  return all;
}

}  // namespace

std::string metadata_text(const FileContent& content) {
  json attributes = json::object();
  for (const auto& [name, value] : content.kept()) attributes[name] = number(value);
  json text{{"version", metadata_version},
            {"step", content.state.moment.step},
            {"time", number(content.state.moment.time)},
            {"scale_factor", number(content.state.moment.scale_factor.value_or(1.0))},
            {"omega_m", content.attribute("omega_m")},
            {"omega_lambda", content.attribute("omega_lambda")},
            {"hubble", content.attribute("hubble")},
            {"gamma", content.state.gamma},
            {"attributes", attributes},
            {"texts", content.state.texts},
            {"config", ""},
            {"length", content.state.geometry.length},
            {"length_unit", content.state.length_unit},
            {"periodic", content.state.geometry.periodic},
            {"fields", names_and_units(content.fields())},
            {"has_particles", !content.particles.levels.empty()}};
  if (const auto config = text["texts"].find(config_text); config != text["texts"].end()) {
    text["config"] = *config;
    text["texts"].erase(config);
  }
  if (!content.state.moment.words.empty()) text["words"] = content.state.moment.words;
  if (content.kind == FileKind::stored_snapshot)
    text["is_stored"] = true;
  else
    text["is_checkpoint"] = content.kind == FileKind::checkpoint;
  if (!content.particles.levels.empty()) {
    text["particle_mass"] = number(content.particles.levels.front()->mass);
    text["particle_reals"] = names_and_units(content.particles.numbers);
    for (const FileSpecies& species : content.particles.species) text["species"].push_back(to_json(species));
  }
  return text.dump();
}

void apply_metadata(const std::string& text, const std::string& where, FileDescription& description) {
  try {
    const json all = parse_json(text, where);
    if (all.at("version") != metadata_version)
      throw core::Error(fmt::format("the file is of version {}, not {}", all.at("version").dump(), metadata_version),
                        where, "read it with the version of Sidestream that wrote it");
    description.state.moment.step = integer_of(all.at("step"));
    description.state.moment.time = number_of(all.at("time"));
    const auto hubble = all.at("hubble").get<double>();
    description.state.moment.scale_factor = scale_factor_in_file(number_of(all.at("scale_factor")), hubble);
    description.state.gamma = all.at("gamma").get<double>();
    std::map<std::string, double> kept;
    for (const auto& [name, value] : all.at("attributes").items()) kept[name] = number_of(value);
    const bool is_checkpoint = all.value("is_checkpoint", !kept.empty());  // earlier files do not say it
    description.kind = all.value("is_stored", false) ? FileKind::stored_snapshot
                       : is_checkpoint               ? FileKind::checkpoint
                                                     : FileKind::plot_file;
    description.state.moment.attributes = kept;
    description.state.moment.words = all.value("words", std::map<std::string, std::string>());
    set_cosmology(description.state.moment, all.at("omega_m").get<double>(), all.at("omega_lambda").get<double>(),
                  hubble);
    if (description.kind == FileKind::checkpoint) description.state.state_numbers = std::move(kept);
    description.state.texts = all.at("texts").get<std::map<std::string, std::string>>();
    if (const auto config = all.at("config").get<std::string>(); !config.empty())
      description.state.texts[config_text] = config;
    description.state.geometry.length = all.at("length").get<std::array<double, 3>>();
    description.state.length_unit = all.at("length_unit").get<std::string>();
    description.state.geometry.periodic = all.at("periodic").get<mesh::Periodicity>();
    description.fields = named<mesh::Quantity>(all.at("fields"));
    description.has_particles = all.at("has_particles").get<bool>();
    if (description.has_particles) {
      description.no_particles.mass = number_of(all.at("particle_mass"));
      description.no_particles.attributes = named<mesh::ParticleAttribute>(all.at("particle_reals"));
      description.species = species_from(all.value("species", json::array()), description.no_particles.attributes);
    }
  } catch (const json::exception& error) {
    throw core::Error(fmt::format("the description of the state is damaged: {}", error.what()), where);
  } catch (const std::logic_error& error) {
    throw core::Error(fmt::format("the description of the state is damaged: {}", error.what()), where);
  }
}

}  // namespace sidestream::io
