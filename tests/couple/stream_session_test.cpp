#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "couple/session_fixture.hpp"
#include "sidestream/couple/stream_reader.hpp"

namespace {

using namespace sidestream;
using namespace sidestream::couple;

constexpr std::int64_t steps = 6;

// The first cell that differs from what one rank has of that step, or "".
std::string difference(const comm::Communicator& alone, const mesh::Snapshot& snapshot,
                       const std::vector<std::string>& names) {
  const mesh::Snapshot expected = refined_snapshot_of(alone, snapshot.moment.step);
  if (snapshot.levels.size() != expected.levels.size()) return "levels";
  for (const std::string& name : names)
    for (int level = 0; level < static_cast<int>(expected.levels.size()); ++level) {
      const mesh::FieldView<const double> got = snapshot.field(name, level), there = expected.field(name, level);
      if (got.blocks() != there.blocks()) return "blocks of " + name;
      for (int b = 0; b < got.blocks(); ++b) {
        const mesh::Box box = got.box(b);
        if (box != there.box(b)) return "a box of " + name;
        for (std::int32_t z = box.lo.z; z < box.hi.z; ++z)
          for (std::int32_t y = box.lo.y; y < box.hi.y; ++y)
            for (std::int32_t x = box.lo.x; x < box.hi.x; ++x)
              if (got.view(b)(z, y, x) != there.view(b)(z, y, x))
                return fmt::format("{} of step {} at {}, {}, {}", name, snapshot.moment.step, x, y, z);
      }
    }
  return "";
}

class StreamSession : public SessionTest {
 protected:
  CouplingConfig config_with(const std::string& listen) {
    const core::Node table = core::parse_toml("analysis = \"readers\"\n", "test");
    CouplingConfig config =
        config_of({task_of("live", analysis::analyses().named("readers").make(table, nullptr), "stream")});
    config.stream.listen = listen;
    config.stream.wait_for = world_.size();
    return config;
  }

  // Reads all steps, in a thread of its own, as a job of one rank would.
  void read_all(const std::vector<std::string>& names) {
    const comm::Communicator alone(MPI_COMM_SELF);
    ReaderOptions options;
    options.demand.quantities = names;
    options.patience_s = 30.0;
    StreamReader reader(alone, folder_.path(), options);
    while (const std::optional<mesh::Snapshot> snapshot = reader.next()) {
      EXPECT_EQ(difference(alone, *snapshot, names), "");
      seen_.push_back(snapshot->moment.step);
    }
    bytes_ = reader.counts().bytes;
  }

  std::vector<std::int64_t> seen_;
  std::int64_t bytes_ = 0;
};

class StreamAddresses : public StreamSession, public testing::WithParamInterface<const char*> {};

TEST_P(StreamAddresses, GiveAReaderBesideEachRankAllStepsWhileTheRunGoesOn) {
  if (world_.rank() == 0) {
    std::filesystem::create_directories(folder_.path());
    std::ofstream(folder_.config()) << "# of a test\n";
  }
  world_.barrier();
  std::vector<std::string> names{"density"};
  if (world_.rank() % 2 == 0) names.emplace_back("temperature");
  std::thread reader([&] { read_all(names); });
  run(config_with(GetParam()), steps,
      [](const auto& group, std::int64_t step) { return refined_snapshot_of(group, step); });
  reader.join();
  EXPECT_EQ(seen_, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_GE(bytes_, steps * std::ssize(names) * field_bytes);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StreamAddresses, testing::Values("local", "tcp://127.0.0.1:*"),
                         [](const auto& entry) { return std::string(entry.param).substr(0, 3); });

}  // namespace
