// Checkpoints of refined meshes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint_fixture.hpp"
#include "io/checkpoint_header.hpp"
#include "sidestream/core/error.hpp"
#include "support/levels.hpp"

namespace sidestream {
namespace {

class RefinedCheckpointTest : public CheckpointTest {
 protected:
  static std::vector<mesh::Layout> levels(int ranks) {
    return test::refined_levels(8, 4, ranks, test::Blocks::all, [](int level, mesh::Int3 p) {
      return (level == 0 && p.x == 1) || (level == 1 && p == mesh::Int3{3, 0, 2});
    });
  }
  static std::string name_of(const mesh::Layout& layout) { return "gas/" + std::to_string(layout.level()); }

  std::string write_levels() const {
    io::CheckpointContent all;
    std::vector<mesh::Field<double>> fields;
    for (const mesh::Layout& layout : levels(comm_.size()))
      fields.push_back(test::field_of_global_index(layout, comm_.rank(), 2, 1));
    for (const auto& field : fields) all.fields.emplace_back(name_of(field.layout()), &field);
    io::write_checkpoint(comm_, folder_ / "chk00001", all);
    return folder_ / "chk00001";
  }
};

TEST_F(RefinedCheckpointTest, LevelsThatDoNotCoverTheDomainComeBack) {
  const std::string path = write_levels();

  for (int ranks = 1; ranks <= comm_.size(); ++ranks) {
    const comm::Communicator some = comm_.split(comm_.rank() < ranks ? 0 : -1);
    if (some.is_empty()) continue;
    const io::Checkpoint checkpoint(some, path);
    for (const mesh::Layout& layout : levels(ranks)) {
      mesh::Field<double> gas(layout, some.rank(), 2);
      checkpoint.read_field(name_of(layout), gas);

      EXPECT_EQ(test::cells_that_differ(gas), 0);
      EXPECT_TRUE(std::ranges::equal(checkpoint.layout(name_of(layout)).boxes(), layout.boxes()));
      EXPECT_EQ(checkpoint.layout(name_of(layout)).level(), layout.level());
    }
  }
}

TEST_F(RefinedCheckpointTest, TheTreeIsFoundFromTheBoxesOfTheLevels) {
  const io::Checkpoint checkpoint(comm_, write_levels());
  std::vector<mesh::Layout> found;
  for (const std::string& name : checkpoint.fields()) found.push_back(checkpoint.layout(name));

  EXPECT_THAT(
      io::refined_blocks(found),
      testing::ElementsAre(mesh::BlockKey{0, {1, 0, 0}}, mesh::BlockKey{0, {1, 1, 0}}, mesh::BlockKey{0, {1, 0, 1}},
                           mesh::BlockKey{0, {1, 1, 1}}, mesh::BlockKey{1, {3, 0, 2}}));
  EXPECT_THAT(io::refined_blocks(std::span(found).first(1)), testing::IsEmpty());
}

TEST_F(RefinedCheckpointTest, ATreeWithoutRefinementOfFlatAxesIsFound) {
  const auto level = [](int l, std::vector<mesh::Box> boxes) {
    const std::vector<std::int32_t> owners(boxes.size(), 0);
    return mesh::Layout(mesh::domain_of({8 << l, 4 << l, 1}), {}, std::move(boxes), owners, l);
  };
  const std::vector<mesh::Layout> flat{
      level(0, {{{0, 0, 0}, {4, 4, 1}}, {{4, 0, 0}, {8, 4, 1}}}),
      level(1, {{{8, 0, 0}, {12, 4, 1}}, {{12, 0, 0}, {16, 4, 1}}, {{8, 4, 0}, {12, 8, 1}}, {{12, 4, 0}, {16, 8, 1}}})};

  EXPECT_THAT(io::refined_blocks(flat), testing::ElementsAre(mesh::BlockKey{0, {1, 0, 0}}));
}

TEST_F(RefinedCheckpointTest, BoxesThatAreNoBlocksAreRefused) {
  const mesh::Layout rows({{0, 0, 0}, {8, 4, 4}}, {}, {{{0, 0, 0}, {2, 4, 4}}, {{2, 0, 0}, {8, 4, 4}}}, {0, 0});

  EXPECT_THROW(io::refined_blocks(std::vector{rows, rows}), core::Error);
}

TEST_F(RefinedCheckpointTest, ParticlesInSeveralPiecesAreOneSet) {
  const mesh::Particles even = particles_of_rank(2 * comm_.rank(), 2 * comm_.size()),
                        odd = particles_of_rank(2 * comm_.rank() + 1, 2 * comm_.size());
  auto all = content();
  all.particles = {&even, &odd};
  io::write_checkpoint(comm_, folder_ / "chk00007", all);

  expect_good(comm_, folder_ / "chk00007", {1, 1, comm_.size()});
}

TEST_F(RefinedCheckpointTest, PiecesOfParticlesThatDifferAreRefused) {
  mesh::Particles other = particles_;
  other.mass *= 2.0;
  auto all = content();
  all.particles = {&particles_, &other};

  EXPECT_THROW(io::write_checkpoint(comm_, folder_ / "chk00007", all), core::Error);
}

TEST_F(RefinedCheckpointTest, ManyBoxesTakeTheirTablesAndNoMore) {
  if (comm_.size() > 1) return;
  std::vector<mesh::Box> boxes;
  for (std::int32_t i = 0; i < 1 << 18; ++i) {
    const mesh::Int3 lo{i % 64, i / 64 % 64, i / 4096};
    boxes.push_back({lo, lo + mesh::Int3{1, 1, 1}});
  }
  io::CheckpointHeader header;
  const std::vector<std::int32_t> owners(boxes.size(), 0);
  const auto count = static_cast<std::int64_t>(boxes.size());
  header.file_bytes = {8 * count};
  header.fields.push_back({"gas", 1, mesh::Layout(mesh::domain_of({64, 64, 64}), {}, std::move(boxes), owners), {}});
  for (std::int64_t i = 0; i < count; ++i) header.fields[0].boxes.push_back({0, 8 * i, 8, 1});

  const std::string bytes = io::to_bytes(header);
  const io::CheckpointHeader read = io::parse_checkpoint_header(bytes, "");

  EXPECT_LT(bytes.size(), 60 * static_cast<std::size_t>(count));
  EXPECT_TRUE(read.fields[0].layout == header.fields[0].layout);
  EXPECT_EQ(read.fields[0].boxes.back().offset, header.fields[0].boxes.back().offset);
}

}  // namespace
}  // namespace sidestream
