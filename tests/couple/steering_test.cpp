#include "sidestream/couple/steering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "couple/steering/change.hpp"
#include "sidestream/core/error.hpp"
#include "support/folder.hpp"
#include "support/run_files.hpp"

namespace sidestream::couple {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

core::Option option(const std::string& name, double lowest, double highest) {
  core::Option one;
  one.name = name;
  return one.range(lowest, highest).doc("a number");
}

json request(const std::string& verb, const json& more = json::object()) {
  json all{{"kind", "steer"}, {"verb", verb}};
  all.update(more);
  return all;
}

/// A number and two limits of which one stays below the other, which a run of the test has.
class SteeringDeskTest : public testing::Test {
 protected:
  std::vector<Knob> knobs() {
    const auto limit = [](const char* name, double& own, std::function<bool(double)> goes) {
      return make_knob<double>(
          option(name, 0.0, 10.0), [&own] { return json(own); },
          [&own, goes = std::move(goes)](double value) {
            if (!goes(value)) throw core::Error("the limits cross");
            own = value;
          });
    };
    return {make_knob(option("number", 0.0, 1.0), number_),
            limit("below", below_, [this](double value) { return value < above_; }),
            limit("above", above_, [this](double value) { return value > below_; })};
  }
  EditRules rules() const {
    return {
        {{"density", "g", "of gas", 0.0}}, mesh::domain_of({8, 8, 8}), {"density", "pressure"}, false, folder_ / ""};
  }
  std::shared_ptr<SteeringDesk> desk() {
    auto all = std::make_shared<SteeringDesk>();
    all->open(knobs(), rules());
    all->tell({.state = "running"});
    return all;
  }
  Steering steering(std::shared_ptr<SteeringDesk> desk, std::shared_ptr<const Replay> replay = nullptr) {
    Steering all(world_, log_, std::move(desk), std::move(replay));
    all.open(knobs(), rules(),
             {.edit = [this](const RegionEdit& edit) -> json {
                edits_.push_back(edit);
                return {{"cells", edit.cells.volume()}};
              },
              .write_checkpoint = [] { return json::object(); }});
    return all;
  }
  json ask(SteeringDesk& desk, const json& asked) { return world_.rank() == 0 ? desk.answer(asked) : json(); }

  comm::Communicator world_{MPI_COMM_WORLD};
  test::SharedFolder folder_{world_};
  io::EventLog log_{world_.rank() == 0 ? folder_ / "events.jsonl" : "", io::EventLog::Clock::now()};
  double number_ = 0.5, below_ = 1.0, above_ = 2.0;
  std::vector<RegionEdit> edits_;
};

TEST_F(SteeringDeskTest, RefusesWhileTheRunMakesItsState) {
  SteeringDesk desk;

  EXPECT_FALSE(desk.answer(request("list")).at("ok"));
  desk.open(knobs(), rules());
  EXPECT_FALSE(desk.answer(request("pause", {{"at", 7}})).at("ok")) << "a restart may be beyond step 7";
  EXPECT_FALSE(desk.answer(json::array()).at("ok"));
  EXPECT_FALSE(desk.answer(request("set", {{"name", 7}})).at("ok"));
}

TEST_F(SteeringDeskTest, WhoIsHeardFirstKnowsTheStepOfTheRun) {
  SteeringDesk desk;
  desk.open(knobs(), rules());
  desk.tell({.step = 7, .state = "running"});

  EXPECT_FALSE(desk.answer(request("pause", {{"at", 6}})).at("ok"));
  EXPECT_EQ(desk.answer(request("pause")).at("at"), 7);
}

TEST_F(SteeringDeskTest, AllRanksMakeAChangeAtItsStepInTheOrderOfTheirComing) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  all.at_step(3, 0.0);

  ask(*at_desk, request("set", {{"name", "number"}, {"value", 0.1}, {"at", 5}}));
  ask(*at_desk, request("set", {{"name", "number"}, {"value", 0.2}}));
  ask(*at_desk, request("set", {{"name", "number"}, {"value", "0.3"}}));
  EXPECT_EQ(number_, 0.5);
  all.at_step(4, 0.0);
  EXPECT_EQ(number_, 0.3);
  all.at_step(5, 0.0);
  EXPECT_EQ(number_, 0.1);
}

