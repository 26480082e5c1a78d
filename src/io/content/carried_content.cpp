#include "sidestream/io/carried_content.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "io/content/file_content.hpp"
#include "io/content/particle_levels.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/format.hpp"

namespace sidestream::io {

namespace {

using nlohmann::json;

// Of all species.
constexpr const char* rows_name = "particles";

json in_words(const mesh::ParticleNumber& number) {
  return {number.name, number.unit, number.attribute, number.factor};
}

mesh::ParticleNumber number_from(const json& words) {
  return {words.at(0), words.at(1), words.at(2), words.at(3)};
}

json in_words(const FileSpecies& species) {
  return {species.name, species.number, species.particles, species.mass, species.numbers};
}

FileSpecies species_from(const json& words) {
  return {words.at(0), words.at(1), words.at(2), words.at(3), words.at(4)};
}

template <typename T>
json list_of(const std::vector<T>& all) {
  json list = json::array();
  for (const T& one : all) list.push_back(in_words(one));
  return list;
}

std::string rest_of(const FileContent& content, const std::vector<Variable>& variables) {
  json fields = json::array();
  for (std::size_t f = 0; f < variables.size(); ++f)
    fields.push_back({content.fields()[f].name, content.fields()[f].unit, variables[f].quantity->name,
                      content.state.stored(content.fields()[f].name).factor});
  const json rest{{"fields", fields},
                  {"length_unit", content.state.length_unit},
                  {"gamma", content.state.gamma},
                  {"state_numbers", content.state.state_numbers},
                  {"texts", content.state.texts},
                  {"numbers", list_of(content.particles.numbers)},
                  {"species", list_of(content.particles.species)}};
  std::string bytes;
  json::to_cbor(rest, bytes);
  return bytes;
}

json understood(const std::string& rest) {
  try {
    return json::from_cbor(rest);
  } catch (const json::exception& problem) {
    throw core::Error(std::string("what was carried to be written is damaged: ") + problem.what(), "",
                      "the network, the memory or a disk may be at fault");
  }
}

// The rows of all levels.
mesh::Species rows_of(const ParticleTable& table) {
  if (table.levels.size() > 1)
    return {rows_name, [levels = table.levels] {
              mesh::Particles all = *levels.front();
              for (std::size_t level = 1; level < levels.size(); ++level) mesh::append(*levels[level], all);
              return all;
            }};
  mesh::Species rows(rows_name, table.levels.front().get());
  rows.stored = table.levels;
  return rows;
}

std::vector<std::shared_ptr<const mesh::Particles>> levels_of_rows(const mesh::Snapshot& state) {
  const mesh::Particles* const rows = state.species(rows_name).particles();
  if (state.levels.size() == 1) return {{std::shared_ptr<void>(), rows}};
  std::vector<std::shared_ptr<const mesh::Particles>> levels;
  for (mesh::Particles& level : by_level(*rows, state.levels, state.geometry))
    levels.push_back(std::make_shared<const mesh::Particles>(std::move(level)));
  return levels;
}

FileContent content_from(const CarriedContent& carried, const json& rest, const FileChoice& choice) {
  FileContent content;
  content.state = without_quantities(carried.state);
  rest.at("length_unit").get_to(content.state.length_unit);
  rest.at("gamma").get_to(content.state.gamma);
  rest.at("state_numbers").get_to(content.state.state_numbers);
  rest.at("texts").get_to(content.state.texts);
  for (const json& field : rest.at("fields")) {
    content.factors[field.at(0)] = field.at(3);
    content.state.add_computed(
        {field.at(0), field.at(1)},
        [&from = carried.state, name = field.at(0).get<std::string>()](
            int level, const mesh::Box& box, const core::View4<double>& out) { from.write(name, level, box, out); });
  }
  for (const json& number : rest.at("numbers")) content.particles.numbers.push_back(number_from(number));
  for (const json& one : rest.at("species")) content.particles.species.push_back(species_from(one));
  if (carried.state.has_particles()) content.particles.levels = levels_of_rows(carried.state);
  content.kind = choice.kind;
  content.precision = choice.precision;
  content.particle_precision = choice.particle_precision;
  return content;
}

}  // namespace

CarriedContent carried_content(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                               const FileChoice& choice) {
  FileContent content = content_of(comm, snapshot, choice);
  CarriedContent carried{without_quantities(content.state), rest_of(content, variables_of(snapshot, choice))};
  const auto of = std::make_shared<const mesh::Snapshot>(std::move(content.state));
  for (const mesh::Quantity& field : of->quantities()) {
    const mesh::Snapshot::Stored& stored = of->stored(field.name);
    if (stored.levels.empty())
      carried.state.add_computed(
          field, [of, name = field.name](int level, const mesh::Box& box, const core::View4<double>& out) {
            of->write(name, level, box, out);
          });
    else
      carried.state.add_stored(field, stored.levels, stored.component);
  }
  if (!content.particles.levels.empty()) carried.state.add_species(rows_of(content.particles));
  return carried;
}

AccessStatistics write_carried(const comm::Communicator& comm, const CarriedContent& carried, const FileChoice& choice,
                               const std::string& path) {
  const json rest = understood(carried.rest);
  std::vector<std::string> names;
  for (const json& field : rest.at("fields")) {
    carried.state.prepare(field.at(0));
    names.push_back(field.at(2));
  }
  FileContent content;
  comm.agree_on([&] { content = content_from(carried, rest, choice); });
  content.compression = compression_of(comm, content, names, choice.compression);
  return choice.format->write(comm, path, content, choice.options);
}

}  // namespace sidestream::io
