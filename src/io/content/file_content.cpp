#include "io/content/file_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "io/content/chosen_species.hpp"
#include "io/content/pack_block.hpp"
#include "io/content/particle_table.hpp"
#include "io/content/refined_blocks.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/quantity_names.hpp"
#include "sidestream/io/write_snapshot.hpp"

namespace sidestream::io {

namespace {

bool has_leaves_alone(const mesh::Snapshot& snapshot) {
  return snapshot.is_refined() && snapshot.with_refined.empty();
}

// In blocks that are no leaves nobody has averages.
mesh::Snapshot::Kernel kernel_of(const mesh::Snapshot& snapshot, const std::string& name) {
  const auto write = [&snapshot, name](int level, const mesh::Box& box, const core::View4<double>& out) {
    snapshot.write(name, level, box, out);
  };
  if (!has_leaves_alone(snapshot)) return write;
  return [&snapshot, write](int level, const mesh::Box& box, const core::View4<double>& out) {
    if (snapshot.levels[static_cast<std::size_t>(level)].find(box.lo) >= 0) return write(level, box, out);
    core::for_each_cell(box, [=](int k, int j, int i) { out(k, j, i) = std::numeric_limits<double>::quiet_NaN(); });
  };
}

// Numbers as the simulation stores them are in no unit that anybody else knows.
void add(const mesh::Snapshot& snapshot, const Variable& variable, FileKind kind, mesh::Snapshot& state) {
  const auto& [name, unit, meaning, is_state, is_of_parts] = *variable.quantity;
  const mesh::Snapshot::Stored& stored = snapshot.stored(name);
  const bool is_stored = !stored.levels.empty() && !has_leaves_alone(snapshot);
  const bool has_unit = !(is_stored && variable.is_state);
  mesh::Quantity in_file{kind == FileKind::stored_snapshot ? name : file_name_of(name), has_unit ? unit : ""};
  core::require(!state.has(in_file.name), "each variable of a file has a name of its own");
  if (is_stored)
    state.add_stored(std::move(in_file), stored.levels, stored.component, variable.is_state ? 1.0 : stored.factor);
  else
    state.add_computed(std::move(in_file), kernel_of(snapshot, name));
}

void check_field(const std::string& name, const mesh::Snapshot& state) {
  const mesh::Snapshot::Stored& stored = state.stored(name);
  if (stored.levels.empty()) return;
  core::require(stored.levels.size() == state.levels.size(), "a field of a file is given for each level");
  for (std::size_t level = 0; level < stored.levels.size(); ++level) {
    const mesh::FieldView<const double>& values = stored.levels[level];
    core::require(values.table() != nullptr, "a field of a file is missing");
    core::require(stored.component >= 0 && stored.component < values.components(),
                  "a field of a file lacks this component");
    core::require(values.layout() == state.levels[level], "the fields of a file share the layout of a level");
  }
}

void check_particles(const FileContent& content) {
  std::set<std::string> names;
  for (const mesh::ParticleNumber& number : content.particles.numbers)
    core::require(names.insert(number.name).second, "each number of the particles of a file has a name of its own");
  for (const auto& particles : content.particles.levels) {
    core::require(particles != nullptr, "particles of a file are missing");
    mesh::check(*particles);
  }
}

double largest_magnitude(const comm::Communicator& comm, const FileContent& content, const std::string& field) {
  double largest = 0.0;
  comm.agree_on([&] {
    std::vector<std::byte> room;
    for (std::size_t level = 0; level < content.state.levels.size(); ++level)
      for (const std::int32_t index : content.state.levels[level].boxes_of(comm.rank())) {
        const mesh::Box& box = content.state.levels[level].box(index);
        room.resize(static_cast<std::size_t>(box.volume() * size_of(content.precision)));
        const auto [lowest, highest] = pack_block(content, field, level, box, room.data());
        largest = std::max({largest, std::abs(lowest), std::abs(highest)});
      }
  });
  return comm.max(largest);
}

void check(const FileContent& content) {
  const mesh::Snapshot& state = content.state;
  core::require(!state.levels.empty(), "a file has at least one level");
  for (std::size_t level = 0; level < state.levels.size(); ++level) {
    if (state.levels[level].size() == 0)
      throw core::Error(fmt::format("level {} has no block, and files have blocks of each level", level), "",
                        "give each level blocks on which those of the next finer one lie");
    core::require(state.geometry.refined(static_cast<int>(level)).domain == state.levels[level].domain(),
                  "the geometry of a file, twice as fine on each level, has the domains of its levels");
  }
  for (const mesh::Quantity& field : content.fields()) check_field(field.name, state);
  check_particles(content);
}

}  // namespace

const std::map<std::string, double>& FileContent::kept() const {
  return kind == FileKind::checkpoint ? state.state_numbers : state.moment.attributes;
}

double FileContent::attribute(const std::string& name) const {
  const auto found = state.moment.attributes.find(name);
  return found == state.moment.attributes.end() ? 0.0 : found->second;
}

const std::vector<double>* FileContent::values(const mesh::ParticleNumber& number, std::size_t level) const {
  return number.attribute.empty() ? nullptr : &particles.levels[level]->attribute(number.attribute);
}

std::vector<Variable> variables_of(const mesh::Snapshot& snapshot, const FileChoice& choice) {
  std::vector<Variable> all;
  const bool is_checkpoint = choice.kind == FileKind::checkpoint;
  if (is_checkpoint)
    for (const mesh::Quantity& quantity : snapshot.quantities())
      if (quantity.is_state) all.push_back({&quantity, true});
  for (const std::string& name : choice.quantities)
    if (!is_checkpoint || (snapshot.has(name) && !snapshot.quantity(name).is_state))
      all.push_back({&snapshot.quantity(name), false});
  return all;
}

mesh::Snapshot without_quantities(const mesh::Snapshot& snapshot) {
  mesh::Snapshot state;
  state.moment = snapshot.moment;
  state.geometry = snapshot.geometry;
  state.length_unit = snapshot.length_unit;
  state.gamma = snapshot.gamma;
  state.levels = snapshot.levels;
  state.with_refined = snapshot.with_refined;
  state.rank = snapshot.rank;
  state.state_numbers = snapshot.state_numbers;
  return state;
}

void check_compression(const FileChoice& choice) {
  if (!choice.format->compresses)
    choice.compression.refuse_all(fmt::format("the format `{}` cannot hold compressed cells", choice.format->name));
  if (choice.kind == FileKind::checkpoint)
    choice.compression.refuse_lossy("a checkpoint is exact: a run goes on from it to the bit");
}

FileContent content_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const FileChoice& choice) {
  FileContent content;
  comm.agree_on([&] { check_compression(choice); });
  prepare(snapshot, choice);
  comm.agree_on([&] {
    content.state = without_quantities(snapshot);
    content.state.levels = has_leaves_alone(snapshot) ? with_refined_blocks(snapshot.levels) : snapshot.blocks();
    content.state.with_refined.clear();
    for (const Variable& variable : variables_of(snapshot, choice)) add(snapshot, variable, choice.kind, content.state);
  });
  content.particles = table_of(comm, chosen_species(comm, snapshot, choice, content.state.levels));
  content.state.texts = choice.texts;
  content.kind = choice.kind;
  content.precision = choice.precision;
  content.particle_precision = choice.particle_precision;
  std::vector<std::string> names;
  for (const Variable& variable : variables_of(snapshot, choice)) names.push_back(variable.quantity->name);
  content.compression = compression_of(comm, content, names, choice.compression);
  comm.agree_on([&] { check(content); });
  return content;
}

void prepare(const mesh::Snapshot& snapshot, const FileChoice& choice) {
  for (const Variable& variable : variables_of(snapshot, choice))
    if (const std::string& name = variable.quantity->name; snapshot.stored(name).levels.empty()) snapshot.prepare(name);
}

std::vector<core::CompressionChoice> compression_of(const comm::Communicator& comm, const FileContent& content,
                                                    const std::vector<std::string>& names,
                                                    const core::Compression& compression) {
  std::vector<core::CompressionChoice> choices;
  if (compression.is_none()) return choices;
  for (std::size_t v = 0; v < names.size(); ++v) {
    core::CompressionChoice choice = compression.of(names[v]);
    if (choice.is_relative) choice.bound = choice.bound_for(largest_magnitude(comm, content, content.fields()[v].name));
    choice.is_relative = false;
    choices.push_back(choice);
  }
  return choices;
}

std::vector<std::int64_t> block_starts(const FileContent& content) {
  std::vector<std::int64_t> starts{0};
  for (const mesh::Layout& level : content.state.levels) starts.push_back(starts.back() + level.size());
  return starts;
}

}  // namespace sidestream::io
