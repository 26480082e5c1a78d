#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "couple/session_fixture.hpp"
#include "sidestream/couple/stream_reader.hpp"
#include "sidestream/io/atomic_file.hpp"

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

  // As a firewall does: the messages of a stream come through, its plain sockets do not.
  void close_ways_for_plain_sockets() const {
    while (!std::filesystem::exists(folder_.stream())) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::string address = nlohmann::json::parse(io::read_text(folder_.stream())).at("address");
    const std::filesystem::path sockets = std::filesystem::path(address.substr(address.find("//") + 2)).parent_path();
    int closed = 0;
    for (int rank = 0; rank < world_.size(); ++rank)
      closed += std::filesystem::exists(sockets / fmt::format("{}+", rank)) ? 1 : 0;
    for (int rank = 0; rank < world_.size(); ++rank) {
      std::error_code ignored;  // the reader of another rank does the same
      std::filesystem::remove(sockets / fmt::format("{}+", rank), ignored);
    }
    if (world_.size() == 1) {
      EXPECT_EQ(closed, 1);
    }
  }

  // Reads all steps, in a thread of its own, as a job of one rank would.
  void read_all(const std::vector<std::string>& names, bool has_plain_sockets) {
    const comm::Communicator alone(MPI_COMM_SELF);
    if (!has_plain_sockets) close_ways_for_plain_sockets();
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

struct Ways {
  std::string name, listen;
  bool has_plain_sockets = true;
};

class StreamAddresses : public StreamSession, public testing::WithParamInterface<Ways> {};

TEST_P(StreamAddresses, GiveAReaderBesideEachRankAllStepsWhileTheRunGoesOn) {
  if (world_.rank() == 0) {
    std::filesystem::create_directories(folder_.path());
    std::ofstream(folder_.config()) << "# of a test\n";
  }
  world_.barrier();
  std::vector<std::string> names{"density"};
  if (world_.rank() % 2 == 0) names.emplace_back("temperature");
  std::thread reader([&] { read_all(names, GetParam().has_plain_sockets); });
  run(config_with(GetParam().listen), steps,
      [](const auto& group, std::int64_t step) { return refined_snapshot_of(group, step); });
  reader.join();
  EXPECT_EQ(seen_, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_GE(bytes_, steps * std::ssize(names) * field_bytes);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StreamAddresses,
                         testing::Values(Ways{"files", "local"}, Ways{"ports", "tcp://127.0.0.1:*"},
                                         Ways{"messages", "local", false}),
                         [](const auto& entry) { return entry.param.name; });

}  // namespace
