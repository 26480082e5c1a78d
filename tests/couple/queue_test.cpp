// The queue between the groups: when it has room nobody waits, and when it is full the policy decides.
#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Queue : public SessionTest {
 protected:
  /// A session whose sidecar stands at the gate with step 0, and whose queue holds one more publish.
  Session start_with_sidecar_at_gate(WhenFull when_full, double timeout_s = 60.0) {
    gate_ = std::make_unique<Gate>(world_, world_.size() - 1);
    const auto stop_at_step_0 = [this](const comm::Communicator& group, const mesh::Snapshot& snapshot) {
      done_.push_back(snapshot.moment.step);
      if (snapshot.moment.step == 0) gate_->enter(group);
    };
    CouplingConfig config =
        config_of({task_of("gated", std::make_shared<test::Told>(stop_at_step_0), Transport::in_transit)}, 1);
    config.queue_bytes = static_cast<double>(field_bytes);
    config.when_full = when_full;
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

  std::unique_ptr<Gate> gate_;
  std::vector<std::int64_t> done_;  // by this rank
};

TEST_F(Queue, PublishReturnsWhileTheAnalysisIsStillAtWork) {
  if (world_.size() == 1) return;
  Session session = start_with_sidecar_at_gate(WhenFull::block);
  if (session.computes()) {
    // The sidecar goes on only when it is told to, after this publish has returned.
    publish(session, 1);
    gate_->open(session.compute_group());
    const auto totals = session.finish();

    if (world_.rank() == 0) {
      EXPECT_EQ(totals.at(0).count, 2);
    }
  } else {
    session.serve();
    EXPECT_THAT(done_, ElementsAre(0, 1));
  }
  EXPECT_THAT(warnings_, ElementsAre());
}

TEST_F(Queue, AFullQueueDropsWhenTheUserSaysSoAndCountsIt) {
  if (world_.size() == 1) return;
  Session session = start_with_sidecar_at_gate(WhenFull::drop);
  if (session.computes()) {
    for (const std::int64_t step : {1, 2, 3}) publish(session, step);
    gate_->open(session.compute_group());
    const auto totals = session.finish();

    if (world_.rank() == 0) {
      EXPECT_EQ(totals.at(0).count, 2);
      EXPECT_EQ(totals.at(0).dropped, 2);
      EXPECT_EQ(totals.at(0).bytes, 2 * field_bytes);
      EXPECT_EQ(events("compute", "publish").at(3).at("action"), "dropped");
      EXPECT_EQ(events("compute", "publish").at(3).at("bytes"), 0);
    }
  } else {
    session.serve();
    EXPECT_THAT(done_, ElementsAre(0, 1));
  }
  world_.barrier();
  EXPECT_TRUE(has_result("gated", 1));
  EXPECT_FALSE(has_result("gated", 2));
}

TEST_F(Queue, AFullQueueMakesTheRanksThatComputeDoTheAnalysis) {
  if (world_.size() == 1) return;
  Session session = start_with_sidecar_at_gate(WhenFull::in_situ);
  if (session.computes()) {
    for (const std::int64_t step : {1, 2}) publish(session, step);

    EXPECT_THAT(done_, ElementsAre(2));
    gate_->open(session.compute_group());
    const auto totals = session.finish();
    if (world_.rank() == 0) {
      EXPECT_EQ(totals.at(0).count, 3);
      EXPECT_EQ(events("compute", "publish").at(2).at("action"), "in-situ");
      EXPECT_EQ(events("compute", "analysis").at(0).at("transport"), "in-situ");
    }
  } else {
    session.serve();
    EXPECT_THAT(done_, ElementsAre(0, 1));
  }
  world_.barrier();
  for (const std::int64_t step : {0, 1, 2}) EXPECT_TRUE(has_result("gated", step)) << step;
}

TEST_F(Queue, AFullQueueBlocksUntilThereIsRoomAndTheWaitIsOnTheBill) {
  if (world_.size() == 1) return;
  constexpr double analysis_s = 0.4;
  std::vector<std::int64_t> done;
  const auto slow = std::make_shared<test::Told>([&](const auto&, const mesh::Snapshot& snapshot) {
    done.push_back(snapshot.moment.step);
    usleep(static_cast<useconds_t>(1e6 * analysis_s));
  });
  CouplingConfig config = config_of({task_of("slow", slow, Transport::in_transit)}, 1);
  config.queue_bytes = static_cast<double>(field_bytes);

  const auto totals = run(std::move(config), 4);

  // While step 0 is at work, 1 lies in the queue; 2 waits for the end of 0 and 3 for the end of 1.
  if (world_.rank() == world_.size() - 1) {
    EXPECT_THAT(done, ElementsAre(0, 1, 2, 3));
  }
  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).count, 4);
  EXPECT_EQ(totals.at(0).dropped, 0);
  EXPECT_GE(totals.at(0).wait_s, analysis_s);
}

TEST_F(Queue, PublishesAreAnalysedInTheOrderInWhichTheyCome) {
  if (world_.size() == 1) return;
  std::vector<std::pair<std::string, std::int64_t>> done;
  const auto recording = [&](const char* name) {
    return std::make_shared<test::Told>(
        [&done, name](const auto&, const mesh::Snapshot& snapshot) { done.emplace_back(name, snapshot.moment.step); });
  };

  run(config_of({task_of("a", recording("a"), Transport::in_transit, Trigger({.every = 2})),
                 task_of("b", recording("b"), Transport::in_transit)},
                1),
      4);

  if (world_.rank() == world_.size() - 1) {
    EXPECT_THAT(done, ElementsAre(std::pair("a", 0), std::pair("b", 0), std::pair("b", 1), std::pair("a", 2),
                                  std::pair("b", 2), std::pair("b", 3)));
  }
}

