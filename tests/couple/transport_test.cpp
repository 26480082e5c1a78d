// Whatever brings the snapshot: the same results, the same books.
#include "couple/session_fixture.hpp"
#include "couple/surroundings.hpp"

namespace sidestream::couple {
namespace {

using Transports = SessionTest;

std::shared_ptr<const analysis::Analysis> digest() {
  return std::make_shared<test::Digest>();
}

TEST_F(Transports, ResultsAreTheSameInSituOnThreadsAndForEveryNumberOfSidecars) {
  run(config_of({task_of("here", digest(), "in-situ")}), 2);
  for (const Way& way : ways()) {
    const std::string& name = way.name;
    run(config_of({task_of(name, digest(), way.transport)}, way), 2);
    if (world_.rank() != 0) continue;

    for (const std::int64_t step : {0, 1}) {
      mesh::Result here = io::read_result(folder_.result("here", step));
      const mesh::Result aside = io::read_result(folder_.result(name, step));
      EXPECT_EQ(std::get<std::string>(here.attributes.at("length_unit")), "furlong");
      EXPECT_EQ(std::get<double>(here.attributes.at("gamma")), 1.4);
      here.attributes["task"] = name;
      expect_equal(here, aside);
    }
  }
}

TEST_F(Transports, ARefinedMeshThatChangesGivesTheSameResultsWhoeverAnalyses) {
  constexpr std::int64_t steps = 9;
  run(config_of({task_of("here", digest(), "in-situ")}), steps, refined_snapshot_of);
  for (const Way& way : ways()) {
    const std::string& name = way.name;
    run(config_of({task_of(name, digest(), way.transport)}, way), steps, refined_snapshot_of);
    if (world_.rank() != 0) continue;

    for (std::int64_t step = 0; step < steps; ++step) {
      mesh::Result here = io::read_result(folder_.result("here", step));
      EXPECT_EQ(std::get<std::int64_t>(here.attributes.at("levels")), step % 4 == 3 ? 2 : 1 + step % 4);
      here.attributes["task"] = name;
      expect_equal(here, io::read_result(folder_.result(name, step)));
    }
  }
}

TEST_F(Transports, AMeshThatChangesWhileTheQueueIsFullChangesNoResult) {
  constexpr std::int64_t steps = 12;
  run(config_of({task_of("here", digest(), "in-situ")}), steps, refined_snapshot_of);
  for (const std::string transport : {"async", "in-transit"})
    for (const PolicyEntry& policy : policies()) {
      if (!allows(transport)) continue;
      const std::string name = transport + "-" + policy.name;
      CouplingConfig config = config_of({task_of(name, digest(), transport)}, 1);
      config.queue_bytes = 2 * 8.0 * field_bytes;  // two fields of the finest step
      config.when_full = &policy;
      const bool waits = policy.otherwise == PolicyEntry::Otherwise::wait;
      const auto totals = waits ? run(std::move(config), steps, refined_snapshot_of)
                                : run_behind_a_gate(std::move(config), transport, steps, refined_snapshot_of);
      if (world_.rank() != 0) continue;

      EXPECT_TRUE(waits || turned_away(name, totals.at(0)) > 0) << name;
      std::int64_t found = 0;
      for (std::int64_t step = 0; step < steps; ++step) {
        if (!has_result(name, step)) continue;
        ++found;
        mesh::Result here = io::read_result(folder_.result("here", step));
        here.attributes["task"] = name;
        expect_equal(here, io::read_result(folder_.result(name, step)));
      }
      EXPECT_EQ(found + totals.at(0).dropped, steps) << name;
      EXPECT_EQ(found, totals.at(0).count) << name;
      if (policy.otherwise != PolicyEntry::Otherwise::leave_out) {
        EXPECT_EQ(found, steps) << name;
      }
    }
}

// A transport as somebody else may write one: it analyses a moment when the next one comes.
class Later : public Transport {
 public:
  explicit Later(Surroundings& around) : around_(around) {}

