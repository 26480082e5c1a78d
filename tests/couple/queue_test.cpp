// Publishes that wait: while the queue has room nobody else does, and when it is full the policy decides.
#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>

#include "couple/queue/queue.hpp"
#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Queues : public SessionTest, public testing::WithParamInterface<std::string> {
 protected:
  /// A session in which step 0 is at work and stands at the gate, and whose queue holds one more publish.
  Session start_with_step_0_at_gate(const std::string& when_full, double timeout_s = 60.0) {
    gate_ = std::make_unique<Gate>(world_, GetParam() == "async" ? world_.size() : world_.size() - 1);
    const auto stop_at_step_0 = [this](const comm::Communicator& group, const mesh::Snapshot& snapshot) {
      done_.push_back(snapshot.moment.step);
      if (snapshot.moment.step == 0) gate_->enter(group);
    };
    CouplingConfig config = config_of({task_of("gated", std::make_shared<test::Told>(stop_at_step_0), GetParam())}, 1);
    config.queue_bytes = static_cast<double>(field_bytes);
    config.when_full = &policies().named(when_full);
    config.timeout_s = timeout_s;
    Session session = start(std::move(config));
    if (session.computes()) {
      publish(session, 0);
      gate_->wait_until_entered(session.compute_group());
    }
    return session;
  }
  static void publish(Session& session, std::int64_t step) {
    session.publish(snapshot_of(session.compute_group(), step));
  }
  /// Publishes `steps` while step 0 is at work, lets that go on, and ends. Returns the totals of rank 0.
  std::vector<TaskTotals> publish_before_a_gate(const std::string& when_full, const std::vector<std::int64_t>& steps) {
    Session session = start_with_step_0_at_gate(when_full);
    std::vector<TaskTotals> totals;
    if (session.computes()) {
      for (const std::int64_t step : steps) publish(session, step);
      gate_->open(session.compute_group());
      totals = session.finish();
    } else {
      session.serve();
    }
    world_.barrier();
    return totals;
  }
  std::vector<std::string> actions() const {
    std::vector<std::string> all;
    for (const auto& event : events("compute", "publish")) all.push_back(event.at("action"));
    return all;
  }
  /// Of rank 0.
  void expect(const std::vector<TaskTotals>& totals, std::int64_t count, std::int64_t dropped) {
    if (world_.rank() != 0) return;
    EXPECT_EQ(totals.at(0).count, count);
    EXPECT_EQ(totals.at(0).dropped, dropped);
    EXPECT_EQ(totals.at(0).failed, 0);
  }

  std::unique_ptr<Gate> gate_;
  std::vector<std::int64_t> done_;  // by this rank
};

INSTANTIATE_TEST_SUITE_P(By, Queues, testing::Values("async", "in-transit"),
                         [](const auto& one) { return test::plain(one.param); });

TEST_P(Queues, PublishReturnsWhileTheAnalysisIsStillAtWork) {
  if (!allows(GetParam())) return;
  expect(publish_before_a_gate("block", {1}), 2, 0);

  if (analyses(GetParam())) {
    EXPECT_THAT(done_, ElementsAre(0, 1));
  }
  EXPECT_THAT(warnings_, ElementsAre());
}

TEST_P(Queues, AFullQueueDropsTheNewestWhenTheUserSaysSoAndCountsIt) {
  if (!allows(GetParam())) return;
  const auto totals = publish_before_a_gate("drop-newest", {1, 2, 3});

  expect(totals, 2, 2);
  if (analyses(GetParam())) {
    EXPECT_THAT(done_, ElementsAre(0, 1));
  }
  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).bytes, 2 * field_bytes);
  EXPECT_THAT(actions(), ElementsAre("sent", "sent", "dropped", "dropped"));
  EXPECT_EQ(events("compute", "publish").at(3).at("bytes"), 0);
}

