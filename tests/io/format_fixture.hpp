#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "sidestream/core/for_each.hpp"
#include "sidestream/io/file_content.hpp"
#include "sidestream/io/format.hpp"
#include "support/levels.hpp"
#include "temporary_folder.hpp"

namespace sidestream::test {

/// Who owns the blocks of a level: ranks in turn, each rank a contiguous piece, or one rank alone.
enum class Deal { in_turn, in_pieces, to_last_rank };

inline mesh::Layout dealt(const mesh::Layout& layout, int ranks, Deal deal) {
  std::vector<std::int32_t> owners;
  for (std::int32_t i = 0; i < layout.size(); ++i)
    owners.push_back(deal == Deal::in_turn     ? i % ranks
                     : deal == Deal::in_pieces ? static_cast<std::int32_t>(std::int64_t{i} * ranks / layout.size())
                                               : ranks - 1);
  return {layout.domain(),
          layout.periodic(),
          {layout.boxes().begin(), layout.boxes().end()},
          std::move(owners),
          layout.level()};
}

/// The state of a small simulation, from which a file of any format is made and against which it is checked: gas of two
/// components with ghost cells, a potential without, and particles. Every number follows from its level and place, and
/// has no round digits, so that any rank can check any part to the bit.
class SampleState {
 public:
  static constexpr std::int32_t cells = 8, block = 4;
  static constexpr double side = 12.5;  // of the domain

  SampleState(const comm::Communicator& comm, int levels, Deal deal = Deal::in_turn) {
    for (const mesh::Layout& layout : layouts(levels)) {
      layouts_.push_back(dealt(layout, comm.size(), deal));
      gas_.push_back(field_on(layouts_.back(), comm.rank(), 0, 2, 1));
      potential_.push_back(field_on(layouts_.back(), comm.rank(), 2, 1, 0));
      particles_.push_back(particles_in(gas_.back(), levels));
    }
  }

  /// All that a run would need: exact doubles in code units.
  io::FileContent checkpoint(std::int64_t step = 7) const {
    io::FileContent all = common(step);
    all.moment.attributes = {
        {"time_step", 1.0 / 3.0}, {"zero", -0.0}, {"never", std::numeric_limits<double>::infinity()}};
    all.texts = {{"scheduler", "a \"quoted\"\nline"}};
    all.config = "[run]\nname = \"x\"\n";
    all.particle_reals = {{"vx", "km/s", {}, 1.0}, {"vy", "km/s", {}, 1.0}};
    for (const mesh::Particles& level : particles_)
      for (std::size_t a = 0; a < 2; ++a) all.particle_reals[a].levels.push_back(&level.attributes[a].values);
    return all;
  }

  /// Two variables in single precision, one of them in another unit.
  io::FileContent plotfile(std::int64_t step = 7) const {
    io::FileContent all = common(step);
    all.fields.pop_back();
    all.fields[1].factor = 2.0;
    all.particle_reals = {{"mass", "Msun", {}, 3.0}, {"xvel", "km/s", {}, 2.0}};
    for (const mesh::Particles& level : particles_) all.particle_reals[1].levels.push_back(&level.attributes[0].values);
    all.precision = all.particle_precision = io::Precision::single_precision;
    return all;
  }

  /// All blocks of each level, owned by rank 0.
  static std::vector<mesh::Layout> layouts(int levels) {
    return refined_levels(cells, block, 1, Blocks::all,
                          [&](int level, mesh::Int3 p) { return is_refined(levels, level, p); });
  }
  static bool is_refined(int levels, int level, mesh::Int3 p) {
    return level + 1 < levels && ((level == 0 && p.x == 1) || (level == 1 && p == mesh::Int3{3, 0, 2}));
  }

