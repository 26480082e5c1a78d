// A file opened as a snapshot, and written again from it.
#include <gtest/gtest.h>

#include <cmath>

#include "format_fixture.hpp"
#include "sidestream/io/file_mesh.hpp"
#include "sidestream/io/open_snapshot.hpp"

namespace sidestream {
namespace {

using test::SampleState;

class OpenedSnapshot : public test::FormatTest {
 protected:
  static constexpr int levels = 3;
  const io::Format& format() const override { return io::formats().named("sidestream"); }
  std::string checkpoint(int level_total = levels) const {
    return write(SampleState(comm_, level_total).checkpoint(), "chk00007.hdf5_chk");
  }
  // Of all ranks, cells of the variables of the sample that `state` does not give back.
  std::int64_t cells_lost(const mesh::Snapshot& state) const {
    std::int64_t lost = 0;
    for (int level = 0; level <= state.finest_level(); ++level)
      for (const auto& [name, component] :
           {std::pair{"gas_density", 0}, std::pair{"gas_momentum_x", 1}, std::pair{"potential", 2}}) {
        mesh::Field<double> read(state.blocks()[static_cast<std::size_t>(level)], state.rank, 2, 1);
        state.read(name, level, read, 1);
        mesh::Field<double> alone(read.layout(), state.rank);
        for (int b = 0; b < alone.blocks(); ++b)
          core::for_each_cell(alone.box(b),
                              [&](int k, int j, int i) { alone.view(b)(k, j, i) = read.view(b)(1, k, j, i); });
        lost += test::cells_off_sample(alone, component);
      }
    return comm_.sum(lost);
  }
  std::set<std::int64_t> ids(const mesh::Particles& own) const {
    const std::vector<std::int64_t> all = comm_.all_gather(std::span<const std::int64_t>(own.id));
    return {all.begin(), all.end()};
  }
};

TEST_F(OpenedSnapshot, HasTheStateThatACheckpointWasMadeOf) {
  const SampleState sample(comm_, levels);
  const mesh::Snapshot state = io::open_snapshot(comm_, checkpoint());

  EXPECT_EQ(state.state_numbers, sample.checkpoint().state.state_numbers);
  EXPECT_EQ(state.texts, sample.checkpoint().choice.texts);
  EXPECT_EQ(state.moment.attribute("hubble"), 0.68);
  EXPECT_TRUE(state.quantity("gas_density").is_state);
  EXPECT_EQ(cells_lost(state), 0);
  EXPECT_TRUE(state.has_particles());
}

// What is read is not kept: the leaves can be asked for as well.
TEST_F(OpenedSnapshot, GivesTheLeavesAndTheirParticles) {
  const mesh::Snapshot state = io::open_snapshot(comm_, checkpoint());
  std::int64_t off = 0, strays = 0;
  for (int level = 0; level <= state.finest_level(); ++level) {
    const mesh::FieldView<const double> density = state.field("gas_density", level);
    for (int b = 0; b < density.blocks(); ++b)
      core::for_each_cell(density.box(b), [&](int k, int j, int i) {
        off += density.view(b)(k, j, i) != SampleState::value(density.layout().domain(), level, {i, j, k}, 0);
      });
  }
  const mesh::Particles& own = *state.particles();
  for (std::size_t p = 0; p < own.size(); ++p) {
    bool is_here = false;
    for (int level = 0; level <= state.finest_level(); ++level) {
      const mesh::Layout& leaves = state.levels[static_cast<std::size_t>(level)];
      const std::int32_t box = leaves.find(
          cell_of(state.geometry.refined(level), {own.position[0][p], own.position[1][p], own.position[2][p]}));
      is_here = is_here || (box >= 0 && leaves.owner(box) == state.rank);
    }
    strays += is_here ? 0 : 1;
  }

  EXPECT_EQ(comm_.sum(off), 0);
  EXPECT_EQ(comm_.sum(strays), 0);
  EXPECT_EQ(ids(state.species(mesh::dark_matter).take()), ids(own)) << "a copy, where somebody has asked for them";
}

TEST_F(OpenedSnapshot, IsReadOnTheBlocksThatSomebodyWants) {
  const std::string path = checkpoint(2);  // with three, neighbours differ by two levels, which no forest allows
  std::optional<mesh::Hierarchy> wanted;
  const auto deal = [&](std::int32_t block) {
    return [&, block](const mesh::Snapshot& file) {
      return wanted.emplace(io::forest_of(file, block), file.geometry, comm_.size());
    };
  };

  const mesh::Snapshot same = io::open_snapshot(comm_, path, deal(SampleState::block));
  EXPECT_EQ(cells_lost(same), 0) << "the file's own blocks, refined ones too";

  const mesh::Snapshot others = io::open_snapshot(comm_, path, deal(2));
  EXPECT_EQ(cells_lost(others), 0);
  for (int level = 0; level <= others.finest_level(); ++level) {
    EXPECT_EQ(others.blocks()[static_cast<std::size_t>(level)], wanted->layout(level));
    EXPECT_EQ(others.levels[static_cast<std::size_t>(level)], wanted->leaf_layout(level));
  }
}

TEST_F(OpenedSnapshot, IsWrittenAgainInAnyFormat) {
  const std::string path = checkpoint();
  for (const io::Format& other : io::formats()) {
    if (!other.checkpoint) continue;
    const mesh::Snapshot state = io::open_snapshot(comm_, path);
    const std::string again = folder_ / ("again_" + other.name);

    io::write_snapshot(comm_, state, {.format = &other, .kind = io::FileKind::checkpoint, .texts = state.texts}, again);
    comm_.barrier();

    test::expect_sample_checkpoint(comm_, *other.open(again), levels);
    test::expect_sample_particles(comm_, *other.open(again), levels);
    comm_.barrier();
  }
}

TEST_F(OpenedSnapshot, DamageIsAnErrorOfAllRanksWhenItIsRead) {
  const std::string path = checkpoint();
  if (comm_.rank() == 0) {
    std::string bytes = test::content_of(path);
    for (std::size_t i = bytes.size() / 3; i < bytes.size() / 2; ++i) bytes[i] = static_cast<char>(bytes[i] ^ 1);
    test::overwrite(path, bytes);
  }
  comm_.barrier();

  EXPECT_THROW(
      {
        const mesh::Snapshot state = io::open_snapshot(comm_, path);
        cells_lost(state);
        state.species(mesh::dark_matter).take();
      },
      core::Error);
}

TEST_F(OpenedSnapshot, ACopyIsWrittenAsTheStateItWasMadeOf) {
  const SampleState sample(comm_, levels);
  for (const test::FileState& all : {sample.checkpoint(), sample.plotfile()}) {
    test::FileState copy{io::copy_of(comm_, all.snapshot(), all.choice), all.choice};
    const std::string one = write(all, "plt00001.raw"), other = write(copy, "plt00002.raw");

    EXPECT_TRUE(test::content_of(one) == test::content_of(other));
    comm_.barrier();
  }
}

TEST_F(OpenedSnapshot, ASampleOfTheParticlesHasTheSameOnesWhoeverHoldsThem) {
  const SampleState sample(comm_, levels);
  test::FileState some = sample.plotfile();
  some.choice.particle_share = 0.25;
  some.choice.particle_numbers = {"xvel"};
  const auto of_all = io::open_snapshot_file(write(some, "plt00001.hdf5_plt_cnt"));
  const SampleState elsewhere(comm_, levels, test::Deal::to_last_rank);
  test::FileState others = elsewhere.plotfile();
  others.choice = some.choice;
  const auto of_last = io::open_snapshot_file(write(others, "plt00002.hdf5_plt_cnt"));

  const std::set<std::int64_t> found = ids(of_all->read_particles(comm_.rank(), comm_.size()));

  EXPECT_EQ(found, ids(of_last->read_particles(comm_.rank(), comm_.size())));
  const auto all = io::open_snapshot_file(write(sample.plotfile(), "plt00004.hdf5_plt_cnt"));
  const auto share = static_cast<double>(found.size()) / static_cast<double>(all->description().particles);
  EXPECT_NEAR(share, 0.25, 5.0 * std::sqrt(0.25 * 0.75 / static_cast<double>(all->description().particles)));
  EXPECT_EQ(of_all->description().no_particles.attributes.size(), 1U);
  some.choice.particle_numbers = {"speed"};
  EXPECT_THROW(write(some, "plt00003.hdf5_plt_cnt"), core::Error);
}

}  // namespace
}  // namespace sidestream