TEST_P(Queues, AFullQueueDropsTheOldestWhenTheUserSaysSoAndCountsIt) {
  if (!allows(GetParam())) return;
  expect(publish_before_a_gate("drop-oldest", {1, 2, 3}), 2, 2);

  if (analyses(GetParam())) {
    EXPECT_THAT(done_, ElementsAre(0, 3));
  }
  if (world_.rank() != 0) return;
  EXPECT_THAT(actions(), ElementsAre("sent", "sent", "sent", "sent"));
  const auto withdrawn = events("compute", "withdrawn");
  ASSERT_EQ(withdrawn.size(), 2);
  EXPECT_EQ(withdrawn[0].at("step"), 1);
  EXPECT_EQ(withdrawn[1].at("step"), 2);
}

TEST_P(Queues, OnlyTheLatestWaitsEvenWhereThereIsRoom) {
  if (!allows(GetParam())) return;
  gate_ = std::make_unique<Gate>(world_, GetParam() == "async" ? world_.size() : world_.size() - 1);
  const auto stop_at_step_0 = [this](const comm::Communicator& group, const mesh::Snapshot& snapshot) {
    done_.push_back(snapshot.moment.step);
    if (snapshot.moment.step == 0) gate_->enter(group);
  };
  CouplingConfig config = config_of({task_of("gated", std::make_shared<test::Told>(stop_at_step_0), GetParam())}, 1);
  config.when_full = &policies().named("latest");
  Session session = start(std::move(config));
  if (session.computes()) {
    publish(session, 0);
    gate_->wait_until_entered(session.compute_group());
    for (const std::int64_t step : {1, 2, 3, 4}) publish(session, step);
    gate_->open(session.compute_group());
    expect(session.finish(), 2, 3);
  } else {
    session.serve();
  }
  world_.barrier();
  if (analyses(GetParam())) {
    EXPECT_THAT(done_, ElementsAre(0, 4));
  }
}

TEST_P(Queues, AFullQueueMakesTheRanksThatComputeDoTheAnalysis) {
  if (!allows(GetParam())) return;
  expect(publish_before_a_gate("in-situ", {1, 2}), 3, 0);

  for (const std::int64_t step : {0, 1, 2}) EXPECT_TRUE(has_result("gated", step)) << step;
  if (world_.rank() != 0) return;
  EXPECT_THAT(actions(), ElementsAre("sent", "sent", "in-situ"));
  EXPECT_EQ(events("compute", "analysis").at(0).at("transport"), "in-situ");
  EXPECT_EQ(events("compute", "analysis").at(0).at("step"), 2);
}

TEST_P(Queues, WhatFindsNoRoomWaitsOnADiskInItsOrderAndNothingIsLeftOfIt) {
  if (!allows(GetParam())) return;
  expect(publish_before_a_gate("spill", {1, 2, 3, 4}), 5, 0);

  if (analyses(GetParam())) {
    EXPECT_THAT(done_, ElementsAre(0, 1, 2, 3, 4));
  }
  for (const std::int64_t step : {0, 1, 2, 3, 4}) EXPECT_TRUE(has_result("gated", step)) << step;
  if (world_.rank() != 0) return;
  EXPECT_THAT(actions(), ElementsAre("sent", "sent", "stored", "stored", "stored"));
  EXPECT_TRUE(std::filesystem::is_empty(spill_folder()));
}

