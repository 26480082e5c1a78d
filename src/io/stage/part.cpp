#include "io/stage/part.hpp"

#include <mpi.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/content/file_content.hpp"
#include "io/text/names_and_units.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/format.hpp"

namespace sidestream::io {

using nlohmann::json;

namespace {

constexpr const char* head_text = "head";
constexpr const char* part_text = "part";

const Format& part_format() {
  return formats().named("raw");
}

// Texts of files are UTF-8, numbers of a state any bits.
std::string in_hexadecimal(const std::string& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string from_hexadecimal(const std::string& text) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
    bytes += static_cast<char>(std::stoi(text.substr(at, 2), nullptr, 16));
  return bytes;
}

template <typename F>
auto understood(const std::string& where, F decode) {
  try {
    return decode();
  } catch (const json::exception& problem) {
    throw core::Error(std::string("a staged part is damaged: ") + problem.what(), where, "take its copy");
  } catch (const std::logic_error& problem) {
    throw core::Error(std::string("a staged part is damaged: ") + problem.what(), where, "take its copy");
  }
}

std::string head_of(const CarriedContent& content) {
  const mesh::Snapshot& state = content.state;
  const mesh::Geometry& geometry = state.geometry;
  json head{{"step", state.moment.step},
            {"time", state.moment.time},
            {"attributes", state.moment.attributes},
            {"words", state.moment.words},
            {"scale_factor", state.moment.scale_factor ? json(*state.moment.scale_factor) : json()},
            {"cells", {geometry.domain.hi.x, geometry.domain.hi.y, geometry.domain.hi.z}},
            {"length", geometry.length},
            {"periodic", geometry.periodic},
            {"levels", state.levels.size()},
            {"fields", names_and_units(state.quantities())},
            {"rest", json::binary({content.rest.begin(), content.rest.end()})}};
  if (state.has_particles()) {
    const mesh::Species& species = state.species().front();
    head["particles"] = {{"species", species.name()},
                         {"mass", species.particles()->mass},
                         {"attributes", names_and_units(species.particles()->attributes)}};
  }
  std::string bytes;
  json::to_cbor(head, bytes);
  return bytes;
}

// The blocks and particles of this rank, as a file of one process has them.
FileContent own_content(const CarriedContent& carried, std::vector<std::int32_t>& levels, json& numbers) {
  const mesh::Snapshot& from = carried.state;
  FileContent content;
  content.kind = FileKind::stored_snapshot;
  content.state = without_quantities(from);
  content.state.levels.clear();
  content.state.rank = 0;
  for (const mesh::Layout& layout : from.levels) {
    const auto own = layout.boxes_of(from.rank);
    if (own.empty()) continue;
    std::vector<mesh::Box> boxes;
    for (const std::int32_t index : own) boxes.push_back(layout.box(index));
    const std::vector<std::int32_t> owners(boxes.size(), 0);
    levels.push_back(layout.level());
    numbers.push_back(std::vector<std::int32_t>(own.begin(), own.end()));
    content.state.levels.emplace_back(layout.domain(), layout.periodic(), std::move(boxes), owners, layout.level());
  }
  for (const mesh::Quantity& field : from.quantities())
    content.state.add_computed(
        field, [&from, levels, name = field.name](int level, const mesh::Box& box, const core::View4<double>& out) {
          from.write(name, levels[static_cast<std::size_t>(level)], box, out);
        });
  if (!from.has_particles()) return content;
  const mesh::Particles* const rows = from.species().front().particles();
  content.particles.levels.emplace_back(std::shared_ptr<void>(), rows);
  for (const mesh::ParticleAttribute& attribute : rows->attributes)
    content.particles.numbers.push_back({attribute.name, attribute.unit, attribute.name});
  return content;
}

}  // namespace

bool has_part(const CarriedContent& content) {
  return std::ranges::any_of(content.state.levels,
                             [&](const mesh::Layout& level) { return !level.boxes_of(content.state.rank).empty(); });
}

void write_part(const std::string& path, const std::string& name, int rank, const CarriedContent& content) {
  std::vector<std::int32_t> levels;
  json numbers = json::array();
  FileContent own = own_content(content, levels, numbers);
  own.state.texts = {{head_text, in_hexadecimal(head_of(content))},
                     {part_text, json{{"set", name}, {"rank", rank}, {"levels", levels}, {"numbers", numbers}}.dump()}};
  part_format().write(comm::Communicator(MPI_COMM_SELF), path, own, {});
}

StagedPart::StagedPart(const std::string& path, const std::string& name, int rank) : file_(part_format().open(path)) {
  const FileDescription& file = file_->description();
  understood(path, [&] {
    head_ = from_hexadecimal(file.state.texts.at(head_text));
    const json part = json::parse(file.state.texts.at(part_text));
    if (part.at("set") != name || part.at("rank") != rank)
      throw core::Error("this is a part of another set, or of another rank", path, "take its copy");
    const auto levels = part.at("levels").get<std::vector<std::int32_t>>();
    for (std::size_t at = 0; at < levels.size(); ++at) {
      const mesh::Layout& layout = file.state.levels.at(at);
      const auto numbers = part.at("numbers").at(at).get<std::vector<std::int32_t>>();
      for (std::int32_t b = 0; b < layout.size(); ++b)
        boxes_.push_back({levels[at], numbers.at(static_cast<std::size_t>(b)), layout.box(b)});
      level_in_file_.resize(std::max(level_in_file_.size(), static_cast<std::size_t>(levels[at]) + 1), -1);
      level_in_file_[static_cast<std::size_t>(levels[at])] = static_cast<int>(at);
    }
  });
}

void StagedPart::read(const std::string& field, const NumberedBox& box, const core::View4<double>& out) const {
  const int level = level_in_file_.at(static_cast<std::size_t>(box.level));
  const mesh::Layout& layout = file_->description().state.levels[static_cast<std::size_t>(level)];
  mesh::Field<double> room(mesh::Layout(layout.domain(), layout.periodic(), {box.box}, {0}, layout.level()), 0);
  file_->read_field(field, room, level);
  core::for_each_row(box.box, [&, from = room.view(0)](int k, int j) {
    std::copy_n(&from(k, j, box.box.lo.x), box.box.extent().x, &out(k, j, box.box.lo.x));
  });
}

mesh::Particles StagedPart::particles() const {
  return file_->read_particles();
}

StagedHead head_from(const std::string& bytes) {
  return understood("", [&] {
    const json head = json::from_cbor(bytes);
    StagedHead all;
    mesh::Snapshot& state = all.state;
    head.at("step").get_to(state.moment.step);
    head.at("time").get_to(state.moment.time);
    head.at("attributes").get_to(state.moment.attributes);
    head.at("words").get_to(state.moment.words);
    if (!head.at("scale_factor").is_null()) state.moment.scale_factor = head.at("scale_factor").get<double>();
    const json& cells = head.at("cells");
    state.geometry.domain = mesh::domain_of({cells.at(0), cells.at(1), cells.at(2)});
    head.at("length").get_to(state.geometry.length);
    head.at("periodic").get_to(state.geometry.periodic);
    all.fields = named<mesh::Quantity>(head.at("fields"));
    const auto& rest = head.at("rest").get_binary();
    all.rest.assign(rest.begin(), rest.end());
    head.at("levels").get_to(all.levels);
    all.has_particles = head.contains("particles");
    if (!all.has_particles) return all;
    const json& particles = head.at("particles");
    particles.at("species").get_to(all.species);
    particles.at("mass").get_to(all.no_particles.mass);
    all.no_particles.attributes = named<mesh::ParticleAttribute>(particles.at("attributes"));
    return all;
  });
}

}  // namespace sidestream::io
