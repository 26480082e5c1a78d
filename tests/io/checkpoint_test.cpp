#include "sidestream/io/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "file_size_limit.hpp"
#include "io/checkpoint_header.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/mesh/forest.hpp"
#include "support/fields.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

constexpr std::int64_t particle_total = 1000;

// A number with nothing round about it, different for each particle.
double odd_number(std::int64_t id, int what) {
  return std::sqrt(static_cast<double>(id) + 0.1 * what) * (what % 2 == 0 ? 1.0 : -1e-300);
}

mesh::Particles particles_of_rank(int rank, int ranks) {
  mesh::Particles particles;
  particles.mass = 1.0 / 3.0;
  particles.attributes = {{"vx", "km/s", {}}, {"vy", "km/s", {}}};
  for (std::int64_t id = rank; id < particle_total; id += ranks) {
    particles.id.push_back(id);
    for (int axis = 0; axis < 3; ++axis)
      particles.position[static_cast<std::size_t>(axis)].push_back(odd_number(id, axis));
    for (int a = 0; a < 2; ++a)
      particles.attributes[static_cast<std::size_t>(a)].values.push_back(odd_number(id, 3 + a));
  }
  return particles;
}

int particles_that_differ(const mesh::Particles& particles) {
  int count = 0;
  for (std::size_t p = 0; p < particles.size(); ++p) {
    for (int axis = 0; axis < 3; ++axis)
      count += particles.position[static_cast<std::size_t>(axis)][p] != odd_number(particles.id[p], axis);
    for (int a = 0; a < 2; ++a)
      count += particles.attributes[static_cast<std::size_t>(a)].values[p] != odd_number(particles.id[p], 3 + a);
  }
  return count;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest()
      : gas_(test::field_of_global_index(mesh::Forest({16, 16, 8}, 4).layout(comm_.size()), comm_.rank(), 3, 2)),
        potential_(test::field_of_global_index(mesh::split(domain_, {1, 1, comm_.size()}), comm_.rank())),
        particles_(particles_of_rank(comm_.rank(), comm_.size())) {}

  io::CheckpointContent content(std::int64_t step = 7) const {
    io::CheckpointContent all;
    all.step = step;
    all.attributes = {{"time", 1.0 / 3.0}, {"zero", -0.0}, {"never", std::numeric_limits<double>::infinity()}};
    all.texts = {{"scheduler", "a \"quoted\"\nline"}};
    all.config = "[run]\nname = \"x\"\n";
    all.fields = {{"gas", &gas_}, {"potential", &potential_}};
    all.particles = &particles_;
    return all;
  }
  std::string write(std::int64_t step, int files = 64) const {
    auto all = content(step);
    all.files = files;
    const std::string path = folder_ / ("chk0000" + std::to_string(step));
    io::write_checkpoint(comm_, path, all);
    return path;
  }
  // Changes a file of a checkpoint on one rank, seen by all.
  void damage(const std::string& path, const std::function<void(std::string&)>& change) const {
    if (comm_.rank() == 0) {
      std::string bytes = test::content_of(path);
      change(bytes);
      test::overwrite(path, bytes);
    }
    comm_.barrier();
  }
  void expect_good(const comm::Communicator& comm, const std::string& path, mesh::Int3 parts) const;

  const mesh::Box domain_ = mesh::domain_of({16, 16, 8});
  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  mesh::Field<double> gas_, potential_;
  mesh::Particles particles_;
};

void CheckpointTest::expect_good(const comm::Communicator& comm, const std::string& path, mesh::Int3 parts) const {
  const io::Checkpoint checkpoint(comm, path);
  mesh::Field<double> gas(mesh::split(domain_, parts), comm.rank(), 3, 1),
      potential(mesh::split(domain_, parts), comm.rank());
  checkpoint.read_field("gas", gas);
  checkpoint.read_field("potential", potential);
  const mesh::Particles particles = checkpoint.read_particles();

  EXPECT_EQ(test::cells_that_differ(gas), 0);
  EXPECT_EQ(test::cells_that_differ(potential), 0);
  EXPECT_EQ(particles_that_differ(particles), 0);
  std::vector<std::int64_t> ids = comm.gather(std::span<const std::int64_t>(particles.id));
  if (comm.rank() == 0) {
    EXPECT_EQ(std::set<std::int64_t>(ids.begin(), ids.end()).size(), static_cast<std::size_t>(particle_total));
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(particle_total));
  }
}

