#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sidestream/sims/run.hpp"
#include "support/folder.hpp"
#include "support/kept_runs.hpp"
#include "support/run_files.hpp"

namespace sidestream::test {

/// Runs of a configuration on any ranks, each of which has to equal that of one rank. `Base` is a test of GoogleTest.
template <typename Base>
class ParityRuns : public Base {
 public:
  static void SetUpTestSuite() { kept = std::make_unique<KeptRuns>(comm::Communicator(MPI_COMM_WORLD)); }
  static void TearDownTestSuite() { kept.reset(); }

 protected:
  explicit ParityRuns(std::string configuration) : configuration_(std::move(configuration)) {}

  /// Whether what the runs in two folders leave is the same. Collective.
  virtual void expect_equal(const std::string& path, const std::string& other) = 0;

  void run(const comm::Communicator& ranks, const std::string& path, const std::vector<std::string>& overrides = {},
           io::ExistingRun existing = io::ExistingRun::refuse) {
    core::Node root = core::parse_toml(configuration_, "parity.toml");
    for (const std::string& assignment : overrides) core::override_key(root, assignment);
    sims::run(ranks, sims::read_run(root), path, {existing}, {});
  }
  void run_on(int ranks, const std::string& path, const std::vector<std::string>& overrides = {},
              io::ExistingRun existing = io::ExistingRun::refuse) {
    const comm::Communicator some = world.split(world.rank() < ranks ? 0 : -1);
    if (!some.is_empty()) run(some, path, overrides, existing);
    world.barrier();
  }

  /// Of the first rank alone: more results than `least`, and the same ones.
  static void expect_equal_results(const std::string& path, const std::string& other, std::size_t least) {
    const auto expected = result_bytes(path), found = result_bytes(other);
    EXPECT_GT(expected.size(), least);
    EXPECT_EQ(expected.size(), found.size());
    for (const auto& [name, bytes] : expected) EXPECT_TRUE(found.contains(name) && found.at(name) == bytes) << name;
  }

  void expect_all_ranks_in_situ_equal(const std::string& one) {
    run(world, folder / "in-situ");

    expect_equal(one, folder / "in-situ");
  }
  void expect_any_number_of_sidecars_equals(const std::string& one, const auto& tasks) {
    for (int sidecars = 1; sidecars < world.size(); ++sidecars) {
      const std::string name = "in-transit-" + std::to_string(sidecars);
      std::vector<std::string> overrides{"coupling.sidecars=" + std::to_string(sidecars)};
      for (const char* task : tasks) overrides.push_back(std::string("task.") + task + ".transport=in-transit");

      run(world, folder / name, overrides);

      expect_equal(one, folder / name);
    }
  }

  static inline std::unique_ptr<KeptRuns> kept;
  comm::Communicator world{MPI_COMM_WORLD};
  SharedFolder folder{world};

 private:
  std::string configuration_;
};

}  // namespace sidestream::test
