#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "couple/fake_analyses.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/result_file.hpp"
#include "sidestream/io/run_folder.hpp"
#include "sidestream/mesh/forest.hpp"
#include "support/fields.hpp"
#include "support/levels.hpp"

namespace sidestream::couple {

constexpr std::int64_t test_cells = 16 * 16 * 16;
constexpr std::int64_t field_bytes = test_cells * static_cast<std::int64_t>(sizeof(double));

inline mesh::Moment moment_at(std::int64_t step, double redshift) {
  return {.step = step, .attributes = {{"redshift", redshift}}};
}

inline Task task_of(std::string name, std::shared_ptr<const analysis::Analysis> analysis, Transport transport,
                    Trigger trigger = Trigger({.every = 1})) {
  return {std::move(name), "fake", std::move(analysis), transport, std::move(trigger), "scale = 1.0\n"};
}

/// Fields on `levels` that depend on the step and on the global cell index only, whatever the group.
inline mesh::Snapshot snapshot_on(std::vector<mesh::Layout> levels, const comm::Communicator& group,
                                  std::int64_t step) {
  mesh::Snapshot snapshot;
  snapshot.moment.step = step;
  snapshot.moment.time = 0.1 * static_cast<double>(step);
  snapshot.moment.attributes = {{"redshift", 10.0 - static_cast<double>(step)}, {"omega_m", 0.3}};
  snapshot.geometry = {mesh::domain_of({16, 16, 16}), {1.0, 2.0, 1.0 / 3.0}, {true, true, true}};
  snapshot.levels = std::move(levels);
  const auto add = [&](const char* name, double factor) {
    std::vector<mesh::Field<double>> fields;
    for (const mesh::Layout& layout : snapshot.levels) {
      fields.push_back(test::field_of_global_index(layout, group.rank()));
      for (double& value : fields.back().all()) value = factor * (value + static_cast<double>(step)) / 3.0;
    }
    snapshot.add({name, "unit of " + std::string(name)}, std::move(fields));
  };
  add("density", 1.0);
  add("temperature", -7.0);
  add("unused", 5.0);
  return snapshot;
}

/// On a uniform grid.
inline mesh::Snapshot snapshot_of(const comm::Communicator& group, std::int64_t step, std::int32_t block = 4) {
  return snapshot_on({mesh::Forest({16, 16, 16}, block).layout(group.size())}, group, step);
}

/// On a mesh whose refinement changes from step to step: step 0 is uniform; step 1 has one block refined; step 2 has
/// all but one of its children refined as well, so that the second level has one box only; step 3 has nothing left of
/// the coarsest level.
inline std::vector<mesh::Layout> levels_of_step(std::int64_t step, int ranks) {
  return test::refined_levels(16, 4, ranks, test::Blocks::leaves, [=](int level, mesh::Int3 p) {
    if (step % 4 == 3) return level == 0;
    return level < step % 4 && (level == 0 ? p == mesh::Int3{0, 0, 0} : p != mesh::Int3{1, 0, 1});
  });
}
inline mesh::Snapshot refined_snapshot_of(const comm::Communicator& group, std::int64_t step) {
  return snapshot_on(levels_of_step(step, group.size()), group, step);
}

/// An analysis on the sidecars stops here until the first rank that computes lets it go on.
class Gate {
 public:
  Gate(const comm::Communicator& world, int first_sidecar) : world_(world.duplicate()), first_sidecar_(first_sidecar) {}