  Orders publish(const mesh::Snapshot& snapshot, const Orders& orders) override {
    settle(standing_.sent);
    if (orders.empty()) return {};
    ++standing_.sent;
    waiting_.emplace(snapshot, orders);
    return {};
  }
  Standing standing() override { return standing_; }
  void settle(std::int64_t count) override {
    if (count <= standing_.done) return;
    for (const Order& order : waiting_->second)
      around_.runner.run(around_.config.tasks[order.task], waiting_->first, {.transport = "later"},
                         around_.books.of(order.task));
    waiting_.reset();
    standing_.done = standing_.sent;
  }
  void finish(Drain) override { settle(standing_.sent); }

 private:
  Surroundings& around_;
  Standing standing_;
  std::optional<std::pair<mesh::Snapshot, Orders>> waiting_;
};

TEST_F(Transports, AnotherOneIsAClassAndALineInATable) {
  const core::Registry<TransportEntry> table(
      {"transports", "transport", "for this test"},
      {transports().front(),
       {"later", "one moment late", [](Surroundings& around) { return std::make_unique<Later>(around); }}});
  CouplingConfig config =
      read_coupling(core::parse_toml("[task.here]\nanalysis = \"digest\"\nevery = 1\n"
                                     "[task.late]\nanalysis = \"digest\"\nevery = 1\ntransport = \"later\"",
                                     "run.toml"),
                    nullptr, test::only_digest(), {}, table);
  Session session = start(std::move(config));
  const auto publish = [&](std::int64_t step) { session.publish(snapshot_of(session.compute_group(), step)); };
  publish(0);
  EXPECT_FALSE(session.outlook(session.mark()).is_done);
  publish(1);
  publish(2);
  EXPECT_TRUE(has_result("late", 1));
  EXPECT_FALSE(has_result("late", 2));

  const auto totals = session.finish();

  EXPECT_TRUE(session.outlook(session.mark()).is_done);
  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(1).count, 3);
  for (const std::int64_t step : {0, 1, 2}) {
    mesh::Result here = io::read_result(folder_.result("here", step));
    here.attributes["task"] = "late";
    expect_equal(here, io::read_result(folder_.result("late", step)));
  }
}

TEST_F(Transports, TheBytesAreThoseOfTheCellsOfAllLevels) {
  if (world_.size() == 1) return;
  const auto totals = run(config_of({task_of("aside", digest(), "in-transit")}, 1), 4, refined_snapshot_of);
  if (world_.rank() != 0) return;

  // A refined block of 4^3 cells is replaced by eight of them.
  const std::int64_t one_block = 7 * 64, all_blocks = 7 * test_cells;
  const auto bytes = [](std::int64_t cells) { return 2 * 8 * cells; };
  const auto publishes = events("compute", "publish");
  EXPECT_EQ(publishes.at(0).at("bytes"), bytes(test_cells));
  EXPECT_EQ(publishes.at(1).at("bytes"), bytes(test_cells + one_block));
  EXPECT_EQ(publishes.at(2).at("bytes"), bytes(test_cells + 8 * one_block));
  EXPECT_EQ(publishes.at(3).at("bytes"), bytes(test_cells + all_blocks));
  EXPECT_EQ(totals.at(0).bytes, bytes(4 * test_cells + 9 * one_block + all_blocks));
}

TEST_F(Transports, AResultTellsWhereItComesFrom) {
  run(config_of({task_of("sums", digest(), "in-situ")}), 4);
  if (world_.rank() != 0) return;

  const mesh::Result result = io::read_result(folder_.result("sums", 3));

  EXPECT_EQ(std::get<std::string>(result.attributes.at("task")), "sums");
  EXPECT_EQ(std::get<std::string>(result.attributes.at("analysis")), "fake");
  EXPECT_EQ(std::get<std::string>(result.attributes.at("parameters")), "scale = 1.0\n");
  EXPECT_EQ(std::get<std::int64_t>(result.attributes.at("step")), 3);
  EXPECT_EQ(std::get<double>(result.attributes.at("redshift")), 7.0);
  EXPECT_EQ(std::get<double>(result.attributes.at("omega_m")), 0.3);
  EXPECT_EQ(std::get<std::int64_t>(result.attributes.at("has_metals")), 0);
}

TEST_F(Transports, AnOptionalFieldTravelsWhenTheSnapshotHasIt) {
  const int sidecars = world_.size() > 1 ? 1 : 0;
  Session session = start(config_of({task_of("sums", digest(), sidecars > 0 ? "in-transit" : "in-situ")}, sidecars));
  if (session.computes()) {
    mesh::Snapshot snapshot = snapshot_of(session.compute_group(), 0);
    snapshot.add({"metals", ""}, test::field_of_global_index(snapshot.levels.front(), session.compute_group().rank()));
    session.publish(snapshot);
    session.finish();
  } else {
    session.serve();
  }
  world_.barrier();
  if (world_.rank() != 0) return;

  EXPECT_EQ(std::get<std::int64_t>(io::read_result(folder_.result("sums", 0)).attributes.at("has_metals")), 1);
}

TEST_F(Transports, TasksAreDoneWhenTheyAreDueAndOnlyThen) {
  run(config_of({task_of("third", digest(), "in-situ", Trigger({.every = 3})),
                 task_of("moments", digest(), "in-situ", Trigger({.at_redshift = {8.0, 5.5}}))}),
      7);

  for (std::int64_t step = 0; step < 7; ++step) {
    EXPECT_EQ(has_result("third", step), step % 3 == 0) << step;
    EXPECT_EQ(has_result("moments", step), step == 2 || step == 5) << step;
  }
}

TEST_F(Transports, IsDueIsTrueWhenAnyTaskIs) {
  Session session = start(config_of({task_of("third", digest(), "in-situ", Trigger({.every = 3})),
                                     task_of("moment", digest(), "in-situ", Trigger({.at_redshift = {8.0}}))}));

  EXPECT_TRUE(session.is_due({moment_at(0, 10.0)}));
  EXPECT_FALSE(session.is_due({moment_at(1, 9.0)}));
  EXPECT_TRUE(session.is_due({moment_at(2, 8.0)}));
  EXPECT_TRUE(session.is_due({moment_at(3, 7.0)}));
}

TEST_F(Transports, AStepIsAnalysedOnceHoweverOftenItIsPublished) {
  Session session = start(config_of({task_of("sums", digest(), "in-situ")}));
  session.publish(snapshot_of(session.compute_group(), 1));
  session.publish(snapshot_of(session.compute_group(), 1));

  const std::vector<TaskTotals> totals = session.finish();

  if (world_.rank() == 0) {
    EXPECT_EQ(totals.at(0).count, 1);
  }
}

TEST_F(Transports, AFieldThatTwoTasksReadTravelsOnceAndIsChargedToTheFirst) {
  if (world_.size() == 1) return;
  const auto density = std::make_shared<test::Told>([](const auto&, const auto&) {});

  const auto totals =
      run(config_of({task_of("sums", digest(), "in-transit"), task_of("again", density, "in-transit")}, 1), 3);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).bytes, 3 * 2 * field_bytes);
  EXPECT_EQ(totals.at(1).bytes, 0);
  EXPECT_EQ(totals.at(0).count, 3);
  EXPECT_EQ(totals.at(1).count, 3);
}

