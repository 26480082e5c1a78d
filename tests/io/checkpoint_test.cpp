#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cmath>
#include <random>
#include <set>

#include "checkpoint_fixture.hpp"
#include "file_size_limit.hpp"
#include "io/checkpoint_header.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream {
namespace {

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
  all.particles.clear();
  io::write_checkpoint(comm_, folder_ / "chk1", all);
  if (comm_.rank() == 0) particles_.resize(0);
  all.particles = {&particles_};
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
  const auto good = io::parse_checkpoint_header(test::content_of(write(7) + "/Header"), "");
  const std::function<void(io::CheckpointHeader&)> lies[] = {
      [](auto& header) { header.fields[0].boxes[0].bytes = std::int64_t{1} << 60; },
      [](auto& header) { header.fields[0].boxes[0].file = -1; },
      [](auto& header) { header.fields[0].boxes[1].offset = std::int64_t{1} << 62; },
      [](auto& header) { header.fields[1].boxes.pop_back(); },
      [](auto& header) { header.fields[1].boxes.push_back({}); },
      [](auto& header) { header.particles.pieces[0].count = std::int64_t{1} << 50; },
      [](auto& header) { header.particles.pieces[0].count = -1; },
  };
  for (const auto& lie : lies) {
    io::CheckpointHeader header = good;
    lie(header);
    comm_.barrier();
    damage(folder_ / "chk00007/Header", [&](std::string& bytes) { bytes = io::to_bytes(header); });

    EXPECT_THROW(io::Checkpoint(comm_, folder_ / "chk00007"), core::Error);
  }
}

// The first line of a header whose text or tables were changed is made right again.
TEST_F(CheckpointTest, TablesThatDoNotFitTheirDescriptionAreFoundOut) {
  const std::string path = write(7) + "/Header", good = test::content_of(path);
  const auto with_checksum = [](std::string body) {
    return fmt::format("sidestream-checkpoint 2 {:016x}\n", XXH3_64bits(body.data(), body.size())) + body;
  };
  const std::string body = good.substr(good.find('\n') + 1);
  const std::size_t tables = body.find('\n') + 1;
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = body;
    EXPECT_NE(text.find(from), std::string::npos) << from;
    return text.replace(text.find(from), from.size(), to);
  };
  ASSERT_EQ(with_checksum(body), good);

  std::vector<std::string> bad{"",        "\n", "{}", "{}\n", body.substr(0, tables), body.substr(0, body.size() - 1),
                               body + "x"};
  for (const char* count : {"-1", "0", "31", "1000000000000", "1e300", "\"many\""})
    bad.push_back(replaced("\"boxes\":32", std::string("\"boxes\":") + count));
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    bad.push_back(body);
    bad.back()[tables + random() % (body.size() - tables)] ^= static_cast<char>(1U << (random() % 8));
  }
  for (const std::string& text : bad) {
    comm_.barrier();
    damage(path, [&](std::string& bytes) { bytes = with_checksum(text); });
    try {
      io::Checkpoint(comm_, folder_ / "chk00007").verify();
      ADD_FAILURE() << text.substr(0, tables);
    } catch (const core::Error& error) {
      EXPECT_FALSE(error.where().empty());
    }
  }
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