TEST_F(CheckpointTest, ComesBackBitForBitOnAnyNumberOfRanks) {
  const std::string path = write(7);

  for (int ranks = 1; ranks <= comm_.size(); ++ranks) {
    const comm::Communicator some = comm_.split(comm_.rank() < ranks ? 0 : -1);
    if (some.is_empty()) continue;
    expect_good(some, path, {1, ranks, 1});
  }
}

TEST_F(CheckpointTest, RanksMayShareOneFile) {
  const std::string path = write(7, 1);

  EXPECT_EQ(test::entries_of(path), 2);
  expect_good(comm_, path, {comm_.size(), 1, 1});
}

TEST_F(CheckpointTest, KeepsNumbersAndTextsExactly) {
  const io::Checkpoint checkpoint(comm_, write(7));

  EXPECT_EQ(checkpoint.step(), 7);
  EXPECT_EQ(checkpoint.attribute("time"), 1.0 / 3.0);
  EXPECT_TRUE(std::signbit(checkpoint.attribute("zero")));
  EXPECT_TRUE(std::isinf(checkpoint.attribute("never")));
  EXPECT_EQ(checkpoint.texts().at("scheduler"), "a \"quoted\"\nline");
  EXPECT_EQ(checkpoint.config(), "[run]\nname = \"x\"\n");
  EXPECT_EQ(checkpoint.fields(), (std::vector<std::string>{"gas", "potential"}));
  EXPECT_EQ(checkpoint.components("gas"), 3);
  EXPECT_EQ(checkpoint.particle_count(), particle_total);
  EXPECT_EQ(checkpoint.read_particles().mass, 1.0 / 3.0);
  EXPECT_EQ(checkpoint.read_particles().attributes.at(1).unit, "km/s");
}

TEST_F(CheckpointTest, WorksWithoutParticlesAndWithNoneOnSomeRanks) {
  auto all = content();
  all.particles = nullptr;
  io::write_checkpoint(comm_, folder_ / "chk1", all);
  if (comm_.rank() == 0) particles_.resize(0);
  all.particles = &particles_;
  io::write_checkpoint(comm_, folder_ / "chk2", all);

  EXPECT_FALSE(io::Checkpoint(comm_, folder_ / "chk1").has_particles());
  EXPECT_THROW(io::Checkpoint(comm_, folder_ / "chk1").read_particles(), core::Error);
  EXPECT_EQ(io::Checkpoint(comm_, folder_ / "chk2").particle_count(),
            comm_.sum(static_cast<std::int64_t>(particles_.size())));
}

TEST_F(CheckpointTest, WhatItDoesNotHoldIsNamed) {
  const io::Checkpoint checkpoint(comm_, write(7));
  mesh::Field<double> other_domain(mesh::split(mesh::domain_of({8, 8, 8}), {1, 1, 1}), comm_.rank(), 3);
  mesh::Field<double> one_component(mesh::split(domain_, {1, 1, 1}), comm_.rank());

  try {
    checkpoint.read_field("density", gas_);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_NE(error.hint().find("gas, potential"), std::string::npos);
  }
  EXPECT_THROW(checkpoint.read_field("gas", other_domain), core::Error);
  EXPECT_THROW(checkpoint.read_field("gas", one_component), core::Error);
  EXPECT_THROW(checkpoint.attribute("redshift"), core::Error);
}

TEST_F(CheckpointTest, ReplacesOneOfTheSameName) {
  write(7);
  for (auto& value : gas_.all()) value += 0.0;
  const std::string path = write(7);

  expect_good(comm_, path, {1, 1, comm_.size()});
  EXPECT_EQ(test::entries_of(folder_.path()), 1);
}

// --- damage
// ---------------------------------------------------------------------------------------------------------------------

