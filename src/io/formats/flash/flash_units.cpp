#include "io/formats/flash/flash_units.hpp"

#include <nlohmann/json.hpp>

#include "io/formats/metadata.hpp"
#include "sidestream/io/common_units.hpp"

namespace sidestream::io {

namespace {

// The mass that all particles have in common stands with them, and not in `content`.
std::string with_particle_mass_in_grams(const std::string& metadata) {
  nlohmann::json all = nlohmann::json::parse(metadata);
  const auto convert = [](nlohmann::json& of, const char* name) {
    if (of.contains(name) && of[name].is_number()) of[name] = of[name].get<double>() * grams_per_msun;
  };
  convert(all, "particle_mass");
  if (all.contains("species"))
    for (nlohmann::json& species : all["species"]) convert(species, "mass");
  return all.dump();
}

// A field of `content`, which outlives `in_file`, in another unit; returns its factor.
double add_converted(const FileContent& content, const mesh::Quantity& field, FileContent& in_file) {
  const mesh::Snapshot& from = content.state;
  const CommonUnit converted = comoving_cgs(field.unit, from.moment.scale_factor.value_or(1.0));
  const mesh::Quantity own{field.name, converted.name};
  if (const mesh::Snapshot::Stored& stored = from.stored(field.name); !stored.levels.empty()) {
    in_file.state.add_stored(own, stored.levels, stored.component, stored.factor * converted.factor);
    return converted.factor;
  }
  in_file.state.add_computed(
      own, [&from, name = field.name](int level, const mesh::Box& box, const core::View4<double>& out) {
        from.write(name, level, box, out);
      });
  in_file.factors.try_emplace(field.name, 1.0).first->second *= converted.factor;
  return converted.factor;
}

}  // namespace

FlashContent in_flash_units(const FileContent& content) {
  const mesh::Snapshot& state = content.state;
  if (content.kind != FileKind::plot_file || state.length_unit != "Mpc")
    return {content, state.geometry, 1.0, std::vector(content.particles.numbers.size(), 1.0), metadata_text(content)};
  FlashContent flash{content, state.geometry, cm_per_mpc, {}, ""};
  mesh::Snapshot& in_file = flash.content.state;
  for (double& length : in_file.geometry.length) length *= cm_per_mpc;
  in_file.length_unit = "cm";
  in_file.moment.time *= cm_per_mpc / 1e5;
  for (std::size_t v = 0; v < content.fields().size(); ++v) {
    const double factor = add_converted(content, content.fields()[v], flash.content);
    if (!content.compression.empty()) flash.content.compression[v].bound *= factor;
  }
  for (mesh::ParticleNumber& number : flash.content.particles.numbers) {
    const CommonUnit converted = comoving_cgs(number.unit, state.moment.scale_factor.value_or(1.0));
    flash.real_factors.push_back(converted.factor);
    number.unit = converted.name;
  }
  flash.metadata = with_particle_mass_in_grams(metadata_text(flash.content));
  return flash;
}

}  // namespace sidestream::io