TEST_P(Queues, ADiskWithoutRoomIsToldAndThenTheSimulationWaits) {
  if (!allows(GetParam())) return;
  const auto slow = std::make_shared<test::Told>([](const auto&, const auto&) { usleep(50000); },
                                                 std::vector<std::string>{"density", "temperature", "unused"});
  CouplingConfig config = config_of({task_of("slow", slow, GetParam())}, 1);
  config.queue_bytes = static_cast<double>(3 * field_bytes);
  config.when_full = &policies().named("spill");
  rlimit old{}, tiny{};
  getrlimit(RLIMIT_FSIZE, &old);
  tiny = {24000, old.rlim_max};  // less than a rank's part of three fields, more than a result
  std::signal(SIGXFSZ, SIG_IGN);
  Session session = start(std::move(config));
  if (session.computes()) {
    for (const std::int64_t step : {0, 1, 2, 3, 4}) {
      setrlimit(RLIMIT_FSIZE, &tiny);
      publish(session, step);
      setrlimit(RLIMIT_FSIZE, &old);
    }
    expect(session.finish(), 5, 0);
  } else {
    session.serve();
  }
  world_.barrier();
  if (world_.rank() != 0) return;
  EXPECT_EQ(events("compute", "spill_failed").size(), 1);
  ASSERT_EQ(warnings_.size(), 1);
  EXPECT_THAT(warnings_[0], HasSubstr("File too large"));
  EXPECT_THAT(actions(), testing::Each("sent"));
}

TEST_P(Queues, AFullQueueBlocksUntilThereIsRoomAndTheWaitIsOnTheBill) {
  if (!allows(GetParam())) return;
  constexpr double analysis_s = 0.4;
  std::vector<std::int64_t> done;
  const auto slow = std::make_shared<test::Told>([&](const auto&, const mesh::Snapshot& snapshot) {
    done.push_back(snapshot.moment.step);
    usleep(static_cast<useconds_t>(1e6 * analysis_s));
  });
  CouplingConfig config = config_of({task_of("slow", slow, GetParam())}, 1);
  config.queue_bytes = static_cast<double>(field_bytes);

  const auto totals = run(std::move(config), 4);

  // While step 0 is at work, 1 lies in the queue; 2 waits for the end of 0 and 3 for the end of 1.
  if (analyses(GetParam())) {
    EXPECT_THAT(done, ElementsAre(0, 1, 2, 3));
  }
  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).count, 4);
  EXPECT_EQ(totals.at(0).dropped, 0);
  EXPECT_GE(totals.at(0).wait_s, analysis_s);
}

TEST_P(Queues, PublishesAreAnalysedInTheOrderInWhichTheyCome) {
  if (!allows(GetParam())) return;
  std::vector<std::pair<std::string, std::int64_t>> done;
  const auto recording = [&](const char* name) {
    return std::make_shared<test::Told>(
        [&done, name](const auto&, const mesh::Snapshot& snapshot) { done.emplace_back(name, snapshot.moment.step); });
  };

  run(config_of(
          {task_of("a", recording("a"), GetParam(), Trigger({.every = 2})), task_of("b", recording("b"), GetParam())},
          1),
      4);

  if (analyses(GetParam())) {
    EXPECT_THAT(done, ElementsAre(std::pair("a", 0), std::pair("b", 0), std::pair("b", 1), std::pair("a", 2),
                                  std::pair("b", 2), std::pair("b", 3)));
  }
}

TEST_P(Queues, FinishDrainsWhatWaits) {
  if (!allows(GetParam())) return;
  const int sidecars = world_.size() - 1;
  std::vector<std::int64_t> done;
  const auto slow = std::make_shared<test::Told>([&](const auto&, const mesh::Snapshot& snapshot) {
    usleep(20000);
    done.push_back(snapshot.moment.step);
  });

  const auto totals = run(config_of({task_of("slow", slow, GetParam())}, sidecars), 5);

  if (analyses(GetParam(), sidecars)) {
    EXPECT_THAT(done, ElementsAre(0, 1, 2, 3, 4));
  }
  if (world_.rank() == 0) {
    EXPECT_EQ(totals.at(0).count, 5);
  }
}