TEST_F(SteeringDeskTest, WhatIsAskedOnceAPauseIsOverIsForTheNextStep) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  ask(*at_desk, request("pause"));
  all.at_step(3, 0.0);
  ask(*at_desk, request("resume"));
  all.at_step(3, 0.0);

  const json told = ask(*at_desk, request("pause"));

  all.at_step(4, 0.0);
  if (world_.rank() != 0) return;
  EXPECT_EQ(told.at("at"), 4);
  EXPECT_EQ(at_desk->answer(request("status")).at("state"), "paused");
  EXPECT_EQ(at_desk->answer(request("status")).at("step"), 4);
}

TEST_F(SteeringDeskTest, WordsOfWhoSteersAreCutBetweenLettersAndTextForAll) {
  const auto at_desk = desk();
  const json why{{"at", 7}, {"why", std::string(999, 'a') + "\u00fc"}, {"who", "\xff"}};

  EXPECT_TRUE(at_desk->answer(request("pause", why)).at("ok"));

  const json waiting = at_desk->answer(request("status")).at("waiting").at(0);
  EXPECT_NO_THROW(waiting.dump());
  EXPECT_THAT(waiting.at("why").get<std::string>(), testing::StartsWith(std::string(999, 'a')));
}

TEST_F(SteeringDeskTest, NoMoreChangesWaitThanAnAnswerCanTellOf) {
  const auto all = desk();
  const json late = request("set", {{"name", "number"}, {"value", 0.1}, {"at", 1000}, {"who", std::string(200, 'x')}});
  int taken = 0;
  while (taken < 100'000 && all->answer(late).at("ok")) ++taken;
  EXPECT_LT(taken, 1000);
  for (const char* verb : {"pause", "step", "resume", "checkpoint", "stop"})  // they wait for nothing far away
    EXPECT_TRUE(all->answer(request(verb)).at("ok")) << verb;
  EXPECT_FALSE(all->answer(request("stop", {{"at", 1000}})).at("ok"));
  int more = 0;
  while (more < 100'000 && all->answer(request("pause")).at("ok")) ++more;
  EXPECT_LT(more, 100);
  EXPECT_LT(all->answer(request("status")).dump().size(), 1U << 20);
}

TEST_F(SteeringDeskTest, AValueIsOneAndNoMoreThanItsType) {
  const auto at_desk = desk();
  const auto set = [&](const json& value) {
    return at_desk->answer(request("set", {{"name", "number"}, {"value", value}}));
  };

  EXPECT_FALSE(set("0.3\nother = 1").at("ok"));
  EXPECT_FALSE(set("0.3, 0.4").at("ok"));
  EXPECT_THAT(set(std::uint64_t{18446744073709551615U}).at("message").get<std::string>(), HasSubstr("1.8446744"));
  EXPECT_THAT(set("1e999").at("message").get<std::string>(), HasSubstr("larger than any number"));
  EXPECT_TRUE(set("0.3").at("ok"));
}

TEST_F(SteeringDeskTest, WhatGoesWrongAfterAnEditTellsOfIt) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  const auto hint_of = [&] {
    try {
      all.blaming([] { throw core::Error("the gas is gone", "level 0", "look at it"); });
    } catch (const core::Error& error) {
      return error.message() + " " + error.where() + " " + error.hint();
    }
    return std::string();
  };
  EXPECT_EQ(hint_of(), "the gas is gone level 0 look at it");
  ask(*at_desk, request("edit", {{"name", "density"}, {"who", "me"}, {"why", "to see"}, {"edit", {{"value", 1.5}}}}));
  all.at_step(3, 0.0);

  EXPECT_THAT(hint_of(),
              testing::StartsWith("the gas is gone level 0 `density` was edited after step 3 by me: set 1.5"));
  EXPECT_THAT(hint_of(), testing::EndsWith("look at it"));
  EXPECT_THAT(hint_of(), HasSubstr("to see"));
}

TEST_F(SteeringDeskTest, WhatIsUnderWayIsToldToWaitUntilItIsDone) {
  const auto at_desk = desk();
  if (world_.rank() != 0) return;
  at_desk->answer(request("checkpoint"));
  const std::vector<Change> due = at_desk->take(0, false);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(at_desk->answer(request("status")).at("waiting").size(), 1u);

  at_desk->conclude(due.front(), "done");
  EXPECT_EQ(at_desk->answer(request("status")).at("waiting").size(), 0u);
  EXPECT_EQ(at_desk->answer(request("status")).at("done").size(), 1u);
}

TEST_F(SteeringDeskTest, TheKeyThatAConnectionHasProvedIsLogged) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  ask(*at_desk, request("pause", {{"key", "abc"}}));
  ask(*at_desk, request("resume"));
  all.at_step(0, 0.0);
  world_.barrier();

  const std::vector<json> told = test::events(folder_ / "", "steering");
  EXPECT_EQ(told.at(0).at("key"), "abc");
  EXPECT_FALSE(told.at(1).contains("key"));
}

