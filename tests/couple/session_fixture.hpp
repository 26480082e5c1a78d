#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "couple/fake_analyses.hpp"
#include "couple/watched_traffic.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/couple/stored.hpp"
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

inline Task task_of(std::string name, std::shared_ptr<const analysis::Analysis> analysis, const std::string& transport,
                    Trigger trigger = Trigger({.every = 1})) {
  return {std::move(name),    "fake",         std::move(analysis), &transports().named(transport),
          std::move(trigger), "scale = 1.0\n"};
}

/// Fields on `levels` that depend on the step and on the global cell index only, whatever the group.
inline mesh::Snapshot snapshot_on(std::vector<mesh::Layout> levels, const comm::Communicator& group,
                                  std::int64_t step) {
  mesh::Snapshot snapshot;
  snapshot.moment.step = step;
  snapshot.moment.time = 0.1 * static_cast<double>(step);
  snapshot.moment.attributes = {{"redshift", 10.0 - static_cast<double>(step)}, {"omega_m", 0.3}};
  snapshot.geometry = {mesh::domain_of({16, 16, 16}), {1.0, 2.0, 1.0 / 3.0}, {true, true, true}};
  snapshot.length_unit = "furlong";
  snapshot.gamma = 1.4;
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

/// An analysis on sidecars, or on threads, stops here until the first rank that computes lets it go on.
class Gate {
 public:
  /// Where `first_sidecar` is no rank of `world`, threads of all ranks stop.
  Gate(const comm::Communicator& world, int first_sidecar) : world_(world.duplicate()), first_sidecar_(first_sidecar) {}

  /// In the analysis, on all ranks that run it. Nothing happens on ranks that compute while there are sidecars. Throws
  /// after half a minute.
  void enter(const comm::Communicator& group) {
    bool is_open = true;
    if (stops_threads()) {
      has_entered_ = true;
      is_open = waited_for([this] { return is_open_.load(); });
    } else if (world_.rank() < first_sidecar_) {
      return;
    } else if (group.rank() == 0) {
      char signal = 0;
      MPI_Send(&signal, 1, MPI_CHAR, 0, 1, world_.raw());
      is_open = receive_within();
    }
    if (!group.broadcast(is_open)) throw core::Error("nobody opened the gate");
  }
  /// On all ranks that compute.
  void wait_until_entered(const comm::Communicator& compute) {
    char signal = 0;
    if (stops_threads())
      EXPECT_TRUE(waited_for([this] { return has_entered_.load(); }));
    else if (compute.rank() == 0)
      MPI_Recv(&signal, 1, MPI_CHAR, first_sidecar_, 1, world_.raw(), MPI_STATUS_IGNORE);
    compute.barrier();
  }
  void open(const comm::Communicator& compute) {
    char signal = 0;
    is_open_ = true;
    if (!stops_threads() && compute.rank() == 0) MPI_Send(&signal, 1, MPI_CHAR, first_sidecar_, 2, world_.raw());
  }

 private:
  bool stops_threads() const { return first_sidecar_ >= world_.size(); }
  template <typename F>
  static bool waited_for(F condition) {
    for (const double start = MPI_Wtime(); !condition() && MPI_Wtime() - start < 30.0;) usleep(200);
    return condition();
  }
  bool receive_within() const {
    char signal = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&signal, 1, MPI_CHAR, 0, 2, world_.raw(), &request);
    return waited_for([&] {
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
  }
  comm::Communicator world_;
  int first_sidecar_;
  std::atomic<bool> has_entered_{false}, is_open_{false};
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() : folder_(new_folder()) { test::pretend_nodes(0); }
  ~SessionTest() override {
    world_.barrier();
    if (world_.rank() == 0) std::filesystem::remove_all(folder_.path());
  }

  /// A way to analyse elsewhere, with so many sidecars, as if so many ranks shared a node (0: as it is).
  struct Way {
    std::string name, transport;
    int sidecars, ranks_of_node;
  };

  std::string spill_folder() const { return folder_.path() + "/spill"; }

  CouplingConfig config_of(std::vector<Task> tasks, int sidecars = 0) const {
    CouplingConfig config;
    config.sidecars = sidecars;
    config.timeout_s = 60.0;
    config.spill = spill_folder();
    config.tasks = std::move(tasks);
    return config;
  }

  CouplingConfig config_of(std::vector<Task> tasks, const Way& way) const {
    test::pretend_nodes(way.ranks_of_node);
    return config_of(std::move(tasks), way.sidecars);
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

  /// The same, where the queue fills: while step 0 is at work, a task beside the others waits there until all steps are
  /// published. Not for policies that wait for room.
  std::vector<TaskTotals> run_behind_a_gate(
      CouplingConfig config, const std::string& transport, std::int64_t steps,
      const std::function<mesh::Snapshot(const comm::Communicator&, std::int64_t)>& snapshot) {
    Gate gate(world_, transport == "async" ? world_.size() : world_.size() - config.sidecars);
    const auto stop = [&](const comm::Communicator& group, const mesh::Snapshot& at) {
      if (at.moment.step == 0) gate.enter(group);
    };
    config.tasks.push_back(task_of("gate", std::make_shared<test::Told>(stop, std::vector<std::string>{}), transport));
    Session session = start(std::move(config));
    std::vector<TaskTotals> totals;
    if (session.computes()) {
      for (std::int64_t step = 0; step < steps; ++step) {
        session.progress();
        session.publish(snapshot(session.compute_group(), step));
        if (step == 0) gate.wait_until_entered(session.compute_group());
      }
      gate.open(session.compute_group());
      totals = session.finish();
    } else {
      session.serve();
    }
    world_.barrier();
    return totals;
  }

  /// Of the publishes of a task, those that were not sent and analysed elsewhere.
  std::int64_t turned_away(const std::string& task, const TaskTotals& totals) const {
    std::int64_t count = totals.dropped;
    for (const nlohmann::json& event : events("compute", "publish"))
      count += event.at("task") == task && (event.at("action") == "in-situ" || event.at("action") == "stored");
    return count;
  }

  /// Does what tasks of the transport `file` left for later, on so many of the ranks.
  std::vector<TaskTotals> analyze_stored(const CouplingConfig& config, int ranks) {
    std::vector<TaskTotals> totals;
    const comm::Communicator some = world_.split(world_.rank() < ranks ? 0 : 1);
    if (world_.rank() < ranks)
      totals = couple::analyze_stored(some, config, folder_, bill_,
                                      [this](const std::string& text) { told_.push_back(text); });
    world_.barrier();
    return totals;
  }

  /// On threads, and for every number of sidecars on nodes of one rank, of two, and of all.
  std::vector<Way> ways() const {
    std::vector<Way> all{{"behind", "async", 0, 0}};
    for (int sidecars = 1; sidecars < world_.size(); ++sidecars)
      for (const int ranks_of_node : {0, 1, 2})
        all.push_back({fmt::format("aside{}-nodes{}", sidecars, ranks_of_node), "in-transit", sidecars, ranks_of_node});
    return all;
  }
  /// Whether a transport works on so many ranks.
  bool allows(const std::string& transport) const { return transport != "in-transit" || world_.size() > 1; }
  /// Whether this rank analyses what a transport brings, with so many sidecars where it needs any.
  bool analyses(const std::string& transport, int sidecars = 1) const {
    return transport != "in-transit" || world_.rank() >= world_.size() - sidecars;
  }
  /// Whose log tells of analyses.
  static std::string group_of(const std::string& transport) {
    return transport == "in-situ" ? "compute" : transport == "in-transit" ? "sidecar" : transport;
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
  std::vector<std::string> warnings_, told_;

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
