#include "sidestream/io/file_content.hpp"

#include <fmt/format.h>

#include <set>

#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

void check_field(const FileField& field, const FileContent& content) {
  if (field.fill && field.levels.empty()) return;
  core::require(field.levels.size() == content.levels.size(), "a field of a file is given for each level");
  for (std::size_t level = 0; level < field.levels.size(); ++level) {
    const mesh::FieldView<const double>& values = field.levels[level];
    core::require(values.table() != nullptr, "a field of a file is missing");
    core::require(field.component >= 0 && field.component < values.components(),
                  "a field of a file lacks this component");
    core::require(values.layout() == content.levels[level], "the fields of a file share the layout of a level");
  }
}

void check_names(const FileContent& content) {
  std::set<std::string> names;
  for (const FileField& field : content.fields)
    core::require(names.insert(field.name).second, "each field of a file has a name of its own");
  names.clear();
  for (const FileParticleReal& real : content.particle_reals)
    core::require(names.insert(real.name).second, "each number of the particles of a file has a name of its own");
}

void check_particles(const FileContent& content) {
  if (content.particles.empty()) return;
  core::require(content.particles.size() == content.levels.size(), "a file takes a set of particles for each level");
  for (const FileParticleReal& real : content.particle_reals)
    core::require(real.levels.empty() || real.levels.size() == content.particles.size(),
                  "a number of the particles of a file is given for each level");
  for (std::size_t level = 0; level < content.particles.size(); ++level) {
    core::require(content.particles[level] != nullptr, "particles of a file are missing");
    mesh::check(*content.particles[level]);
    for (const FileParticleReal& real : content.particle_reals)
      core::require(real.levels.empty() || real.levels[level]->size() == content.particles[level]->size(),
                    "a number of the particles of a file takes one value a particle");
  }
}

}  // namespace

void check(const FileContent& content) {
  core::require(!content.levels.empty(), "a file has at least one level");
  for (std::size_t level = 0; level < content.levels.size(); ++level) {
    core::require(content.levels[level].size() > 0, "each level of a file has a box");
    core::require(content.geometry.refined(static_cast<int>(level)).domain == content.levels[level].domain(),
                  "the geometry of a file, twice as fine on each level, has the domains of its levels");
  }
  check_names(content);
  for (const FileField& field : content.fields) check_field(field, content);
  check_particles(content);
}

std::vector<std::int64_t> block_starts(const FileContent& content) {
  std::vector<std::int64_t> starts{0};
  for (const mesh::Layout& level : content.levels) starts.push_back(starts.back() + level.size());
  return starts;
}

}  // namespace sidestream::io