TEST_F(SteeringDeskTest, WhoStepsOrPausesIsHeardWhileTheRunWaits) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  all.at_step(0, 0.0);
  ask(*at_desk, request("pause"));
  ask(*at_desk, request("stop", {{"at", 9}}));
  all.at_step(1, 0.0);
  EXPECT_TRUE(all.is_paused(1));

  ask(*at_desk, request("step", {{"count", 2}}));
  all.at_step(1, 0.0);
  EXPECT_FALSE(all.is_paused(1));
  EXPECT_FALSE(all.is_paused(2));
  EXPECT_TRUE(all.is_paused(3));
  EXPECT_FALSE(all.is_stopped());
}

TEST_F(SteeringDeskTest, WhatDoesNotGoWithTheStateChangesNothingAndIsTold) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);

  ask(*at_desk, request("set", {{"name", "below"}, {"value", 3.0}}));
  all.at_step(0, 0.0);

  EXPECT_EQ(below_, 1.0);
  EXPECT_EQ(all.memory(), "");
  if (world_.rank() != 0) return;
  EXPECT_EQ(at_desk->answer(request("status")).at("done").at(0).at("outcome"), "the limits cross");
  EXPECT_EQ(test::events(folder_ / "", "steering_refused").size(), 1u);
}

TEST_F(SteeringDeskTest, AnEditMayHaveAConditionAndIsOtherwiseOfTheWholeDomain) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  ask(*at_desk, request("edit", {{"name", "density"}, {"edit", {{"where", "pressure > 2"}, {"value", 1.5}}}}));
  all.at_step(0, 0.0);

  ASSERT_EQ(edits_.size(), 1u);
  EXPECT_EQ(edits_[0].where, "pressure > 2");
  EXPECT_EQ(edits_[0].cells, mesh::domain_of({8, 8, 8}));
  if (world_.rank() != 0) return;
  for (const char* const where : {"pressur > 2", "pressure", "pressure > redshift", "pressure > (("})
    EXPECT_FALSE(
        at_desk->answer(request("edit", {{"name", "density"}, {"edit", {{"where", where}, {"value", 1.5}}}})).at("ok"))
        << where;
}

TEST_F(SteeringDeskTest, AnEditByAnArrayNamesItsFileAndNoOther) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  const json box{{0, 0, 0}, {2, 1, 1}};
  const json begun = ask(*at_desk, {{"kind", "array"}, {"cells", box}});
  const auto by_array = [&](const json& array) {
    return ask(*at_desk, request("edit", {{"name", "density"}, {"edit", {{"array", array}}}}));
  };
  if (world_.rank() == 0) {
    EXPECT_FALSE(by_array(begun.at("array")).at("ok"));  // nothing has come
    const std::vector<std::uint8_t> bytes(16);
    EXPECT_TRUE(ask(*at_desk,
                    {{"kind", "array"}, {"array", begun.at("array")}, {"cells", box}, {"values", json::binary(bytes)}})
                    .at("ok"));
    EXPECT_FALSE(by_array({{"name", "steering/00009.npy"}, {"checksum", ""}}).at("ok"));
    EXPECT_TRUE(by_array(begun.at("array")).at("ok"));
  }
  all.at_step(0, 0.0);

  ASSERT_EQ(edits_.size(), 1u);
  EXPECT_EQ(edits_[0].array.name, "steering/00001.npy");
  EXPECT_EQ(edits_[0].array.checksum.size(), 16u);
  EXPECT_EQ(edits_[0].cells, (mesh::Box{{0, 0, 0}, {2, 1, 1}}));
}

TEST_F(SteeringDeskTest, EditsThatAreRefusedLeaveRoomForOthers) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  const json box{{0, 0, 0}, {1, 1, 1}};
  if (world_.rank() != 0) return;
  for (int trial = 0; trial < 20; ++trial) {
    const json begun = ask(*at_desk, {{"kind", "array"}, {"cells", box}});
    ASSERT_TRUE(begun.at("ok")) << trial;
    const std::vector<std::uint8_t> bytes(8);
    ask(*at_desk, {{"kind", "array"}, {"array", begun.at("array")}, {"cells", box}, {"values", json::binary(bytes)}});
    const json edit{{"array", begun.at("array")}, {"where", "no such quantity > 1"}};
    EXPECT_FALSE(ask(*at_desk, request("edit", {{"name", "density"}, {"edit", edit}})).at("ok"));
  }
}