TEST_F(Queue, FinishDrainsWhatWaits) {
  if (world_.size() == 1) return;
  const int sidecars = world_.size() - 1;
  std::vector<std::int64_t> done;
  const auto slow = std::make_shared<test::Told>([&](const auto&, const mesh::Snapshot& snapshot) {
    usleep(20000);
    done.push_back(snapshot.moment.step);
  });

  const auto totals = run(config_of({task_of("slow", slow, Transport::in_transit)}, sidecars), 5);

  if (world_.rank() > 0) {
    EXPECT_THAT(done, ElementsAre(0, 1, 2, 3, 4));
  }
  if (world_.rank() == 0) {
    EXPECT_EQ(totals.at(0).count, 5);
  }
}

TEST_F(Queue, FinishWithoutDrainingLeavesOutWhatWaits) {
  if (world_.size() == 1) return;
  const Gate gate(world_, world_.size() - 1);
  const auto held = std::make_shared<test::Told>([&](const comm::Communicator& group, const mesh::Snapshot&) {
    gate.enter(group);
    usleep(1000000);  // meanwhile the order to stop arrives
  });
  Session session = start(config_of({task_of("held", held, Transport::in_transit)}, 1));
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

TEST_F(Queue, WhatIsDoneIsKnownWithoutWaiting) {
  if (world_.size() == 1) return;
  Session session = start_with_sidecar_at_gate(WhenFull::drop);
  if (session.computes()) {
    publish(session, 1);
    publish(session, 2);  // dropped

    EXPECT_EQ(session.sent(), 2);
    EXPECT_EQ(session.done(), 0);
    gate_->open(session.compute_group());
    session.wait_for_done(1);
    if (world_.rank() == 0) {
      EXPECT_GE(session.done(), 1);
      EXPECT_TRUE(has_result("gated", 0));
    }
    session.finish();
    if (world_.rank() == 0) {
      EXPECT_EQ(session.done(), 2);
    }
  } else {
    session.serve();
  }
}

TEST_F(Queue, WaitingForWhatIsDoneLeavesEveryResultOnTheDiskAndTheSessionOpen) {
  if (world_.size() == 1) return;
  const auto slow = std::make_shared<test::Told>([](const auto&, const mesh::Snapshot&) { usleep(20000); });
  Session session = start(config_of({task_of("slow", slow, Transport::in_transit)}, world_.size() - 1));
  if (session.computes()) {
    for (const std::int64_t step : {0, 1, 2}) publish(session, step);

    session.wait_for_done(session.sent());

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

TEST_F(Queue, APublishLargerThanTheQueueIsRefusedOnAllRanks) {
  if (world_.size() == 1) return;
  const auto nothing = std::make_shared<test::Told>([](const auto&, const auto&) {});
  CouplingConfig config = config_of({task_of("large", nothing, Transport::in_transit)}, 1);
  config.queue_bytes = static_cast<double>(field_bytes - 1);
  Session session = start(std::move(config));
  if (session.computes()) {
    EXPECT_THROW(session.publish(snapshot_of(session.compute_group(), 0)), core::Error);
    session.finish();
  } else {
    session.serve();
  }
}

TEST_F(Queue, TasksWhoseCommonPublishWouldNotFitAreSentOneByOne) {
  if (world_.size() == 1) return;
  const auto other = std::make_shared<test::Told>([](const auto&, const auto&) {}, std::vector<std::string>{"unused"});
  CouplingConfig config = config_of({task_of("two", std::make_shared<test::Digest>(), Transport::in_transit),
                                     task_of("one", other, Transport::in_transit)},
                                    1);
  config.queue_bytes = static_cast<double>(2 * field_bytes);

  const auto totals = run(std::move(config), 2);

  if (world_.rank() != 0) return;
  EXPECT_EQ(totals.at(0).count, 2);
  EXPECT_EQ(totals.at(1).count, 2);
  EXPECT_EQ(totals.at(1).bytes, 2 * field_bytes);
  EXPECT_EQ(events("sidecar", "receive").size(), 4);
}

TEST_F(Queue, WaitingForRoomEndsWithATimeOutThatSaysWhomForOnAllRanks) {
  if (world_.size() == 1) return;
  Session session = start_with_sidecar_at_gate(WhenFull::block, 2.0);
  if (session.computes()) {
    publish(session, 1);
    try {
      publish(session, 2);
      ADD_FAILURE() << "found room in a full queue";
    } catch (const core::Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("waited 2 s of 2 s for the sidecars"));
      EXPECT_THAT(error.where(), HasSubstr("coupling.timeout"));
    }
    gate_->open(session.compute_group());
    session.finish();
  } else {
    session.serve();
  }
}

TEST_F(Queue, SidecarsThatHearNothingGiveUpTogether) {
  if (world_.size() == 1) return;
  const auto nothing = std::make_shared<test::Told>([](const auto&, const auto&) {});
  const int sidecars = std::max(1, world_.size() - 2);
  CouplingConfig config = config_of({task_of("quiet", nothing, Transport::in_transit)}, sidecars);
  config.timeout_s = 0.3;
  Session session = start(std::move(config));
  if (!session.computes()) {
    EXPECT_THROW(session.serve(), core::Error);
  }
  world_.barrier();
}

TEST_F(Queue, AStepNowAndThenKeepsTheSidecarsWaiting) {
  if (world_.size() == 1) return;
  const auto nothing = std::make_shared<test::Told>([](const auto&, const auto&) {});
  CouplingConfig config = config_of({task_of("rare", nothing, Transport::in_transit, Trigger({.every = 100}))}, 1);
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