TEST_F(Transports, TheLayoutMayChangeFromOnePublishToTheNext) {
  if (world_.size() == 1) return;
  for (const auto& [name, transport, sidecars, ranks_of_node] :
       {Way{"here", "in-situ", 0, 0}, Way{"behind", "async", 0, 0}, Way{"aside", "in-transit", 1, 0}}) {
    Session session = start(config_of({task_of(name, digest(), transport)}, sidecars));
    if (session.computes()) {
      for (const std::int32_t block : {8, 4, 16})
        session.publish(snapshot_of(session.compute_group(), 100 + block, block));
      session.finish();
    } else {
      session.serve();
    }
    world_.barrier();
  }
  if (world_.rank() != 0) return;

  for (const std::int64_t step : {104, 108, 116}) {
    mesh::Result here = io::read_result(folder_.result("here", step));
    for (const std::string name : {"behind", "aside"}) {
      here.attributes["task"] = name;
      expect_equal(here, io::read_result(folder_.result(name, step)));
    }
  }
}

TEST_F(Transports, TheEventsTellWhatWasSentAndDone) {
  if (world_.size() == 1) return;
  run(config_of({task_of("aside", digest(), "in-transit"), task_of("here", digest(), "in-situ")}, 1), 2);
  if (world_.rank() != 0) return;

  const auto publishes = events("compute", "publish"), here = events("compute", "analysis");
  const auto receives = events("sidecar", "receive"), aside = events("sidecar", "analysis");

  ASSERT_EQ(publishes.size(), 4);
  EXPECT_EQ(publishes[0].at("task"), "aside");
  EXPECT_EQ(publishes[0].at("action"), "sent");
  EXPECT_EQ(publishes[0].at("transport"), "in-transit");
  EXPECT_EQ(publishes[0].at("bytes"), 2 * field_bytes);
  EXPECT_GE(publishes[0].at("queue_bytes"), 2 * field_bytes);
  EXPECT_GE(publishes[0].at("pack_s"), 0.0);
  EXPECT_GE(publishes[0].at("wait_s"), 0.0);
  EXPECT_EQ(publishes[1].at("action"), "in-situ");
  EXPECT_EQ(publishes[2].at("redshift"), 9.0);
  ASSERT_EQ(receives.size(), 2);
  EXPECT_EQ(receives[1].at("step"), 1);
  EXPECT_EQ(receives[1].at("bytes"), 2 * field_bytes);
  ASSERT_EQ(aside.size(), 2);
  EXPECT_EQ(aside[1].at("result"), "results/aside/00001.nc");
  EXPECT_EQ(aside[1].at("summary"), "64 boxes");
  EXPECT_EQ(aside[1].at("transport"), "in-transit");
  EXPECT_EQ(aside[1].at("bytes_in"), 2 * field_bytes);
  EXPECT_LE(aside[1].at("start").get<double>(), aside[1].at("t").get<double>());
  ASSERT_EQ(here.size(), 2);
  EXPECT_EQ(here[0].at("transport"), "in-situ");
}

