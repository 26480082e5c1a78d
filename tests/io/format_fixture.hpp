#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "sidestream/core/for_each.hpp"
#include "sidestream/io/format.hpp"
#include "support/file_state.hpp"
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
  FileState checkpoint(std::int64_t step = 7) const {
    FileState all = common(step);
    add(all, "xmom", "", {gas_.begin(), gas_.end()}, 1);
    add(all, "phi_grav", "km^2/s^2", {potential_.begin(), potential_.end()});
    all.choice.kind = io::FileKind::checkpoint;
    all.choice.texts = {{"scheduler", "a \"quoted\"\nline"}, {io::config_text, "[run]\nname = \"x\"\n"}};
    return all;
  }

  /// Two variables in single precision, one of them in another unit.
  FileState plotfile(std::int64_t step = 7) const {
    FileState all = common(step);
    add(all, "xmom", "", {gas_.begin(), gas_.end()}, 1, 2.0);
    all.particles.numbers = {{"mass", "Msun", "", 3.0}, {"xvel", "km/s", "vx", 2.0}};
    all.choice.precision = all.choice.particle_precision = io::Precision::single_precision;
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

  FileState common(std::int64_t step) const {
    FileState all;
    mesh::Snapshot& state = all.state;
    state.moment = {step, 2.0 / 3.0, 0.3, {{"omega_m", 0.31}, {"omega_lambda", 0.69}, {"hubble", 0.68}}};
    state.state_numbers = {
        {"time_step", 1.0 / 3.0}, {"zero", -0.0}, {"never", std::numeric_limits<double>::infinity()}};
    state.gamma = 1.4;
    state.geometry = {mesh::domain_of({cells, cells, cells}), {side, side, side}, {true, true, true}};
    state.length_unit = "Mpc";
    set_levels(state, layouts_, gas_.front().rank());
    add(all, "density", "Msun/Mpc^3", {gas_.begin(), gas_.end()});
    for (const mesh::Particles& level : particles_) all.particles.stored.push_back(kept_elsewhere(level));
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
  EXPECT_EQ(found.kind, io::FileKind::checkpoint);
  EXPECT_EQ(found.state.moment.step, 7);
  EXPECT_EQ(found.state.moment.time, 2.0 / 3.0);
  EXPECT_EQ(found.state.gamma, 1.4);
  EXPECT_EQ(found.state.state_numbers.at("time_step"), 1.0 / 3.0);
  EXPECT_TRUE(std::signbit(found.state.state_numbers.at("zero")));
  EXPECT_TRUE(std::isinf(found.state.state_numbers.at("never")));
  EXPECT_EQ(found.state.texts.at("scheduler"), "a \"quoted\"\nline");
  EXPECT_EQ(found.state.texts.at(io::config_text), "[run]\nname = \"x\"\n");
  EXPECT_EQ(found.state.geometry.length[1], SampleState::side);
  EXPECT_EQ(found.state.length_unit, "Mpc");
  const std::vector<mesh::Layout> layouts = SampleState::layouts(levels);
  ASSERT_EQ(found.state.levels.size(), layouts.size());
  ASSERT_EQ(mesh::names_of(found.fields), (std::vector<std::string>{"density", "xmom", "phi_grav"}));
  EXPECT_EQ(found.fields[0].unit, "Msun/Mpc^3");
  EXPECT_EQ(found.fields[1].unit, "");
  EXPECT_EQ(found.fields[2].unit, "km^2/s^2");
  for (std::size_t level = 0; level < layouts.size(); ++level) {
    EXPECT_TRUE(std::ranges::equal(found.state.levels[level].boxes(), layouts[level].boxes()));
    for (int c = 0; c < 3; ++c) {
      mesh::Field<double> into(dealt(layouts[level], comm.size(), Deal::in_pieces), comm.rank());
      file.read_field(found.fields[static_cast<std::size_t>(c)].name, into, static_cast<int>(level));
      EXPECT_EQ(cells_off_sample(into, c), 0) << "component " << c << " on level " << level;
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
  EXPECT_EQ(file.description().no_particles.mass, 1.0 / 3.0);

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

/// Those of the formats of these names that this build can write: netCDF takes PnetCDF.
inline std::vector<std::string> written(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) {
    const io::Format& format = io::formats().named(name);
    return !format.plotfile && !format.checkpoint;
  });
  return names;
}

/// Tests of one format.
class FormatTest : public testing::Test {
 protected:
  std::string write(const FileState& content, const std::string& name, const io::WriteOptions& options = {}) const {
    test::write(comm_, format(), folder_ / name, content, options);
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
