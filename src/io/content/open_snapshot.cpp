#include "sidestream/io/open_snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/content/particle_levels.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/file_mesh.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/quantity_names.hpp"
#include "sidestream/io/sparse.hpp"
#include "sidestream/redistribute/migration.hpp"

namespace sidestream::io {

namespace {

struct Levels : mesh::LevelLayouts {
  bool are_of_file = true;  ///< the boxes
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
  for (std::size_t level = 0; level < file.state.levels.size(); ++level) {
    const mesh::Layout& of = file.state.levels[level];
    std::vector<mesh::Box> all(of.boxes().begin(), of.boxes().end()), leaves;
    for (const mesh::Box& box : all) {
      mesh::Box children = box;
      for (int axis = 0; axis < 3; ++axis)
        if (of.domain().extent()[axis] > 1) children.lo[axis] *= 2, children.hi[axis] *= 2;
      bool is_refined = false;
      if (level + 1 < file.state.levels.size())
        file.state.levels[level + 1].for_each_meeting(children, [&](std::int32_t) { is_refined = true; });
      if (!is_refined)
        leaves.push_back(box);
      else if (!covers(file.state.levels[level + 1], children))
        return std::nullopt;
    }
    levels.blocks.push_back(dealt(of, std::move(all), ranks));
    // A leaf has one owner, whichever list it is looked up in.
    std::vector<std::int32_t> owners;
    for (const mesh::Box& box : leaves) owners.push_back(levels.blocks.back().owner(levels.blocks.back().find(box.lo)));
    levels.leaves.emplace_back(of.domain(), of.periodic(), std::move(leaves), std::move(owners), of.level());
  }
  return levels;
}

bool have_same_boxes(const mesh::Layout& one, const mesh::Layout& other) {
  return one.size() == other.size() && std::ranges::all_of(one.boxes(), [&](const mesh::Box& box) {
           const std::int32_t found = other.find(box.lo);
           return found >= 0 && other.box(found) == box;
         });
}

Levels compared(mesh::LevelLayouts wanted, const FileDescription& file) {
  Levels levels{std::move(wanted)};
  levels.are_of_file = std::ranges::equal(levels.blocks, file.state.levels, have_same_boxes);
  return levels;
}

// Blocks with the file's resolution everywhere.
mesh::Hierarchy nested(const mesh::Snapshot& file, int ranks) {
  const auto block = block_of(file);
  if (!block)
    throw core::Error("the boxes of the file do not begin and end at even cells, so that blocks could hold them",
                      file.source, "convert it into another format with boxes of a power of two cells");
  return {forest_of(file, *block), file.geometry, ranks};
}

void warn_of_lost_seal(const std::string& path) {
  fmt::print(
      stderr,
      "warning: the checksums are lost: Sidestream wrote the file, but it is old, was copied in part or is damaged; "
      "nothing in it can be checked\n  --> {}\nhint: copy it anew and whole; an old file gets checksums by `sidestream "
      "convert`\n",
      path);
}

// What the quantities and particles of an opened file come from.
class Source {
 public:
  Source(const comm::Communicator& comm, const std::string& path) : comm_(comm) {
    file_ = open_snapshot_file(comm, path);
    comm.agree_on([&] {
      if (is_sparse(file_->description()))
        throw core::Error("the file holds a part of the domain only", path,
                          "a plot file or checkpoint holds all of it; `sidestream.open` in Python reads this one");
    });
    if (comm.rank() == 0 && description().seal == Seal::lost) warn_of_lost_seal(path);
  }

  void choose_levels(const mesh::Snapshot& state, const Deal& deal) {
    comm_.agree_on([&] {
      const FileDescription& file = file_->description();
      const auto own = deal ? std::nullopt : own_levels(file, comm_.size());
      levels_ = own ? *own : compared(deal ? deal(state) : nested(state, comm_.size()), file);
    });
  }

  const Levels& levels() const { return levels_; }
  const FileDescription& description() const { return file_->description(); }

  mesh::AnyField read(const std::string& name, int level) const {
    auto field = std::make_shared<mesh::Field<double>>(levels_.blocks[static_cast<std::size_t>(level)], comm_.rank());
    comm_.agree_on([&] {
      if (levels_.are_of_file)
        file_->read_field(name, *field, level);
      else
        file_->read_covering(name, *field, level);
    });
    return mesh::AnyField(std::shared_ptr<const mesh::Field<double>>(std::move(field)));
  }

  // A file has one table of all species, which is read once.
  mesh::Particles particles(std::size_t species) const {
    if (particles_.empty()) comm_.agree_on([&] { particles_ = file_->read_species(comm_.rank(), comm_.size()); });
    std::vector<mesh::Particles> of_level =
        by_level(std::exchange(particles_[species], {}), levels_.leaves, description().state.geometry);
    for (std::size_t level = 0; level < of_level.size(); ++level) {
      const mesh::Geometry geometry = description().state.geometry.refined(static_cast<int>(level));
      if (levels_.leaves[level].size() > 0)
        redistribute::migrate(comm_, levels_.leaves[level], geometry, of_level[level]);
      if (level > 0) mesh::append(of_level[level], of_level.front());
    }
    return std::move(of_level.front());
  }

 private:
  const comm::Communicator& comm_;
  std::unique_ptr<SnapshotFile> file_;
  Levels levels_;
  mutable std::vector<mesh::Particles> particles_;  // of each species, until somebody takes them
};

// On the boxes of the file.
mesh::Snapshot state_of(const std::shared_ptr<const Source>& source, int rank) {
  const FileDescription& file = source->description();
  mesh::Snapshot state = file.state;
  state.rank = rank;
  for (const mesh::Quantity& field : file.fields)
    state.add({.name = file.kind == FileKind::stored_snapshot ? field.name : quantity_of(field.name),
               .unit = field.unit,
               .is_state = file.kind == FileKind::checkpoint},
              [source, name = field.name](int level) { return source->read(name, level); });
  std::size_t number = 0;
  for (const FileSpecies& species : species_in(file))
    state.add_species({species.name, [source, number = number++] { return source->particles(number); }});
  return state;
}

}  // namespace

mesh::Snapshot open_snapshot(const comm::Communicator& comm, const std::string& path, const Deal& deal) {
  const auto source = std::make_shared<Source>(comm, path);
  mesh::Snapshot state = state_of(source, comm.rank());
  source->choose_levels(state, deal);
  state.levels = source->levels().leaves;
  if (state.is_refined()) state.with_refined = source->levels().blocks;
  return state;
}

}  // namespace sidestream::io
