// What holds for every format there is.
#include "sidestream/io/format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "file_size_limit.hpp"
#include "format_fixture.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream {
namespace {

using test::Deal;
using test::SampleState;

class EveryFormat : public test::FormatTest, public testing::WithParamInterface<std::string> {
 protected:
  const io::Format& format() const override { return io::formats().named(GetParam()); }
  std::string name(std::int64_t step = 7) const {
    return (format().checkpoint ? format().checkpoint : format().plotfile)->of(step);
  }
  // Whether a run could go on from it: all can be read, every checksum is right. Anything but a core::Error is a
  // failure.
  bool is_good(const std::string& path) const {
    try {
      const auto file = format().open(path);
      file->verify();
      return file->description().kind == io::FileKind::checkpoint;
    } catch (const core::Error& error) {
      EXPECT_FALSE(error.where().empty()) << error.what();
      return false;
    }
  }
  bool is_of_many_files() const {
    return std::set<std::string>{"files", "nyx", "enzo", "enzo-hdf5"}.contains(GetParam());
  }
  bool keeps_units() const { return GetParam() == "nyx" || GetParam() == "raw" || GetParam() == "files"; }
  static bool fails(const std::function<void()>& work) {
    try {
      work();
      return false;
    } catch (const core::Error&) {
      return true;
    }
  }
};

TEST_P(EveryFormat, ACheckpointComesBackBitForBitOnAnyNumberOfRanks) {
  if (!format().checkpoint) GTEST_SKIP() << "is for plot files only";
  for (const int levels : {1, 2, 3})
    for (const Deal deal : {Deal::in_turn, Deal::in_pieces, Deal::to_last_rank}) {
      const std::string path = write(SampleState(comm_, levels, deal).checkpoint(), name());
      for (int ranks = 1; ranks <= comm_.size(); ++ranks) {
        const comm::Communicator some = comm_.split(comm_.rank() < ranks ? 0 : -1);
        if (some.is_empty()) continue;
        const auto file = format().open(path);
        test::expect_sample_checkpoint(some, *file, levels);
        test::expect_sample_particles(some, *file, levels);
        some.agree_on([&] { file->verify(some.rank(), some.size()); });
      }
      comm_.barrier();
    }
}

TEST_P(EveryFormat, APlotFileHoldsRoundedValues) {
  if (!format().plotfile || !keeps_units()) GTEST_SKIP() << "has plot files in the units of its readers, or none";
  const SampleState state(comm_, 3);
  auto content = state.plotfile();
  content.state.length_unit = "";  // else some formats convert to units of their own

  const auto file = format().open(write(content, format().plotfile->of(7)));

  EXPECT_EQ(file->description().kind, io::FileKind::plot_file);
  const std::vector<mesh::Layout> layouts = SampleState::layouts(3);
  for (int level = 0; level < 3; ++level) {
    const mesh::Layout layout = test::dealt(layouts[static_cast<std::size_t>(level)], comm_.size(), Deal::in_turn);
    mesh::Field<double> density(layout, comm_.rank()), momentum(layout, comm_.rank());
    file->read_field("density", density, level);
    file->read_field("xmom", momentum, level);
    EXPECT_EQ(test::cells_off_sample(density, 0, 1.0, true), 0);
    EXPECT_EQ(test::cells_off_sample(momentum, 1, 2.0, true), 0);
  }
  const mesh::Particles own = file->read_particles(comm_.rank(), comm_.size());
  for (std::size_t p = 0; p < own.size(); ++p) {
    EXPECT_EQ(own.attribute("mass")[p], 3.0);
    EXPECT_EQ(own.attribute("xvel")[p],
              static_cast<double>(static_cast<float>(2.0 * SampleState::velocity(own.id[p], 0))));
    EXPECT_NEAR(own.position[0][p], SampleState::position(own.id[p], 0), 1e-6 * SampleState::side);
  }
}

TEST_P(EveryFormat, ACoveringGridHasTheFinestValueOfEachCell) {
  const SampleState state(comm_, 2);
  const auto file = format().open(write(state.checkpoint(), name()));
  const std::int32_t n = 2 * SampleState::cells;
  mesh::Field<double> into(mesh::split(mesh::domain_of({n, n, n}), {1, 1, comm_.size()}), comm_.rank());

  file->read_covering("phi_grav", into, 1);

  const mesh::Box coarse = mesh::domain_of({n / 2, n / 2, n / 2});
  core::for_each_cell(into.box(0), [&](int k, int j, int i) {
    EXPECT_EQ(into.view(0)(k, j, i), i >= n / 2 ? SampleState::value(into.layout().domain(), 1, {i, j, k}, 2)
                                                : SampleState::value(coarse, 0, {i / 2, j / 2, k / 2}, 2));
  });
}

TEST_P(EveryFormat, WorksWithoutParticlesAndWithNone) {
  const SampleState state(comm_, 2);
  auto without = state.checkpoint();
  without.particles.stored.clear();
  mesh::Particles nobody;
  nobody.attributes = {{"vx", "km/s", {}}, {"vy", "km/s", {}}};
  auto with_none = without;
  with_none.particles.stored = {test::kept_elsewhere(nobody), test::kept_elsewhere(nobody)};

  const auto first = format().open(write(without, name(1)));
  const auto second = format().open(write(with_none, name(2)));

  EXPECT_FALSE(first->description().has_particles);
  EXPECT_TRUE(first->read_species().empty());
  first->verify();
  EXPECT_EQ(second->description().particles, 0);
  EXPECT_EQ(second->read_particles(comm_.rank(), comm_.size()).size(), 0U);
}

TEST_P(EveryFormat, IsRecognisedAndReplacesAFileOfItsName) {
  const SampleState state(comm_, 3), other(comm_, 1);
  write(state.checkpoint(), name());

  const std::string path = write(other.checkpoint(), name());

  EXPECT_TRUE(format().recognizes(path));
  test::expect_sample_checkpoint(comm_, *io::open_snapshot_file(path), 1);
  EXPECT_FALSE(format().recognizes(folder_ / "nothing"));
  EXPECT_FALSE(format().recognizes(folder_.path()));
}

TEST_P(EveryFormat, WhatAFileDoesNotHoldIsNamed) {
  const SampleState state(comm_, 1);
  const auto file = format().open(write(state.checkpoint(), name()));
  mesh::Field<double> whole(mesh::split(mesh::domain_of({8, 8, 8}), {1, 1, 1}), 0),
      half(mesh::split(mesh::domain_of({4, 4, 4}), {1, 1, 1}), 0);

  try {
    file->read_field("rho", whole);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.hint(), testing::HasSubstr("phi_grav"));
  }
  EXPECT_THROW(file->read_field("density", half), core::Error);
  EXPECT_THROW(file->read_field("density", whole, 1), core::Error);
  EXPECT_THROW(format().open("/nowhere"), core::Error);
}

