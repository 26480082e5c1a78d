#include "sidestream/io/open_snapshot.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/content/particle_levels.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/file_mesh.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/snapshot_content.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/redistribute/migration.hpp"

namespace sidestream::io {

namespace {

struct Levels {
  std::vector<mesh::Layout> all, leaves;
  bool are_of_file = true;
};

bool covers(const mesh::Layout& finer, const mesh::Box& box) {
  std::int64_t cells = 0;
  finer.for_each_meeting(box, [&](std::int32_t b) { cells += intersection(finer.box(b), box).volume(); });
  return cells == box.volume();
}

// Boxes in their order, dealt to ranks in equal numbers.
mesh::Layout dealt(const mesh::Layout& of, std::vector<mesh::Box> boxes, int ranks) {
  std::vector<std::int32_t> owners;
  for (std::size_t b = 0; b < boxes.size(); ++b)
    owners.push_back(static_cast<std::int32_t>(b * static_cast<std::size_t>(ranks) / boxes.size()));
  return {of.domain(), of.periodic(), std::move(boxes), std::move(owners), of.level()};
}

// The boxes of the file, where each is a leaf or wholly covered by finer ones.
std::optional<Levels> own_levels(const FileDescription& file, int ranks) {
  Levels levels;
  for (std::size_t level = 0; level < file.levels.size(); ++level) {
    const mesh::Layout& of = file.levels[level];
    std::vector<mesh::Box> all(of.boxes().begin(), of.boxes().end()), leaves;
    for (const mesh::Box& box : all) {
      mesh::Box children = box;
      for (int axis = 0; axis < 3; ++axis)
        if (of.domain().extent()[axis] > 1) children.lo[axis] *= 2, children.hi[axis] *= 2;
      bool is_refined = false;
      if (level + 1 < file.levels.size())
        file.levels[level + 1].for_each_meeting(children, [&](std::int32_t) { is_refined = true; });
      if (!is_refined)
        leaves.push_back(box);
      else if (!covers(file.levels[level + 1], children))
        return std::nullopt;
    }
    levels.all.push_back(dealt(of, std::move(all), ranks));
    // A leaf has one owner, whichever list it is looked up in.
    std::vector<std::int32_t> owners;
    for (const mesh::Box& box : leaves) owners.push_back(levels.all.back().owner(levels.all.back().find(box.lo)));
    levels.leaves.emplace_back(of.domain(), of.periodic(), std::move(leaves), std::move(owners), of.level());
  }
  return levels;
}

// Blocks with the file's resolution everywhere.
Levels levels_of_blocks(const FileDescription& file, int ranks) {
  const auto block = block_of(file);
  if (!block)
    throw core::Error("the boxes of the file do not begin and end at even cells, so that blocks could hold them",
                      file.path, "convert it into another format with boxes of a power of two cells");
  const mesh::Hierarchy hierarchy(mesh_of(file, *block).forest, file.geometry, ranks);
  Levels levels{{}, {}, false};
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    levels.all.push_back(hierarchy.layout(level));
    levels.leaves.push_back(hierarchy.leaf_layout(level));
  }
  return levels;
}

// What the quantities and particles of an opened file come from.
class Source {
 public:
  Source(const comm::Communicator& comm, const std::string& path) : comm_(comm) {
    comm.agree_on([&] {
      file_ = open_snapshot_file(path);
      auto own = own_levels(description(), comm.size());
      levels_ = own ? std::move(*own) : levels_of_blocks(description(), comm.size());
    });
  }

  const FileDescription& description() const { return file_->description(); }
  const Levels& levels() const { return levels_; }

  mesh::AnyField read(const std::string& name, int level) const {
    auto field = std::make_shared<mesh::Field<double>>(levels_.all[static_cast<std::size_t>(level)], comm_.rank());
    comm_.agree_on([&] {
      if (levels_.are_of_file)
        file_->read_field(name, *field, level);
      else
        file_->read_covering(name, *field, level);
    });
    return mesh::AnyField(std::shared_ptr<const mesh::Field<double>>(std::move(field)));
  }

  const mesh::Particles* particles() {
    mesh::Particles read;
    comm_.agree_on([&] { read = file_->read_particles(comm_.rank(), comm_.size()); });
    read.mass = description().particle_mass;
    std::vector<mesh::Particles> of_level = by_level(read, levels_.leaves, description().geometry);
    for (std::size_t level = 0; level < of_level.size(); ++level) {
      const mesh::Geometry geometry = description().geometry.refined(static_cast<int>(level));
      if (levels_.leaves[level].size() > 0)
        redistribute::migrate(comm_, levels_.leaves[level], geometry, of_level[level]);
      if (level == 0)
        particles_ = std::move(of_level[level]);
      else
        mesh::append(of_level[level], particles_);
    }
    return &particles_;
  }

 private:
  const comm::Communicator& comm_;
  std::unique_ptr<SnapshotFile> file_;
  Levels levels_;
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
  OpenedSnapshot opened;
  opened.texts = file.texts;
  mesh::Snapshot& snapshot = opened.snapshot;
  snapshot.moment = moment_of(file);
  snapshot.geometry = file.geometry;
  snapshot.length_unit = file.length_unit;
  snapshot.gamma = file.gamma;
  snapshot.rank = comm.rank();
  snapshot.levels = source->levels().leaves;
  if (snapshot.is_refined()) snapshot.with_refined = source->levels().all;
  for (const auto& [name, unit] : file.fields)
    snapshot.add({file.is_stored ? name : quantity_of(name), unit.empty() ? "1" : unit},
                 [source, field = name](int level) { return source->read(field, level); });
  if (file.has_particles) snapshot.set_particles([source] { return source->particles(); });
  return opened;
}

}  // namespace sidestream::io