  /// Component `c` of `cell`: 0 and 1 are the gas, 2 is the potential.
  static double value(const mesh::Box& domain, int level, mesh::Int3 cell, int c) {
    return std::sqrt(static_cast<double>(8 * linear_index(domain, cell) + c) + 0.1) * (c == 1 ? -1e-200 : 1.0 + level);
  }
  static double velocity(std::int64_t id, int axis) {
    return std::sqrt(static_cast<double>(id % 999'983) + 0.3) - 20.0 * axis;
  }
  static double position(std::int64_t id, int axis) {
    const auto level = static_cast<int>((id >> 32) & 0xff);
    const std::int64_t index = id & 0xffffffff, n = std::int64_t{cells} << level;
    const std::int64_t cell = axis == 0 ? index % n : axis == 1 ? index / n % n : index / (n * n);
    const double within = 0.1 + 0.08 * std::fmod(static_cast<double>(id % 1013) / 7.0 + axis, 10.0);
    return side * ((static_cast<double>(cell) + within) / static_cast<double>(n));
  }
  /// Of the particle in a cell of a leaf: beyond 32 bits.
  static std::int64_t id_of(int level, std::int64_t index) {
    return (std::int64_t{1} << 40) + (std::int64_t{level} << 32) + index;
  }

 private:
  static mesh::Field<double> field_on(const mesh::Layout& layout, int rank, int first, int components,
                                      std::int32_t ghost) {
    mesh::Field<double> field(layout, rank, components, ghost);
    for (int b = 0; b < field.blocks(); ++b) {
      const auto view = field.view(b);
      core::for_each_cell(field.box(b), [&](int k, int j, int i) {
        for (int c = 0; c < components; ++c)
          view(c, k, j, i) = value(layout.domain(), layout.level(), {i, j, k}, first + c);
      });
    }
    return field;
  }

  // One in every third cell of the leaves.
  static mesh::Particles particles_in(const mesh::Field<double>& field, int levels) {
    mesh::Particles particles;
    particles.mass = 1.0 / 3.0;
    particles.attributes = {{"vx", "km/s", {}}, {"vy", "km/s", {}}};
    const int level = field.layout().level();
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&](int k, int j, int i) {
        const std::int64_t index = linear_index(field.layout().domain(), {i, j, k});
        if (index % 3 != 0 || is_refined(levels, level, {i / block, j / block, k / block})) return;
        const std::int64_t id = id_of(level, index);
        particles.id.push_back(id);
        for (int axis = 0; axis < 3; ++axis)
          particles.position[static_cast<std::size_t>(axis)].push_back(position(id, axis));
        for (int a = 0; a < 2; ++a) particles.attributes[static_cast<std::size_t>(a)].values.push_back(velocity(id, a));
      });
    return particles;
  }

  io::FileContent common(std::int64_t step) const {
    io::FileContent all;
    all.moment.step = step;
    all.moment.time = 2.0 / 3.0;
    all.moment.scale_factor = 0.3;
    all.omega_m = 0.31;
    all.omega_lambda = 0.69;
    all.hubble = 0.68;
    all.gamma = 1.4;
    all.geometry = {mesh::domain_of({cells, cells, cells}), {side, side, side}, {true, true, true}};
    all.length_unit = "Mpc";
    all.levels = layouts_;
    all.fields = {
        {"density", "Msun/Mpc^3", {}, 0, 1.0}, {"xmom", "", {}, 1, 1.0}, {"phi_grav", "km^2/s^2", {}, 0, 1.0}};
    for (std::size_t level = 0; level < layouts_.size(); ++level) {
      all.fields[0].levels.emplace_back(gas_[level]);
      all.fields[1].levels.emplace_back(gas_[level]);
      all.fields[2].levels.emplace_back(potential_[level]);
      all.particles.push_back(&particles_[level]);
    }
    return all;
  }

  std::vector<mesh::Layout> layouts_;
  std::vector<mesh::Field<double>> gas_, potential_;
  std::vector<mesh::Particles> particles_;
};

/// Number of owned cells of `field` that differ from component `c` of the sample state times `factor`.
inline std::int64_t cells_off_sample(const mesh::Field<double>& field, int c, double factor = 1.0,
                                     bool is_single = false) {
  std::int64_t count = 0;
  const mesh::Layout& layout = field.layout();
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      const double expected = factor * SampleState::value(layout.domain(), layout.level(), {i, j, k}, c);
      count += field.view(b)(k, j, i) != (is_single ? static_cast<double>(static_cast<float>(expected)) : expected);
    });
  return count;
}

