#include "io/formats/metadata.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

using nlohmann::json;

constexpr int version = 1;

// JSON has no word for numbers that are not finite: these are kept as text.
json number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

double number_of(const json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

json names_and_units(const auto& entries) {
  json list = json::array();
  for (const auto& entry : entries) list.push_back({entry.name, entry.unit});
  return list;
}

std::vector<std::pair<std::string, std::string>> pairs_of(const json& list) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const json& entry : list) pairs.emplace_back(entry.at(0).get<std::string>(), entry.at(1).get<std::string>());
  return pairs;
}

}  // namespace

std::string metadata_text(const FileContent& content) {
  json attributes = json::object();
  for (const auto& [name, value] : content.moment.attributes) attributes[name] = number(value);
  json text{{"version", version},
            {"step", content.moment.step},
            {"time", number(content.moment.time)},
            {"scale_factor", number(content.moment.scale_factor.value_or(1.0))},
            {"omega_m", content.omega_m},
            {"omega_lambda", content.omega_lambda},
            {"hubble", content.hubble},
            {"gamma", content.gamma},
            {"attributes", attributes},
            {"texts", content.texts},
            {"config", content.config},
            {"length", content.geometry.length},
            {"length_unit", content.length_unit},
            {"periodic", content.geometry.periodic},
            {"fields", names_and_units(content.fields)},
            {"has_particles", !content.particles.empty()}};
  if (content.is_stored) text["is_stored"] = true;
  if (!content.particles.empty()) {
    text["particle_mass"] = number(content.particles.front()->mass);
    text["particle_reals"] = names_and_units(content.particle_reals);
  }
  return text.dump();
}

void apply_metadata(const std::string& text, const std::string& where, FileDescription& description) {
  try {
    const json all = json::parse(text);
    if (all.at("version").get<int>() != version)
      throw core::Error(fmt::format("the file is of version {}, not {}", all.at("version").dump(), version), where,
                        "read it with the version of Sidestream that wrote it");
    description.moment.step = all.at("step").get<std::int64_t>();
    description.moment.time = number_of(all.at("time"));
    description.omega_m = all.at("omega_m").get<double>();
    description.omega_lambda = all.at("omega_lambda").get<double>();
    description.hubble = all.at("hubble").get<double>();
    description.moment.scale_factor = scale_factor_in_file(number_of(all.at("scale_factor")), description.hubble);
    description.gamma = all.at("gamma").get<double>();
    for (const auto& [name, value] : all.at("attributes").items())
      description.moment.attributes[name] = number_of(value);
    description.texts = all.at("texts").get<std::map<std::string, std::string>>();
    description.config = all.at("config").get<std::string>();
    description.is_stored = all.value("is_stored", false);
    description.is_checkpoint = !description.is_stored && !description.moment.attributes.empty();
    description.geometry.length = all.at("length").get<std::array<double, 3>>();
    description.length_unit = all.at("length_unit").get<std::string>();
    description.geometry.periodic = all.at("periodic").get<mesh::Periodicity>();
    description.fields = pairs_of(all.at("fields"));
    description.has_particles = all.at("has_particles").get<bool>();
    if (description.has_particles) {
      description.particle_mass = number_of(all.at("particle_mass"));
      description.particle_reals = pairs_of(all.at("particle_reals"));
    }
  } catch (const json::exception& error) {
    throw core::Error(fmt::format("the description of the state is damaged: {}", error.what()), where);
  } catch (const std::logic_error& error) {
    throw core::Error(fmt::format("the description of the state is damaged: {}", error.what()), where);
  }
}

}  // namespace sidestream::io