TEST_F(CheckpointTest, AHeaderCutAnywhereIsFoundOut) {
  const std::string header = write(7) + "/Header", good = test::content_of(header);

  for (int i = 0; i < 20; ++i) {
    damage(header, [&](std::string& bytes) { bytes = good.substr(0, good.size() * static_cast<std::size_t>(i) / 20); });
    EXPECT_THROW(io::Checkpoint(comm_, folder_ / "chk00007"), core::Error) << i;
    comm_.barrier();
  }
}

TEST_F(CheckpointTest, AFlippedBitAnywhereInTheHeaderIsFoundOut) {
  const std::string header = write(7) + "/Header", good = test::content_of(header);

  for (std::size_t i = 0; i < 64; ++i) {
    damage(header, [&](std::string& bytes) {
      bytes = good;
      bytes[i < 32 ? i : good.size() * (i - 32) / 32] ^= 4;
    });
    EXPECT_THROW(io::Checkpoint(comm_, folder_ / "chk00007"), core::Error) << i;
    comm_.barrier();
  }
}

TEST_F(CheckpointTest, AFlippedBitInAnyPieceOfTheDataIsFoundOut) {
  const std::string path = write(7, 1), data = path + "/data_00000", good = test::content_of(data);
  const auto header = io::parse_checkpoint_header(test::content_of(path + "/Header"), path);
  comm_.barrier();

  for (const io::Chunk& chunk : header.chunks()) {
    damage(data, [&](std::string& bytes) {
      bytes = good;
      bytes[static_cast<std::size_t>(chunk.offset + chunk.bytes / 2)] ^= 1;
    });
    try {
      io::Checkpoint(comm_, path).verify();
      ADD_FAILURE() << "offset " << chunk.offset;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.where(), data + ", offset " + std::to_string(chunk.offset));
    }
    comm_.barrier();
  }
}

TEST_F(CheckpointTest, OneDamagedBoxStopsAllRanksThatReadTogether) {
  const std::string path = write(7, 1);
  damage(path + "/data_00000", [](std::string& bytes) { bytes[0] ^= 1; });
  const io::Checkpoint checkpoint(comm_, path);
  mesh::Field<double> into(mesh::split(domain_, {1, 1, comm_.size()}), comm_.rank(), 3);

  EXPECT_THROW(checkpoint.read_field("gas", into), core::Error);
}

TEST_F(CheckpointTest, TruncatedAndMissingDataAreFoundOut) {
  const std::string cut = write(1), missing = write(2);
  damage(cut + "/data_00000", [](std::string& bytes) { bytes.pop_back(); });
  if (comm_.rank() == 0) std::filesystem::remove(missing + "/data_00000");
  comm_.barrier();

  EXPECT_THROW(io::Checkpoint(comm_, cut), core::Error);
  EXPECT_THROW(io::Checkpoint(comm_, missing), core::Error);
  EXPECT_THROW(io::Checkpoint(comm_, folder_ / "chk00099"), core::Error);
}

TEST_F(CheckpointTest, AHeaderThatLiesWithTheRightChecksumDoesNoHarm) {
  auto header = io::parse_checkpoint_header(test::content_of(write(7) + "/Header"), "");
  header.fields[0].boxes[0].bytes = std::int64_t{1} << 60;
  comm_.barrier();
  damage(folder_ / "chk00007/Header", [&](std::string& bytes) { bytes = io::to_text(header); });

  EXPECT_THROW(io::Checkpoint(comm_, folder_ / "chk00007"), core::Error);
}

TEST_F(CheckpointTest, TheNewestGoodOneIsFoundAndTheDamagedOnesAreNamed) {
  for (const int step : {1, 2, 3, 4}) write(step);
  damage(folder_ / "chk00003/data_00000", [](std::string& bytes) { bytes[bytes.size() / 2] ^= 1; });
  damage(folder_ / "chk00004/Header", [](std::string& bytes) { bytes.resize(bytes.size() / 2); });

  const io::FoundCheckpoint found = io::find_newest_checkpoint(comm_, folder_.path());

  EXPECT_EQ(found.path, folder_ / "chk00002");
  ASSERT_EQ(found.skipped.size(), 2U);
  EXPECT_THAT(found.skipped[0], testing::HasSubstr("chk00004"));
  EXPECT_THAT(found.skipped[1], testing::HasSubstr("chk00003"));
}