/// Expects `file` to give back what `SampleState(levels).checkpoint()` gave, to the bit, when read by the ranks of
/// `comm`. Collective.
inline void expect_sample_checkpoint(const comm::Communicator& comm, const io::SnapshotFile& file, int levels) {
  const io::FileDescription& found = file.description();
  EXPECT_TRUE(found.is_checkpoint);
  EXPECT_EQ(found.moment.step, 7);
  EXPECT_EQ(found.moment.time, 2.0 / 3.0);
  EXPECT_EQ(found.gamma, 1.4);
  EXPECT_EQ(found.attribute("time_step"), 1.0 / 3.0);
  EXPECT_TRUE(std::signbit(found.attribute("zero")));
  EXPECT_TRUE(std::isinf(found.attribute("never")));
  EXPECT_EQ(found.texts.at("scheduler"), "a \"quoted\"\nline");
  EXPECT_EQ(found.config, "[run]\nname = \"x\"\n");
  EXPECT_EQ(found.geometry.length[1], SampleState::side);
  EXPECT_EQ(found.length_unit, "Mpc");
  const std::vector<mesh::Layout> layouts = SampleState::layouts(levels);
  ASSERT_EQ(found.levels.size(), layouts.size());
  const std::pair<std::string, std::string> names[] = {
      {"density", "Msun/Mpc^3"}, {"xmom", ""}, {"phi_grav", "km^2/s^2"}};
  ASSERT_TRUE(std::ranges::equal(found.fields, names));
  for (std::size_t level = 0; level < layouts.size(); ++level) {
    EXPECT_TRUE(std::ranges::equal(found.levels[level].boxes(), layouts[level].boxes()));
    for (int c = 0; c < 3; ++c) {
      mesh::Field<double> into(dealt(layouts[level], comm.size(), Deal::in_pieces), comm.rank());
      file.read_field(names[c].first, into, static_cast<int>(level));
      EXPECT_EQ(cells_off_sample(into, c), 0) << names[c].first << " on level " << level;
    }
  }
}

/// The same for the particles; those of each rank are its share.
inline void expect_sample_particles(const comm::Communicator& comm, const io::SnapshotFile& file, int levels) {
  std::set<std::int64_t> expected;
  for (const mesh::Layout& layout : SampleState::layouts(levels))
    for (const mesh::Box& box : layout.boxes())
      core::for_each_cell(box, [&](int k, int j, int i) {
        const std::int64_t index = linear_index(layout.domain(), {i, j, k});
        const mesh::Int3 p{i / SampleState::block, j / SampleState::block, k / SampleState::block};
        if (index % 3 == 0 && !SampleState::is_refined(levels, layout.level(), p))
          expected.insert(SampleState::id_of(layout.level(), index));
      });
  EXPECT_TRUE(file.description().has_particles);
  EXPECT_EQ(file.description().particles, static_cast<std::int64_t>(expected.size()));
  EXPECT_EQ(file.description().particle_mass, 1.0 / 3.0);

  const mesh::Particles own = file.read_particles(comm.rank(), comm.size());

  EXPECT_EQ(own.mass, 1.0 / 3.0);
  int differ = 0;
  for (std::size_t p = 0; p < own.size(); ++p) {
    for (int axis = 0; axis < 3; ++axis)
      differ += own.position[static_cast<std::size_t>(axis)][p] != SampleState::position(own.id[p], axis);
    differ += own.attribute("vx")[p] != SampleState::velocity(own.id[p], 0);
    differ += own.attribute("vy")[p] != SampleState::velocity(own.id[p], 1);
  }
  EXPECT_EQ(differ, 0);
  const std::vector<std::int64_t> ids = comm.all_gather(std::span<const std::int64_t>(own.id));
  EXPECT_EQ(ids.size(), expected.size());
  EXPECT_EQ(std::set<std::int64_t>(ids.begin(), ids.end()), expected);
}

/// Tests of one format.
class FormatTest : public testing::Test {
 protected:
  std::string write(const io::FileContent& content, const std::string& name,
                    const io::WriteOptions& options = {}) const {
    format().write(comm_, folder_ / name, content, options);
    comm_.barrier();
    return folder_ / name;
  }
  /// By name: the one under test.
  virtual const io::Format& format() const = 0;

  comm::Communicator comm_{MPI_COMM_WORLD};
  TemporaryFolder folder_{comm_};
};

/// Calls `f(path)` for every file in and below `path`, or for `path` itself, in the order of the names.
inline void for_each_file(const std::string& path, const std::function<void(const std::string&)>& f) {
  namespace fs = std::filesystem;
  std::set<std::string> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) files.insert(entry.path().string());
  } else {
    files.insert(path);
  }
  for (const std::string& file : files) f(file);
}

}  // namespace sidestream::test