TEST_P(Queues, FinishWithoutDrainingLeavesOutWhatWaits) {
  if (!allows(GetParam())) return;
  Gate gate(world_, GetParam() == "async" ? world_.size() : world_.size() - 1);
  const auto held = std::make_shared<test::Told>([&](const comm::Communicator& group, const mesh::Snapshot&) {
    gate.enter(group);
    usleep(1000000);  // meanwhile the order to stop arrives
  });
  Session session = start(config_of({task_of("held", held, GetParam())}, 1));
  if (session.computes()) {
    for (const std::int64_t step : {0, 1, 2}) session.publish(snapshot_of(session.compute_group(), step));
    gate.wait_until_entered(session.compute_group());
    gate.open(session.compute_group());
    const auto totals = session.finish(Drain::no);

    if (world_.rank() == 0) {
      EXPECT_EQ(totals.at(0).count, 1);
      EXPECT_EQ(totals.at(0).dropped, 2);
    }
  } else {
    session.serve();
  }
  world_.barrier();
  EXPECT_FALSE(has_result("held", 1));
}

TEST_P(Queues, WhatIsDoneIsKnownWithoutWaiting) {
  if (!allows(GetParam())) return;
  Session session = start_with_step_0_at_gate("drop-newest");
  if (session.computes()) {
    const Session::Mark first = session.mark();
    publish(session, 1);
    publish(session, 2);  // dropped
    const bool is_first = world_.rank() == 0;

    EXPECT_FALSE(session.outlook(first).is_done);
    gate_->open(session.compute_group());
    session.wait_for(first);
    if (is_first) {
      EXPECT_TRUE(session.outlook(first).is_done);
      EXPECT_TRUE(has_result("gated", 0));
    }
    session.finish();
    if (is_first) {
      EXPECT_TRUE(session.outlook(session.mark()).is_done);
    }
  } else {
    session.serve();
  }
}

TEST_P(Queues, WaitingForWhatIsDoneLeavesEveryResultOnTheDiskAndTheSessionOpen) {
  if (!allows(GetParam())) return;
  const auto slow = std::make_shared<test::Told>([](const auto&, const mesh::Snapshot&) { usleep(20000); });
  Session session = start(config_of({task_of("slow", slow, GetParam())}, world_.size() - 1));
  if (session.computes()) {
    for (const std::int64_t step : {0, 1, 2}) publish(session, step);

    session.wait_for(session.mark());

    for (const std::int64_t step : {0, 1, 2}) EXPECT_TRUE(has_result("slow", step)) << step;
    publish(session, 3);
    const auto totals = session.finish();
    if (world_.rank() == 0) {
      EXPECT_EQ(totals.at(0).count, 4);
    }
  } else {
    session.serve();
  }
}

TEST_P(Queues, APublishThatOutgrowsTheQueueIsLeftOutOrDoneByTheRanksThatCompute) {
  if (!allows(GetParam())) return;
  const auto small = std::make_shared<test::Told>([](const auto&, const auto&) {}, std::vector<std::string>{"unused"});
  for (const std::string name : {"block", "in-situ", "spill", "drop-newest", "drop-oldest", "latest"}) {
    CouplingConfig config = config_of(
        {task_of("large", std::make_shared<test::Digest>(), GetParam()), task_of("small", small, GetParam())}, 1);
    config.queue_bytes = static_cast<double>(field_bytes);  // the digest reads two
    config.when_full = &policies().named(name);
    const bool is_complete = name == "block" || name == "in-situ" || name == "spill";

    const auto totals = run(std::move(config), 2);

    if (world_.rank() != 0) continue;
    EXPECT_EQ(totals.at(0).count, is_complete ? 2 : 0) << name;
    EXPECT_EQ(totals.at(0).dropped, is_complete ? 0 : 2) << name;
    EXPECT_EQ(totals.at(0).failed, 0) << name;
    EXPECT_EQ(totals.at(1).count + totals.at(1).dropped, 2) << name;
    EXPECT_EQ(has_result("large", 0), is_complete) << name;
    ASSERT_EQ(warnings_.size(), 1) << name;
    EXPECT_THAT(warnings_[0],
                HasSubstr(fmt::format("takes {} bytes, but the queue holds {}", 2 * field_bytes, field_bytes)));
    warnings_.clear();
    std::filesystem::remove(folder_.result("large", 0));
  }
}