// Some formats leave the writing to other ranks than the one without room: then they succeed, on all ranks.
TEST_P(EveryFormat, ADiskThatFillsUpOnOneRankStopsAllAndLosesNothing) {
  const SampleState state(comm_, 3);
  const std::string earlier = write(state.checkpoint(), name(1));
  for (const int files : is_of_many_files() ? std::set{1, 64} : std::set{64})
    for (const int full : std::set{0, comm_.size() - 1})
      for (const rlim_t room : {0, 100, 1000, 5000}) {
        io::WriteOptions options;
        options.files = files;
        for (const std::int64_t step : {1, 2}) {
          comm_.barrier();
          std::unique_ptr<test::FileSizeLimit> limit;
          if (comm_.rank() == full) limit = std::make_unique<test::FileSizeLimit>(room);
          const bool failed =
              fails([&] { test::write(comm_, format(), folder_ / name(step), state.checkpoint(), options); });
          limit.reset();
          comm_.barrier();
          EXPECT_EQ(comm_.all(failed), comm_.max(std::int64_t{failed}) == 1) << "all ranks fail or none";
          EXPECT_TRUE(failed || full > 0 || room > 100) << "the first rank writes something in any case";
          EXPECT_EQ(test::entries_of(folder_.path()), failed || step == 1 ? 1 : 2) << "nothing of a new one is left";
          EXPECT_TRUE(is_good(folder_ / name(failed ? 1 : step)));
          comm_.barrier();
          if (comm_.rank() == 0) io::remove_all(folder_ / name(2));
          comm_.barrier();
        }
      }
  EXPECT_TRUE(is_good(earlier));
}