TEST_F(CheckpointTest, NoCheckpointIsNoError) {
  const io::FoundCheckpoint found = io::find_newest_checkpoint(comm_, folder_ / "nothing");

  EXPECT_EQ(found.path, "");
  EXPECT_TRUE(found.skipped.empty());
}

// --- writing that fails
// ---------------------------------------------------------------------------------------------------------

TEST_F(CheckpointTest, ADiskThatFillsUpOnOneRankStopsAllAndLosesNothing) {
  const std::string earlier = write(1);

  for (const int files : {1, 64})
    for (const rlim_t room : {0, 1000, 20000}) {
      {
        const std::unique_ptr<test::FileSizeLimit> limit(
            comm_.rank() == comm_.size() - 1 ? std::make_unique<test::FileSizeLimit>(room) : nullptr);
        EXPECT_THROW(write(2, files), core::Error) << room;
      }
      comm_.barrier();
      EXPECT_EQ(test::entries_of(folder_.path()), 1) << "nothing of the new one is left";
      comm_.barrier();
    }

  expect_good(comm_, earlier, {1, 1, comm_.size()});
}

TEST_F(CheckpointTest, ADiskThatFillsUpKeepsTheOneItWouldReplace) {
  const std::string path = write(1);

  {
    const test::FileSizeLimit limit(5000);
    EXPECT_THROW(write(1), core::Error);
  }

  expect_good(comm_, path, {1, 1, comm_.size()});
}

TEST_F(CheckpointTest, AFolderThatCannotBeMadeStopsAllRanks) {
  if (comm_.rank() == 0) test::overwrite(folder_ / "file", "x");
  comm_.barrier();

  EXPECT_THROW(io::write_checkpoint(comm_, folder_ / "file/chk00001", content()), core::Error);
}

TEST_F(CheckpointTest, WhatAnInterruptedWriteLeftIsNoObstacle) {
  if (comm_.rank() == 0) {
    std::filesystem::create_directories(folder_ / ".chk00001.tmp");
    test::overwrite(folder_ / ".chk00001.tmp/data_00000", "half");
  }
  comm_.barrier();

  const std::string path = write(1);

  expect_good(comm_, path, {1, 1, comm_.size()});
  EXPECT_EQ(test::entries_of(folder_.path()), 1);
}

TEST_F(CheckpointTest, ParticlesThatDifferBetweenRanksAreRefused) {
  if (comm_.size() == 1) particles_.position[0].pop_back();
  if (comm_.rank() == comm_.size() - 1) particles_.attributes[0].name = "other";

  EXPECT_THROW(write(1), core::Error);
  comm_.barrier();
  EXPECT_EQ(test::entries_of(folder_.path()), 0);
}

TEST_F(CheckpointTest, TheNewestCompleteOnesAreKept) {
  for (const int step : {1, 2, 3, 4, 5}) write(step);
  damage(folder_ / "chk00004/Header", [](std::string& bytes) { bytes.clear(); });
  if (comm_.rank() == 0) {
    std::filesystem::create_directories(folder_ / ".chk00009.tmp");
    std::filesystem::create_directories(folder_ / "chkother");
    io::remove_old_checkpoints(folder_.path(), 2);
  }
  comm_.barrier();

  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    names.insert(entry.path().filename().string());
  EXPECT_THAT(names, testing::UnorderedElementsAre("chk00003", "chk00004", "chk00005", "chkother"));
}

TEST(CheckpointFormat, IsFoundByNameAndTheNearestIsNamed) {
  EXPECT_EQ(io::checkpoint_format("sidestream").name, "sidestream");
  try {
    io::checkpoint_format("sidestraem");
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.hint(), testing::HasSubstr("sidestream"));
  }
}

}  // namespace
}  // namespace sidestream