TEST_P(Queues, AMomentBeyondTheQueueOfATaskThatLooksBackIsLeftToARestart) {
  if (!allows(GetParam())) return;
  CouplingConfig config = config_of({task_of("chain", std::make_shared<test::Counter>(), GetParam())}, 1);
  config.queue_bytes = static_cast<double>(field_bytes - 1);
  Session session = start(std::move(config));
  if (session.computes()) {
    publish(session, 0);
    const Session::Mark mark = session.mark();
    if (world_.rank() == 0) {
      EXPECT_FALSE(session.outlook(mark).are_written);  // no checkpoint counts
    }
    const auto totals = session.finish();
    if (world_.rank() == 0) {
      EXPECT_EQ(totals.at(0).unwritten, 1);
      EXPECT_THAT(actions(), ElementsAre("refused"));
      EXPECT_THAT(events("compute", "analysis_failed").at(0).at("message"), HasSubstr("`coupling.queue`"));
    }
  } else {
    session.serve();
  }
}

TEST_P(Queues, TasksWhoseCommonPublishWouldNotFitAreSentOneByOne) {
  if (!allows(GetParam())) return;
  const auto other = std::make_shared<test::Told>([](const auto&, const auto&) {}, std::vector<std::string>{"unused"});
  CouplingConfig config =
      config_of({task_of("two", std::make_shared<test::Digest>(), GetParam()), task_of("one", other, GetParam())}, 1);
  config.queue_bytes = static_cast<double>(2 * field_bytes);

  const auto totals = run(std::move(config), 2);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).count, 2);
  EXPECT_EQ(totals.at(1).count, 2);
  EXPECT_EQ(totals.at(1).bytes, 2 * field_bytes);
  EXPECT_EQ(events(group_of(GetParam()), "analysis").size(), 4);
}

TEST_P(Queues, WaitingForRoomEndsWithATimeOutThatSaysWhomForOnAllRanks) {
  if (!allows(GetParam())) return;
  Session session = start_with_step_0_at_gate("block", 2.0);
  if (session.computes()) {
    publish(session, 1);
    try {
      publish(session, 2);
      ADD_FAILURE() << "found room in a full queue";
    } catch (const core::Error& error) {
      EXPECT_THAT(error.message(), HasSubstr(std::string("waited 2 s of 2 s for the ") +
                                             (GetParam() == "async" ? "threads" : "sidecars")));
      EXPECT_THAT(error.where(), HasSubstr("coupling.timeout"));
    }
    gate_->open(session.compute_group());
    session.finish();
  } else {
    session.serve();
  }
}

using Sidecars = SessionTest;

TEST_F(Sidecars, ThoseThatHearNothingGiveUpTogether) {
  if (!allows("in-transit")) return;
  const auto nothing = std::make_shared<test::Told>([](const auto&, const auto&) {});
  const int sidecars = std::max(1, world_.size() - 2);
  CouplingConfig config = config_of({task_of("quiet", nothing, "in-transit")}, sidecars);
  config.timeout_s = 0.3;
  Session session = start(std::move(config));
  if (!session.computes()) {
    EXPECT_THROW(session.serve(), core::Error);
  }
  world_.barrier();
}

TEST_F(Sidecars, AStepNowAndThenKeepsTheSidecarsWaiting) {
  if (!allows("in-transit")) return;
  const auto nothing = std::make_shared<test::Told>([](const auto&, const auto&) {});
  CouplingConfig config = config_of({task_of("rare", nothing, "in-transit", Trigger({.every = 100}))}, 1);
  config.timeout_s = 2.0;
  Session session = start(std::move(config));
  if (session.computes()) {
    for (int step = 0; step < 25; ++step) {
      usleep(100000);
      session.progress();
    }
    session.finish();
  } else {
    EXPECT_NO_THROW(session.serve());
  }
}

}  // namespace
}  // namespace sidestream::couple
