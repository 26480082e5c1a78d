#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/format.hpp"
#include "support/file_state.hpp"
#include "support/refined.hpp"

namespace sidestream::test {

/// A checkpoint of a small refined mesh with particles, whose numbers have nothing round about them and differ from
/// generation to generation.
class RefinedContent {
 public:
  RefinedContent(const comm::Communicator& comm, int generation);
  RefinedContent(const RefinedContent&) = delete;

  const FileState& content() const { return content_; }
  /// Whether the file at `path` holds this content to the bit. Collective; the same answer on all ranks.
  bool is_in(const std::string& path) const;

 private:
  static constexpr std::array<const char*, 2> names{"density", "pressure"};
  double value(int level, std::int64_t cell, int component) const {
    return std::sqrt(static_cast<double>(cell) + 0.1 * component + level) / (7.0 * generation_);
  }
  void add_level(int level, const mesh::Layout& layout);
  mesh::Particles particles_of(int level, const mesh::Layout& layout) const;
  bool fields_are_in(const io::SnapshotFile& file) const;
  bool particles_are_in(const io::SnapshotFile& file) const;

  const comm::Communicator& comm_;
  int generation_;
  mesh::Forest forest_ = corner_forest();
  std::vector<std::unique_ptr<mesh::Field<double>>> fields_;
  std::vector<std::unique_ptr<mesh::Particles>> particles_;
  FileState content_;
};

inline RefinedContent::RefinedContent(const comm::Communicator& comm, int generation)
    : comm_(comm), generation_(generation) {
  mesh::Snapshot& state = content_.state;
  state.moment = {generation, 0.1 * generation};
  state.state_numbers = {{"third", generation / 3.0}, {"zero", -0.0}};
  state.geometry = {mesh::domain_of({16, 16, 16}), {1.0, 1.0, 1.0}, {true, true, true}};
  content_.choice.kind = io::FileKind::checkpoint;
  content_.choice.texts = {{"scheduler", "a \"quoted\"\nline"}, {io::config_text, "[run]\n"}};
  std::vector<mesh::Layout> levels;
  for (int level = 0; level <= forest_.finest_level(); ++level) {
    levels.push_back(forest_.layout(comm.size(), level));
    add_level(level, levels.back());
  }
  set_levels(state, levels, comm.rank());
  std::vector<mesh::FieldView<const double>> fields;
  for (const auto& level : fields_) fields.emplace_back(*level);
  for (std::size_t c = 0; c < names.size(); ++c) add(content_, names[c], "", fields, static_cast<int>(c));
  for (const auto& level : particles_) content_.particles.stored.push_back(kept_elsewhere(*level));
}

inline void RefinedContent::add_level(int level, const mesh::Layout& layout) {
  fields_.push_back(
      std::make_unique<mesh::Field<double>>(layout, comm_.rank(), static_cast<int>(names.size()), level % 2 * 2));
  for (int b = 0; b < fields_.back()->blocks(); ++b) {
    const auto view = fields_.back()->view(b);
    core::for_each_cell(fields_.back()->box(b), [&](int k, int j, int i) {
      for (int c = 0; c < view.components(); ++c)
        view(c, k, j, i) = value(level, linear_index(layout.domain(), {i, j, k}), c);
    });
  }
  particles_.push_back(std::make_unique<mesh::Particles>(particles_of(level, layout)));
}

// One particle in each leaf of this rank.
inline mesh::Particles RefinedContent::particles_of(int level, const mesh::Layout& layout) const {
  mesh::Particles particles;
  particles.mass = 1.0 / 3.0;
  particles.attributes = {{"xvel", "km/s", {}}};
  const mesh::Geometry geometry = content_.state.geometry.refined(level);
  for (const std::int32_t b : layout.boxes_of(comm_.rank())) {
    if (!forest_.is_leaf(level, b)) continue;
    particles.id.push_back(1000 * level + b);
    for (int axis = 0; axis < 3; ++axis)
      particles.position[static_cast<std::size_t>(axis)].push_back((layout.box(b).lo[axis] + 1.0 / (2 + generation_)) *
                                                                   geometry.cell_size(axis));
    particles.attributes.front().values.push_back(value(level, b, 5));
  }
  return particles;
}

inline bool RefinedContent::fields_are_in(const io::SnapshotFile& file) const {
  for (std::size_t level = 0; level < fields_.size(); ++level)
    for (std::size_t c = 0; c < names.size(); ++c) {
      mesh::Field<double> read(content_.state.levels[level], comm_.rank());
      file.read_field(names[c], read, static_cast<int>(level));
      for (int b = 0; b < read.blocks(); ++b) {
        bool is_equal = true;
        const auto found = read.view(b);
        const auto written = std::as_const(*fields_[level]).view(b);
        core::for_each_cell(read.box(b), [&](int k, int j, int i) {
          is_equal = is_equal && found(0, k, j, i) == written(static_cast<int>(c), k, j, i);
        });
        if (!is_equal) return false;
      }
    }
  return true;
}

inline bool RefinedContent::particles_are_in(const io::SnapshotFile& file) const {
  const mesh::Particles read = file.read_particles(comm_.rank(), comm_.size());
  std::map<std::int64_t, std::array<double, 4>> expected;
  std::int64_t total = 0;
  for (int rank = 0; rank < comm_.size(); ++rank)
    for (std::size_t level = 0; level < fields_.size(); ++level)
      for (const std::int32_t b : content_.state.levels[level].boxes_of(rank))
        total += forest_.is_leaf(static_cast<int>(level), b) ? 1 : 0;
  bool is_equal = true;
  for (std::size_t p = 0; p < read.size(); ++p) {
    const auto level = static_cast<int>(read.id[p] / 1000);
    const auto b = static_cast<std::int32_t>(read.id[p] % 1000);
    if (level > forest_.finest_level() || b >= forest_.size(level)) return false;
    const mesh::Geometry geometry = content_.state.geometry.refined(level);
    for (int axis = 0; axis < 3; ++axis)
      is_equal = is_equal && read.position[static_cast<std::size_t>(axis)][p] ==
                                 (forest_.box(level, b).lo[axis] + 1.0 / (2 + generation_)) * geometry.cell_size(axis);
    is_equal = is_equal && read.attribute("xvel")[p] == value(level, b, 5);
  }
  return is_equal && comm_.sum(static_cast<std::int64_t>(read.size())) == total;
}

inline bool RefinedContent::is_in(const std::string& path) const {
  bool is_equal = false;
  comm_.agree_on([&] {
    const auto file = io::open_snapshot_file(path);
    const io::FileDescription& found = file->description();
    is_equal = found.kind == io::FileKind::checkpoint && found.state.moment.step == generation_ &&
               found.state.state_numbers == content_.state.state_numbers &&
               found.state.texts == content_.choice.texts && fields_are_in(*file);
  });
  std::unique_ptr<io::SnapshotFile> file;
  comm_.agree_on([&] { file = io::open_snapshot_file(path); });
  const bool has_particles = particles_are_in(*file);
  return comm_.all(is_equal && has_particles);
}

}  // namespace sidestream::test
