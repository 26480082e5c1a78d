#include "sidestream/io/open_snapshot.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/io/file_mesh.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/snapshot_content.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/redistribute/migration.hpp"

namespace sidestream::io {

namespace {

// Blocks of the size of the file's first box if these are its boxes, else as large as all its boxes allow.
FileMesh blocks_of(const FileDescription& file) {
  const mesh::Int3 extent = file.levels.front().box(0).extent();
  const std::int32_t side = std::max({extent.x, extent.y, extent.z});
  try {
    if (FileMesh own = mesh_of(file, side); own.has_same_blocks) return own;
  } catch (const core::Error&) {
    // the first box is no block
  }
  const auto block = block_of(file);
  if (!block)
    throw core::Error("the boxes of the file do not begin and end at even cells, so that blocks could hold them",
                      file.path, "convert it into another format with boxes of a power of two cells");
  return mesh_of(file, *block);
}

// What the quantities and particles of an opened file come from.
class Source {
 public:
  Source(const comm::Communicator& comm, const std::string& path) : comm_(comm) {
    comm.agree_on([&] {
      file_ = open_snapshot_file(path);
      const FileDescription& description = file_->description();
      FileMesh mesh = blocks_of(description);
      has_same_blocks_ = mesh.has_same_blocks;
      hierarchy_.emplace(std::move(mesh.forest), description.geometry, comm.size());
    });
  }

  const FileDescription& description() const { return file_->description(); }
  const mesh::Hierarchy& hierarchy() const { return *hierarchy_; }

  mesh::AnyField read(const std::string& name, int level) const {
    auto field = std::make_shared<mesh::Field<double>>(hierarchy_->layout(level), comm_.rank());
    comm_.agree_on([&] {
      if (has_same_blocks_)
        file_->read_field(name, *field, level);
      else
        file_->read_covering(name, *field, level);
    });
    return mesh::AnyField(std::shared_ptr<const mesh::Field<double>>(std::move(field)));
  }

  const mesh::Particles* particles() {
    std::vector<mesh::Particles> levels(static_cast<std::size_t>(hierarchy_->finest_level()) + 1);
    comm_.agree_on([&] { levels.front() = file_->read_particles(comm_.rank(), comm_.size()); });
    for (std::size_t level = 1; level < levels.size(); ++level)
      for (const auto& attribute : levels.front().attributes)
        levels[level].attributes.push_back({attribute.name, attribute.unit, {}});
    redistribute::migrate_levels(comm_, *hierarchy_, levels);
    for (mesh::Particles& level : levels)
      if (particles_.attributes.empty() && particles_.size() == 0)
        particles_ = std::move(level);
      else
        mesh::append(level, particles_);
    particles_.mass = description().particle_mass;
    return &particles_;
  }

 private:
  const comm::Communicator& comm_;
  std::unique_ptr<SnapshotFile> file_;
  std::optional<mesh::Hierarchy> hierarchy_;
  bool has_same_blocks_ = true;
  mesh::Particles particles_;
};

mesh::Moment moment_of(const FileDescription& file) {
  mesh::Moment moment = file.moment;
  if (file.hubble > 0.0)
    for (const auto& [name, value] : {std::pair{"omega_m", file.omega_m}, std::pair{"omega_lambda", file.omega_lambda},
                                      std::pair{"hubble", file.hubble}})
      moment.attributes.try_emplace(name, value);
  return moment;
}

}  // namespace

OpenedSnapshot open_snapshot(const comm::Communicator& comm, const std::string& path) {
  const auto source = std::make_shared<Source>(comm, path);
  const FileDescription& file = source->description();
  const mesh::Hierarchy& hierarchy = source->hierarchy();
  OpenedSnapshot opened;
  opened.texts = file.texts;
  mesh::Snapshot& snapshot = opened.snapshot;
  snapshot.moment = moment_of(file);
  snapshot.geometry = file.geometry;
  snapshot.length_unit = file.length_unit;
  snapshot.gamma = file.gamma;
  snapshot.rank = comm.rank();
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    snapshot.levels.push_back(hierarchy.leaf_layout(level));
    if (hierarchy.finest_level() > 0) snapshot.with_refined.push_back(hierarchy.layout(level));
  }
  for (const auto& [name, unit] : file.fields)
    snapshot.add({quantity_of(name), unit.empty() ? "1" : unit},
                 [source, field = name](int level) { return source->read(field, level); });
  if (file.has_particles) snapshot.set_particles([source] { return source->particles(); });
  return opened;
}

}  // namespace sidestream::io