  /// In the analysis, on all ranks that run it. Nothing happens on ranks that compute. Throws after half a minute.
  void enter(const comm::Communicator& group) const {
    if (world_.rank() < first_sidecar_) return;
    bool is_open = true;
    if (group.rank() == 0) {
      char signal = 0;
      MPI_Send(&signal, 1, MPI_CHAR, 0, 1, world_.raw());
      is_open = receive_within(30.0);
    }
    if (!group.broadcast(is_open)) throw core::Error("nobody opened the gate");
  }
  /// On all ranks that compute.
  void wait_until_entered(const comm::Communicator& compute) const {
    char signal = 0;
    if (compute.rank() == 0) MPI_Recv(&signal, 1, MPI_CHAR, first_sidecar_, 1, world_.raw(), MPI_STATUS_IGNORE);
    compute.barrier();
  }
  void open(const comm::Communicator& compute) const {
    char signal = 0;
    if (compute.rank() == 0) MPI_Send(&signal, 1, MPI_CHAR, first_sidecar_, 2, world_.raw());
  }

 private:
  bool receive_within(double timeout_s) const {
    char signal = 0;
    int done = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&signal, 1, MPI_CHAR, 0, 2, world_.raw(), &request);
    for (const double start = MPI_Wtime(); done == 0 && MPI_Wtime() - start < timeout_s;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      usleep(200);
    }
    return done != 0;
  }
  comm::Communicator world_;
  int first_sidecar_;
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() : folder_(new_folder()) {}
  ~SessionTest() override {
    world_.barrier();
    if (world_.rank() == 0) std::filesystem::remove_all(folder_.path());
  }

  CouplingConfig config_of(std::vector<Task> tasks, int sidecars = 0) const {
    CouplingConfig config;
    config.sidecars = sidecars;
    config.timeout_s = 60.0;
    config.tasks = std::move(tasks);
    return config;
  }

  Session start(CouplingConfig config) {
    return Session(world_, std::move(config), folder_, bill_,
                   [this](const std::string& text) { warnings_.push_back(text); });
  }

  /// Publishes the steps 0 to `steps` - 1 and ends the session.
  std::vector<TaskTotals> run(
      CouplingConfig config, std::int64_t steps,
      const std::function<mesh::Snapshot(const comm::Communicator&, std::int64_t)>& snapshot =
          [](const auto& group, std::int64_t step) { return snapshot_of(group, step); }) {
    Session session = start(std::move(config));
    std::vector<TaskTotals> totals;
    if (session.computes()) {
      for (std::int64_t step = 0; step < steps; ++step) {
        session.progress();
        session.publish(snapshot(session.compute_group(), step));
      }
      totals = session.finish();
    } else {
      session.serve();
    }
    world_.barrier();
    return totals;
  }

  bool has_result(const std::string& task, std::int64_t step) const {
    return std::filesystem::exists(folder_.result(task, step));
  }

  /// The events of a kind in the log of a group.
  std::vector<nlohmann::json> events(const std::string& group, const std::string& kind) const {
    std::vector<nlohmann::json> found;
    std::ifstream file(folder_.events(group));
    for (std::string line; std::getline(file, line);)
      if (nlohmann::json event = nlohmann::json::parse(line); event.at("event") == kind)
        found.push_back(std::move(event));
    return found;
  }

  comm::Communicator world_{MPI_COMM_WORLD};
  io::RunFolder folder_;
  core::Bill bill_;
  std::vector<std::string> warnings_;

 private:
  io::RunFolder new_folder() const {
    std::string path = (std::filesystem::temp_directory_path() / "sidestream_session_XXXXXX").string();
    if (world_.rank() == 0 && mkdtemp(path.data()) == nullptr) path.clear();
    return io::RunFolder(world_.broadcast(path));
  }
};

/// Names, units and all bits of two results.
inline void expect_equal(const mesh::Result& a, const mesh::Result& b) {
  EXPECT_EQ(a.attributes, b.attributes);
  EXPECT_EQ(a.dimensions, b.dimensions);
  ASSERT_EQ(a.columns.size(), b.columns.size());
  for (std::size_t c = 0; c < a.columns.size(); ++c) {
    EXPECT_EQ(a.columns[c].name, b.columns[c].name);
    EXPECT_EQ(a.columns[c].unit, b.columns[c].unit);
    EXPECT_EQ(a.columns[c].values, b.columns[c].values);
  }
}

}  // namespace sidestream::couple