TEST_F(SteeringDeskTest, SettingsAreTakenUpAgainInWhateverOrderTheyArePossible) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  ask(*at_desk, request("set", {{"name", "above"}, {"value", 8.0}}));
  ask(*at_desk, request("set", {{"name", "below"}, {"value", 5.0}}));
  all.at_step(0, 0.0);
  const std::string memory = all.memory();
  below_ = 1.0, above_ = 2.0;

  Steering again = steering(nullptr);
  EXPECT_THAT(again.restore(memory), ElementsAre("`above` = 8.0", "`below` = 5.0"));
  EXPECT_EQ(below_, 5.0);
  EXPECT_EQ(above_, 8.0);
  EXPECT_EQ(again.memory(), memory);
  again.restore("");
  EXPECT_EQ(below_, 1.0);
  EXPECT_EQ(above_, 2.0);
}

TEST_F(SteeringDeskTest, WhatWasNeverDueIsTold) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  ask(*at_desk, request("stop", {{"at", 100}}));
  all.at_step(0, 0.0);

  all.close();
  world_.barrier();
  EXPECT_EQ(test::events(folder_ / "", "steering_left").at(0).at("at"), 100);
  if (world_.rank() == 0) {
    EXPECT_FALSE(at_desk->answer(request("pause")).at("ok"));
  }
}

TEST_F(SteeringDeskTest, ThreadsMayAskWhileTheRunGoesOn) {
  const auto at_desk = desk();
  Steering all = steering(at_desk);
  std::atomic<bool> is_over = false;
  std::thread other([&] {  // whose change is refused where too many wait: it asks again
    for (int n = 0; world_.rank() == 0 && n < 500; ++n)
      while (!at_desk->answer(request("set", {{"name", "number"}, {"value", n * 1e-3}})).at("ok").get<bool>())
        std::this_thread::yield();
    is_over = true;
  });
  std::int64_t step = 0;
  do all.at_step(step++, 0.0);
  while (!world_.all(is_over));
  other.join();
  all.at_step(step, 0.0);

  EXPECT_EQ(number_, 0.499);
  world_.barrier();
  EXPECT_EQ(test::events(folder_ / "", "steering").size(), 500u);
}

std::string lines(std::initializer_list<json> events) {
  std::string all;
  for (const json& event : events) all += event.dump() + "\n";
  return all;
}

json steered(std::int64_t step, double value) {
  return {{"event", "steering"}, {"step", step},     {"id", 1},   {"at", step},    {"verb", "set"},
          {"who", ""},           {"name", "number"}, {"why", ""}, {"value", value}};
}
json published(std::int64_t step, const char* action) {
  return {{"event", "publish"}, {"task", "t"}, {"step", step}, {"action", action}};
}

TEST_F(SteeringDeskTest, AReplayMakesTheChangesOfTheEvents) {
  const auto replay = std::make_shared<const Replay>(
      lines({{{"event", "run_start"}}, steered(2, 0.25), {{"event", "ended_early"}, {"step", 9}, {"by", "wall time"}}}),
      "", "events");
  Steering all = steering(nullptr, replay);

  all.at_step(1, 0.0);
  EXPECT_EQ(number_, 0.5);
  all.at_step(2, 0.0);
  EXPECT_EQ(number_, 0.25);
  EXPECT_EQ(replay->end(9), EndCause::wall_time);
  EXPECT_EQ(replay->end(8), std::nullopt);
}

TEST_F(SteeringDeskTest, AReplayThatCannotMakeAChangeAgainEndsThere) {
  json changed = steered(2, 0.25);
  changed["value"] = "fast";
  Steering all =
      steering(nullptr, std::make_shared<const Replay>(lines({{{"event", "run_start"}}, changed}), "", "events"));

  all.at_step(1, 0.0);
  EXPECT_THROW(all.at_step(2, 0.0), core::Error);
}

