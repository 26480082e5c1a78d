// Tasks that compare with the moment before: the same results with and without a restart.
#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string bytes_at(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class LooksBack : public SessionTest {
 protected:
  // In situ with none, on threads with `on_threads`.
  static constexpr int on_threads = -1;
  CouplingConfig counter(int sidecars) const { return told(std::make_shared<test::Counter>(), sidecars); }
  CouplingConfig told(std::shared_ptr<const analysis::Analysis> analysis, int sidecars) const {
    const std::string transport = sidecars == on_threads ? "async" : sidecars > 0 ? "in-transit" : "in-situ";
    return config_of({task_of("count", std::move(analysis), transport)}, std::max(sidecars, 0));
  }
  std::vector<int> places() const {
    std::vector<int> all{0, on_threads};
    for (int sidecars = 1; sidecars < world_.size(); ++sidecars) all.push_back(sidecars);
    return all;
  }

  // A run, or a part of one that goes on from a checkpoint of step `restart`, in a folder of its own.
  void run_steps(const std::string& name, const CouplingConfig& config, const std::vector<std::int64_t>& steps,
                 std::optional<std::int64_t> restart = {}) {
    Session session(world_, config, run_folder(name), bill_,
                    [this](const std::string& text) { warnings_.push_back(text); });
    if (session.computes()) {
      if (restart) session.resume(moment_at(*restart, 5.0));
      for (const std::int64_t step : steps) session.publish(snapshot_of(session.compute_group(), step));
      session.finish();
    } else {
      session.serve();
    }
    world_.barrier();
  }

  io::RunFolder run_folder(const std::string& name) const {
    const std::string path = folder_.path() + "/" + name;
    if (world_.rank() == 0) std::filesystem::create_directories(path);
    world_.barrier();
    return io::RunFolder(path);
  }

  void expect_same_bytes(const std::string& a, const std::string& b, const std::vector<std::int64_t>& steps) {
    for (const std::int64_t step : steps) {
      const std::string bytes = bytes_at(run_folder(a).result("count", step));
      EXPECT_FALSE(bytes.empty());
      EXPECT_TRUE(bytes == bytes_at(run_folder(b).result("count", step))) << "step " << step;
    }
  }

  std::vector<std::int64_t> column(const std::string& name, std::int64_t step, const char* column) const {
    return std::get<std::vector<std::int64_t>>(
        io::read_result(run_folder(name).result("count", step)).column(column).values);
  }

  // The warnings of all ranks.
  std::int64_t warnings() const { return world_.sum(static_cast<std::int64_t>(warnings_.size())); }
};

TEST_F(LooksBack, EachMomentIsGivenTheResultOfTheOneBefore) {
  for (const int sidecars : places()) {
    const std::string name = std::to_string(sidecars);
    run_steps(name, counter(sidecars), {0, 2, 3, 7});

    EXPECT_THAT(column(name, 7, "steps"), ElementsAre(0, 2, 3, 7));
    EXPECT_THAT(column(name, 7, "before"), ElementsAre(-1, 0, 2, 3));
    EXPECT_THAT(column(name, 7, "count"), ElementsAre(4));
  }
  EXPECT_EQ(warnings(), 0);
}

TEST_F(LooksBack, ARestartGivesTheSameBytes) {
  for (const int sidecars : places()) {
    const std::string name = std::to_string(sidecars);
    run_steps("whole" + name, counter(sidecars), {0, 1, 2, 3, 4, 5});
    run_steps("parts" + name, counter(sidecars), {0, 1, 2});

    run_steps("parts" + name, counter(sidecars), {3, 4, 5}, 2);

    expect_same_bytes("whole" + name, "parts" + name, {0, 1, 2, 3, 4, 5});
    expect_same_bytes("whole0", "parts" + name, {0, 1, 2, 3, 4, 5});
  }
  EXPECT_EQ(warnings(), 0);
}

TEST_F(LooksBack, ResultsOfStepsAfterTheCheckpointAreNotTaken) {
  for (const int sidecars : places()) {
    const std::string name = std::to_string(sidecars);
    run_steps("whole" + name, counter(sidecars), {0, 1, 2, 4, 5});
    run_steps("parts" + name, counter(sidecars), {0, 1, 2, 3, 4, 5, 6});

    run_steps("parts" + name, counter(sidecars), {4, 5}, 2);

    EXPECT_THAT(column("parts" + name, 4, "before"), ElementsAre(-1, 0, 1, 2));
    expect_same_bytes("whole" + name, "parts" + name, {0, 1, 2, 4, 5});
  }
}

TEST_F(LooksBack, ARestartOnTheOtherTransportGivesTheSameBytes) {
  run_steps("whole", counter(0), {0, 1, 2, 3, 4, 5});
  run_steps("parts", counter(world_.size() - 1), {0, 1});

  run_steps("parts", counter(on_threads), {2, 3}, 1);
  run_steps("parts", counter(0), {4, 5}, 3);

  expect_same_bytes("whole", "parts", {0, 1, 2, 3, 4, 5});
}

TEST_F(LooksBack, ADamagedResultIsSaidAndTheTaskBeginsAnew) {
  for (const int sidecars : places()) {
    const std::string name = std::to_string(sidecars);
    run_steps(name, counter(sidecars), {0, 1, 2});
    const std::string path = run_folder(name).result("count", 2);
    if (world_.rank() == 0) std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    world_.barrier();
    warnings_.clear();

    run_steps(name, counter(sidecars), {3, 4}, 2);

    EXPECT_THAT(column(name, 4, "before"), ElementsAre(-1, 3));
    EXPECT_EQ(warnings(), 1);
    for (const std::string& warning : warnings_) EXPECT_THAT(warning, HasSubstr("00002.nc"));
  }
}

TEST_F(LooksBack, AMissingResultIsSaidAndTheTaskBeginsAnew) {
  for (const int place : {0, on_threads}) {
    const std::string name = "run" + std::to_string(place);
    warnings_.clear();
    run_steps(name, counter(place), {4, 5}, 3);

    EXPECT_THAT(column(name, 5, "before"), ElementsAre(-1, 4));
    EXPECT_EQ(warnings(), 1);
    for (const std::string& warning : warnings_) EXPECT_THAT(warning, HasSubstr("no earlier result"));
  }
}

TEST_F(LooksBack, AMomentThatFailedIsPassedOver) {
  class Moody : public test::Counter {
   public:
    mesh::Result run_after(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                           const mesh::Result& earlier) const override {
      if (snapshot.moment.step == 2) throw core::Error("not today");
      return Counter::run_after(comm, snapshot, earlier);
    }
  };
  for (const int place : {0, on_threads}) {
    const std::string name = "run" + std::to_string(place);
    run_steps(name, told(std::make_shared<Moody>(), place), {0, 1, 2, 3});

    EXPECT_THAT(column(name, 3, "before"), ElementsAre(-1, 0, 1));
  }
}

}  // namespace
}  // namespace sidestream::couple