TEST_F(Transports, TheTotalsOfAllWhoTookPartComeTogether) {
  const auto slow = std::make_shared<test::Told>([](const auto&, const auto&) { usleep(20000); });
  for (const std::string transport : {"async", "in-transit"}) {
    if (!allows(transport)) continue;
    const auto totals = run(config_of({task_of("slow", slow, transport)}, 1), 3);

    EXPECT_EQ(totals.empty(), world_.rank() != 0);
    if (world_.rank() != 0) continue;
    EXPECT_EQ(totals.at(0).task, "slow");
    EXPECT_EQ(totals.at(0).count, 3);
    EXPECT_EQ(totals.at(0).dropped, 0);
    EXPECT_EQ(totals.at(0).bytes, 3 * field_bytes);
    EXPECT_GT(totals.at(0).pack_s, 0.0);
    EXPECT_GE(totals.at(0).compute_s, 0.06);
  }
}

TEST_F(Transports, ThreadsHaveABillOfTheirOwnAndNobodyPaysTwice) {
  const auto slow = std::make_shared<test::Told>([](const auto&, const auto&) { usleep(50000); });

  run(config_of({task_of("slow", slow, "async")}), 4);

  EXPECT_EQ(bill_.seconds({"analysis", "slow"}), 0.0);
  if (world_.rank() != 0) return;
  const auto bills = events("async", "bill");
  ASSERT_EQ(bills.size(), 1);
  double sum = 0.0, analysis = 0.0;
  for (const auto& line : bills[0].at("lines")) {
    sum += line.at("mean_s").get<double>();
    if (line.at("line") == "analysis") analysis += line.at("mean_s").get<double>();
  }
  EXPECT_GE(analysis, 0.2);
  EXPECT_NEAR(sum, bills[0].at("wall_s").get<double>(), 0.01 * sum);
  ASSERT_EQ(events("async", "analysis").size(), 4);
  EXPECT_EQ(events("async", "analysis")[1].at("transport"), "async");
}

TEST_F(Transports, SidecarsWithoutATaskInTransitComputeLikeTheOthers) {
  const Session session = start(config_of({task_of("sums", digest(), "in-situ")}, 1));

  EXPECT_TRUE(session.computes());
  EXPECT_EQ(session.compute_group().size(), world_.size());
}

TEST_F(Transports, AWorldOfSidecarsOnlyIsRefusedOnAllRanks) {
  EXPECT_THROW(start(config_of({task_of("sums", digest(), "in-transit")}, world_.size())), core::Error);
}

}  // namespace
}  // namespace sidestream::couple