TEST_P(EveryFormat, WhatDoesNotFitTogetherIsRefusedByAll) {
  const SampleState state(comm_, 3);
  auto fewer_levels = state.checkpoint(), fewer_particles = state.checkpoint(), swapped = state.checkpoint();
  const mesh::Snapshot::Stored density = swapped.state.stored("density");
  fewer_levels.state.add_stored({"density", ""}, {density.levels[0], density.levels[1]}, 0);
  fewer_particles.particles.stored.pop_back();
  swapped.state.add_stored({"density", ""}, {density.levels[1], density.levels[0], density.levels[2]}, 0);

  for (const auto& content : {fewer_levels, fewer_particles, swapped})
    EXPECT_THROW(write(content, name()), core::Error);
  auto on_one_rank = state.checkpoint();
  if (comm_.rank() == comm_.size() - 1) {
    mesh::Particles other = *on_one_rank.particles.stored.front();
    other.attributes.front().values.push_back(0.0);
    on_one_rank.particles.stored.front() = std::make_shared<const mesh::Particles>(other);
  }
  EXPECT_THROW(write(on_one_rank, name()), core::Error);

  comm_.barrier();
  EXPECT_EQ(test::entries_of(folder_.path()), 0);
}

TEST_P(EveryFormat, AFileCutAnywhereIsFoundOut) {
  const std::string path = write(SampleState(comm_, 3).checkpoint(), name());
  if (comm_.rank() != 0) return;
  int files = 0;
  test::for_each_file(path, [&](const std::string&) { ++files; });

  test::for_each_file(path, [&](const std::string& file) {
    const std::string good = test::content_of(file);
    if (good.size() < 2) return;
    const std::size_t places = std::max<std::size_t>(8, static_cast<std::size_t>(100 / files));
    for (std::size_t i = 0; i < places; ++i) {
      test::overwrite(file, good.substr(0, (good.size() - 2) * (i + 1) / places));
      EXPECT_FALSE(is_good(path)) << file << " cut at " << i + 1 << "/" << places;
    }
    std::filesystem::remove(file);
    EXPECT_FALSE(is_good(path)) << file << " is missing";
    test::overwrite(file, good);
  });
  EXPECT_TRUE(is_good(path));
}

TEST_P(EveryFormat, AFlippedBitInAnyFileIsFoundOut) {
  const std::string path = write(SampleState(comm_, 3).checkpoint(), name());
  if (comm_.rank() != 0) return;

  test::for_each_file(path, [&](const std::string& file) {
    const std::string good = test::content_of(file);
    for (std::size_t i = 0; i < std::min<std::size_t>(good.size(), 48); ++i) {
      std::string bad = good;
      const std::size_t place = i < 16 ? i : i < 32 ? good.size() - 1 - (i - 16) : good.size() * (i - 32) / 16;
      bad[std::min(place, good.size() - 1)] ^= static_cast<char>(1U << (i % 8));
      test::overwrite(file, bad);
      EXPECT_FALSE(is_good(path)) << file << ", byte " << place;
    }
    test::overwrite(file, good);
  });
  EXPECT_TRUE(is_good(path));
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, testing::ValuesIn(test::written(io::formats().names())),
                         [](const auto& entry) {
                           std::string name = entry.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Formats, AreFoundByNameAndTheNearestIsNamed) {
  EXPECT_EQ(io::formats().named("nyx").name, "nyx");
  try {
    io::formats().named("nix");
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.hint(), testing::HasSubstr("nyx"));
  }
}

}  // namespace
}  // namespace sidestream