TEST(ReplayOfEvents, WhatARestartWentBackBehindDoesNotCount) {
  const Replay replay(lines({{{"event", "run_start"}},
                             steered(2, 0.25),
                             steered(4, 0.75),
                             published(4, "dropped"),
                             published(6, "dropped"),
                             {{"event", "due_by_clock"}, {"task", "t"}, {"step", 6}},
                             {{"event", "ended_early"}, {"step", 7}, {"by", "signal of the user"}},
                             {{"event", "run_start"}},
                             {{"event", "restart"}, {"step", 4}, {"path", "chk"}},
                             published(6, "sent")}),
                      "", "events");

  EXPECT_EQ(replay.changes(2).size(), 1u);
  EXPECT_EQ(replay.changes(4).size(), 0u);
  EXPECT_EQ(replay.fate("t", 4), PublishFate::left_out);
  EXPECT_EQ(replay.fate("t", 6), PublishFate::analysed);
  EXPECT_FALSE(replay.was_due_by_clock("t", 6));
  EXPECT_EQ(replay.end(7), std::nullopt);
}

TEST(ReplayOfEvents, ARestartGoesOnWithTheChangesThatItsCheckpointHolds) {
  const json begun{{"event", "checkpoint_begun"}, {"step", 4}, {"among", "by hand"}};
  const json committed{{"event", "checkpoint_committed"}, {"step", 4}};
  const json asked{{"event", "steering"}, {"step", 4}, {"id", 2}, {"at", 4}, {"verb", "checkpoint"}};
  const Replay replay(lines({{{"event", "run_start"}},
                             steered(4, 0.25),
                             begun,
                             asked,
                             committed,
                             steered(4, 0.75),
                             {{"event", "checkpoint_begun"}, {"step", 4}, {"among", "end"}},
                             {{"event", "run_start"}},
                             {{"event", "restart"}, {"step", 4}, {"path", "chk"}}}),
                      "", "events");

  const std::vector<Change> changes = replay.changes(4);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].value, 0.25);
  EXPECT_EQ(changes[1].verb, "checkpoint");
  EXPECT_TRUE(replay.wrote_checkpoint(4, CheckpointPoint::by_hand));
}

TEST(ReplayOfEvents, WhatEndedOneJobDoesNotEndTheNext) {
  json limit = steered(2, 4);
  limit["name"] = "run.max_steps";
  const json stop{{"event", "steering"}, {"step", 4}, {"id", 2}, {"at", 4}, {"verb", "stop"}};
  const std::string first = lines({{{"event", "run_start"}},
                                   limit,
                                   steered(4, 0.25),
                                   stop,
                                   {{"event", "checkpoint_begun"}, {"step", 4}, {"among", "end"}},
                                   {{"event", "checkpoint_committed"}, {"step", 4}}});
  const std::string second = lines({{{"event", "run_start"}}, {{"event", "restart"}, {"step", 4}, {"path", "chk"}}});

  EXPECT_EQ(Replay(first, "", "events").changes(2).size(), 1u);
  EXPECT_EQ(Replay(first, "", "events").changes(4).size(), 2u);
  const Replay both(first + second, "", "events");
  EXPECT_EQ(both.changes(2).size(), 0u);
  ASSERT_EQ(both.changes(4).size(), 1u);
  EXPECT_EQ(both.changes(4)[0].name, "number");
}

TEST(ReplayOfEvents, WhatSidecarsLeftOutIsLeftOutUnlessItWasAnalysedInAnotherJob) {
  const auto told = [](const char* kind, int step) { return json{{"event", kind}, {"task", "t"}, {"step", step}}; };
  const Replay replay(
      lines({{{"event", "run_start"}}, published(1, "sent"), published(2, "sent"), published(2, "sent")}),
      lines({told("withdrawn", 1), told("withdrawn", 2), told("analysis", 2), told("analysis", 3)}), "events");
  const Replay after_a_kill(lines({{{"event", "run_start"}}, published(1, "sent"), published(1, "sent")}),
                            lines({told("withdrawn", 1)}), "events");

  EXPECT_EQ(replay.fate("t", 1), PublishFate::left_out);
  EXPECT_EQ(replay.fate("t", 2), PublishFate::analysed);
  EXPECT_EQ(after_a_kill.fate("t", 1), PublishFate::left_out);
}

TEST(ReplayOfEvents, WhatIsNoEventIsRefusedWithItsLine) {
  try {
    Replay("{\"event\": \"run_start\"}\nstep 3\n", "", "events");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.where(), "events:2");
  }
  EXPECT_THROW(Replay("", "", "events"), core::Error);
  EXPECT_NO_THROW(Replay("{\"event\": \"run_start\"}\n{\"event\": \"ste", "", "events")) << "of a run that was killed";
}

}  // namespace
}  // namespace sidestream::couple
