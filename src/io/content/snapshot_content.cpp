#include "sidestream/io/snapshot_content.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "io/content/pack_block.hpp"
#include "io/content/particle_levels.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/io/refined_blocks.hpp"

namespace sidestream::io {

namespace {

using Snapshots = std::shared_ptr<const mesh::Snapshot>;

// Attributes that formats keep in a place of their own.
double number_of(const mesh::Moment& moment, const char* name) {
  const auto found = moment.attributes.find(name);
  return found == moment.attributes.end() ? 0.0 : found->second;
}

FileContent without_fields(const Snapshots& snapshot) {
  FileContent content;
  content.moment = snapshot->moment;
  content.moment.attributes.clear();
  content.omega_m = number_of(snapshot->moment, "omega_m");
  content.omega_lambda = number_of(snapshot->moment, "omega_lambda");
  content.hubble = number_of(snapshot->moment, "hubble");
  content.gamma = snapshot->gamma;
  content.geometry = snapshot->geometry;
  content.length_unit = snapshot->length_unit;
  content.levels = snapshot->blocks();
  content.rank = snapshot->rank;
  content.particles = snapshot->stored_particles;
  content.memory = snapshot;
  return content;
}

FileField stored_field(const mesh::Snapshot& snapshot, const std::string& name) {
  const mesh::Snapshot::Stored& stored = snapshot.stored(name);
  return {file_name_of(name), "", stored.levels, stored.component, stored.factor, {}};
}

std::string unit_in_file(const mesh::Snapshot& snapshot, const std::string& name) {
  const std::string& unit = snapshot.unit(name);
  return unit == "1" ? "" : unit;
}

void fill_from(const Snapshots& snapshot, const std::string& name, FileField& field) {
  snapshot->prepare(name);
  field.fill = [snapshot, name](int level, const mesh::Box& box, const core::View4<double>& out) {
    snapshot->write(name, level, box, out);
  };
}

// In blocks that are no leaves: nobody has averages.
decltype(FileField::fill) or_nan(const Snapshots& snapshot, decltype(FileField::fill) fill) {
  return [snapshot, fill = std::move(fill)](int level, const mesh::Box& box, const core::View4<double>& out) {
    if (snapshot->levels[static_cast<std::size_t>(level)].find(box.lo) >= 0) return fill(level, box, out);
    core::for_each_cell(box, [=](int k, int j, int i) { out(k, j, i) = std::numeric_limits<double>::quiet_NaN(); });
  };
}

void show(const Snapshots& snapshot, const std::string& name, FileContent& content) {
  FileField field = stored_field(*snapshot, name);
  field.unit = unit_in_file(*snapshot, name);
  if (field.levels.empty()) fill_from(snapshot, name, field);
  content.fields.push_back(std::move(field));
}

bool has_name(const FileContent& content, const std::string& name) {
  return std::ranges::find(content.fields, name, &FileField::name) != content.fields.end();
}

void add_number(const mesh::Snapshot& snapshot, const mesh::ParticleNumber& number, FileContent& content) {
  FileParticleReal& real =
      content.particle_reals.emplace_back(FileParticleReal{number.name, number.unit, {}, number.factor});
  if (number.attribute.empty()) return;
  for (const mesh::Particles* level : snapshot.stored_particles)
    real.levels.push_back(&level->attribute(number.attribute));
}

mesh::Field<double> copy_of_level(const FileField& field, std::size_t level, const mesh::Layout& layout, int rank) {
  mesh::Field<double> copy(layout, rank);
  std::vector<double> room;
  for (int b = 0; b < copy.blocks(); ++b) {
    const auto from = cells_of(field, level, copy.box(b), room);
    const auto to = copy.view(b);
    core::for_each_cell(copy.box(b), [=](int k, int j, int i) { to(k, j, i) = from(k, j, i); });
  }
  return copy;
}

void add_attributes(const mesh::Particles& particles, FileContent& content) {
  for (const mesh::ParticleAttribute& attribute : particles.attributes) {
    FileParticleReal& real = content.particle_reals.emplace_back(FileParticleReal{attribute.name, attribute.unit, {}});
    for (const mesh::Particles* level : content.particles) real.levels.push_back(&level->attribute(attribute.name));
  }
}

// The particles of a snapshot as files take them, a set for each level, and what the content kept before.
struct Divided {
  std::vector<mesh::Particles> levels;
  std::shared_ptr<const void> rest;
};

// None, with what all particles have in common. Ranks without any may have no particles to tell it from.
mesh::Particles none_like(const comm::Communicator& comm, const mesh::Particles* own) {
  const auto described = [](const mesh::Particles& particles) {
    nlohmann::json attributes = nlohmann::json::array();
    for (const auto& attribute : particles.attributes) attributes.push_back({attribute.name, attribute.unit});
    return attributes.dump();
  };
  const int first =
      static_cast<int>(-comm.max(static_cast<std::int64_t>(own != nullptr ? -comm.rank() : -comm.size())));
  mesh::Particles none;
  if (first == comm.size()) return none;
  const std::string text = comm.broadcast(comm.rank() == first ? described(*own) : "", first);
  comm.agree_on([&] {
    if (own != nullptr && described(*own) != text)
      throw core::Error("the ranks tell of different attributes of the particles", "snapshot",
                        "give all ranks the same attributes in the same order");
  });
  for (const auto& attribute : nlohmann::json::parse(text))
    none.attributes.push_back({attribute.at(0).get<std::string>(), attribute.at(1).get<std::string>(), {}});
  none.mass = comm.broadcast(comm.rank() == first ? own->mass : 0.0, first);
  return none;
}

void store_particles(const comm::Communicator& comm, const mesh::Particles* own, FileContent& content) {
  const mesh::Particles none = none_like(comm, own);
  if (none.attributes.empty() && comm.max(std::int64_t{own != nullptr}) == 0) return;
  const auto divided = std::make_shared<Divided>();
  divided->rest = content.memory;
  if (own != nullptr && content.levels.size() == 1) {
    content.particles = {own};
  } else {
    divided->levels = by_level(own != nullptr ? *own : none, content.levels, content.geometry);
    for (const mesh::Particles& level : divided->levels) content.particles.push_back(&level);
  }
  content.memory = divided;
  add_attributes(none, content);
}

// What a copy of a content points to.
struct Copies {
  std::deque<mesh::Particles> particles;
  std::deque<std::vector<double>> reals;
};

// Some of the particles, and what a content points to beside them.
struct Sample {
  Copies copies;
  std::shared_ptr<const void> rest;
};

// Of the choice of particles; any will do, as long as it stays.
constexpr std::uint64_t sample_seed = 7;

}  // namespace

std::vector<std::string> usual_quantities(const std::vector<std::string>& usual,
                                          const std::vector<std::string>& known) {
  static const std::vector<std::string> standard{"gas_density",        "gas_momentum_x",   "gas_momentum_y",
                                                 "gas_momentum_z",     "gas_total_energy", "gas_internal_energy",
                                                 "temperature",        "velocity_x",       "velocity_y",
                                                 "velocity_z",         "pressure",         "potential",
                                                 "dark_matter_density"};
  std::vector<std::string> wanted;
  for (const std::string& name : usual) wanted.push_back(quantity_of(name));
  const auto both = [&](const std::vector<std::string>& names) {
    std::vector<std::string> found;
    std::ranges::copy_if(names, std::back_inserter(found),
                         [&](const std::string& name) { return std::ranges::find(known, name) != known.end(); });
    return found;
  };
  const std::vector<std::string> chosen = both(wanted);
  return chosen.empty() ? both(standard) : chosen;
}

FileContent plot_content(Snapshots snapshot, const std::vector<std::string>& quantities) {
  FileContent content = without_fields(snapshot);
  for (const std::string& name : quantities) show(snapshot, name, content);
  for (const mesh::ParticleNumber& number : snapshot->particle_numbers) add_number(*snapshot, number, content);
  content.particle_precision = Precision::single_precision;
  return content;
}

FileContent checkpoint_content(Snapshots snapshot, const std::vector<std::string>& shown) {
  FileContent content = without_fields(snapshot);
  content.moment.attributes = snapshot->state_numbers;
  for (const mesh::Quantity& quantity : snapshot->quantities()) {
    if (!quantity.is_state) continue;
    FileField field = stored_field(*snapshot, quantity.name);
    field.factor = 1.0;
    content.fields.push_back(std::move(field));
  }
  for (const std::string& name : shown)
    if (snapshot->has(name) && !has_name(content, file_name_of(name))) show(snapshot, name, content);
  if (!content.particles.empty()) add_attributes(*content.particles.front(), content);
  return content;
}

FileContent stored_content(const comm::Communicator& comm, Snapshots snapshot,
                           const std::vector<std::string>& quantities, bool with_particles) {
  FileContent content = without_fields(snapshot);
  content.moment.attributes = snapshot->moment.attributes;
  content.is_stored = true;
  content.particles.clear();
  const bool has_leaves_alone = snapshot->is_refined() && snapshot->with_refined.empty();
  if (has_leaves_alone) content.levels = with_refined_blocks(snapshot->levels);
  for (const std::string& name : quantities) {
    FileField& field = content.fields.emplace_back(FileField{name, unit_in_file(*snapshot, name), {}});
    fill_from(snapshot, name, field);
    if (has_leaves_alone) field.fill = or_nan(snapshot, std::move(field.fill));
  }
  if (with_particles) store_particles(comm, snapshot->particles(), content);
  return content;
}

void take_particles(FileContent& content, const std::vector<std::string>& names, double share) {
  if (content.particles.empty()) return;
  if (!names.empty()) {
    std::vector<FileParticleReal> wanted;
    for (const std::string& name : names) {
      const auto found = std::ranges::find(content.particle_reals, name, &FileParticleReal::name);
      if (found == content.particle_reals.end()) {
        std::vector<std::string> known;
        for (const FileParticleReal& real : content.particle_reals) known.push_back(real.name);
        throw core::unknown_name("number of the particles", name, known);
      }
      wanted.push_back(*found);
    }
    content.particle_reals = std::move(wanted);
  }
  if (share >= 1.0) return;
  if (share <= 0.0) {
    content.particles.clear();
    content.particle_reals.clear();
    return;
  }
  const auto sample = std::make_shared<Sample>();
  sample->rest = content.memory;
  for (std::size_t level = 0; level < content.particles.size(); ++level) {
    const mesh::Particles& all = *content.particles[level];
    std::vector<std::size_t> chosen;
    for (std::size_t p = 0; p < all.size(); ++p)
      if (core::uniform(sample_seed, 0, static_cast<std::uint64_t>(all.id[p])) < share) chosen.push_back(p);
    const auto taken = [&](const auto& values) {
      std::remove_cvref_t<decltype(values)> some;
      for (const std::size_t p : chosen) some.push_back(values[p]);
      return some;
    };
    mesh::Particles& own = sample->copies.particles.emplace_back();
    own.id = taken(all.id);
    for (std::size_t axis = 0; axis < 3; ++axis) own.position[axis] = taken(all.position[axis]);
    own.mass = all.mass;
    content.particles[level] = &own;
    for (FileParticleReal& real : content.particle_reals)
      if (!real.levels.empty()) real.levels[level] = &sample->copies.reals.emplace_back(taken(*real.levels[level]));
  }
  content.memory = sample;
}

FileContent copy_of(const FileContent& content) {
  FileContent copy = content;
  const auto copies = std::make_shared<Copies>();
  copy.memory = copies;
  for (FileField& field : copy.fields) {
    std::vector<mesh::FieldView<const double>> levels;
    for (std::size_t level = 0; level < content.levels.size(); ++level)
      levels.emplace_back(std::make_shared<const mesh::Field<double>>(copy_of_level(
          field, level, content.levels[level], field.levels.empty() ? content.rank : field.levels[level].rank())));
    field.levels = std::move(levels);
    field.fill = {};
    field.component = 0;
  }
  for (const mesh::Particles*& particles : copy.particles) {
    mesh::Particles& own = copies->particles.emplace_back();
    own.id = particles->id;
    own.position = particles->position;
    own.mass = particles->mass;
    particles = &own;
  }
  for (FileParticleReal& real : copy.particle_reals)
    for (const std::vector<double>*& values : real.levels) values = &copies->reals.emplace_back(*values);
  return copy;
}

}  // namespace sidestream::io
