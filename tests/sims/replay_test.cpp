#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "io/temporary_folder.hpp"
#include "sidestream/core/error.hpp"
#include "sims/steered_run.hpp"

namespace sidestream::sims {
namespace {

using couple::SteeringDesk;
using nlohmann::json;
using test::is_step;
using test::request;
using test::set_request;

const std::string mesh = "simulation = \"sod\"\n[mesh]\ncells = [32, 8, 8]\nblock = 8\n";

class ReplayTest : public testing::Test, public test::SteeredRun {
 protected:
  RunStatus replay(const std::string& text, const std::string& of, const std::string& name) {
    return run(text, name, {}, {.replay = (folder / of) + "/events.jsonl"});
  }
  std::vector<std::int64_t> steps_of(const std::string& name, const std::string& kind) {
    std::vector<std::int64_t> all;
    for (const json& event : events(name, kind)) all.push_back(event.at("step"));
    return all;
  }
};

TEST_F(ReplayTest, WhatWasSteeredIsDoneAgainToTheBit) {
  const std::string text = mesh +
                           "[task.pdf]\nanalysis = \"pdf\"\nevery = 2\n[output]\nplotfile = { every = 3 }\n"
                           "checkpoint = { every = 4, keep = 0 }\n";
  run(text, "a", [](SteeringDesk& desk, const std::string& line) {
    if (is_step(line, 1)) {
      desk.answer(set_request("hydro.cfl", 0.3, 2));
      desk.answer(set_request("task.pdf.every", 1, 3));
      const json box{{"cells", {{0, 0, 0}, {4, 4, 2}}}, {"operation", "multiply"}, {"value", 3.0}};
      desk.answer(request("edit", {{"name", "pressure"}, {"at", 4}, {"edit", box}}));
      desk.answer(request("checkpoint", {{"at", 5}}));
      desk.answer(request("pause", {{"at", 6}}));
      desk.answer(request("stop", {{"at", 7}}));
    }
    if (line.starts_with("paused")) desk.answer(request("resume"));
  });
  replay(text, "a", "b");

  ASSERT_EQ(steps("a").rbegin()->first, 7);
  EXPECT_EQ(steps("b").rbegin()->first, 7);
  for (const char* const path :
       {"results", "plt00003", "plt00006", "chk00004.hdf5_chk", "chk00005.hdf5_chk", "chk00007.hdf5_chk"}) {
    EXPECT_FALSE(bytes("a", path).empty()) << path;
    EXPECT_TRUE(bytes("a", path) == bytes("b", path)) << path;
  }
}

TEST_F(ReplayTest, ARestartAfterAStopIsDoneAgainWithWhatWasSteeredBeforeIt) {
  const std::string text = mesh +
                           "[task.pdf]\nanalysis = \"pdf\"\nevery = 2\n[output]\ncheckpoint = { every = 10, keep = 0 "
                           "}\n[run]\nmax_steps = 8\n";
  run(text, "a", [](SteeringDesk& desk, const std::string& line) {
    if (!is_step(line, 1)) return;
    desk.answer(set_request("run.max_steps", 4, 2));
    desk.answer(set_request("hydro.cfl", 0.3, 3));
    const json box{{"cells", {{0, 0, 0}, {4, 4, 2}}}, {"operation", "multiply"}, {"value", 3.0}};
    desk.answer(request("edit", {{"name", "pressure"}, {"at", 3}, {"edit", box}}));
    desk.answer(request("stop", {{"at", 3}}));
  });
  run(text, "a", {}, {.existing = io::ExistingRun::resume});
  replay(text, "a", "b");

  ASSERT_EQ(steps("a").rbegin()->first, 8);
  EXPECT_EQ(steps("b").rbegin()->first, 8);
  EXPECT_EQ(bytes("a", "results").size(), 5u);
  for (const char* const path : {"results", "chk00003.hdf5_chk"})
    EXPECT_TRUE(bytes("a", path) == bytes("b", path)) << path;
}

// The lines of a log, in their order.
std::vector<json> all_events(const std::string& path) {
  std::vector<json> all;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) all.push_back(json::parse(line));
  return all;
}

TEST_F(ReplayTest, EachCheckpointByHandIsThereWhenItIsToldAndTheLastOfAStepCounts) {
  for (const char* const asynchronous : {"false", "true"}) {
    const std::string first = std::string("a_") + asynchronous, second = std::string("b_") + asynchronous;
    const std::string text =
        mesh + "[output]\ncheckpoint = { every = 2, keep = 0, asynchronous = " + asynchronous + " }\n";
    run(text, first, [](SteeringDesk& desk, const std::string& line) {
      if (is_step(line, 1)) desk.answer(request("pause", {{"at", 2}}));
      if (line == "paused after step 2") {
        const json box{{"cells", {{0, 0, 0}, {4, 4, 2}}}, {"operation", "multiply"}, {"value", 1.5}};
        for (int turn = 0; turn < 6; ++turn) {
          EXPECT_TRUE(desk.answer(request("edit", {{"name", "pressure"}, {"edit", box}})).at("ok"));
          EXPECT_TRUE(desk.answer(request("checkpoint")).at("ok"));
        }
        desk.answer(request("step"));
      }
      if (line == "paused after step 3") desk.answer(request("stop"));
    });
    replay(text, first, second);

    bool is_under_way = false;
    int told = 0;
    for (const json& event : all_events((folder / first) + "/events.jsonl")) {
      if (event.at("event") == "checkpoint_begun") is_under_way = true;
      if (event.at("event") == "checkpoint_committed") is_under_way = false;
      if (event.at("event") != "steering" || event.at("verb") != "checkpoint") continue;
      ++told;
      EXPECT_FALSE(is_under_way) << event.dump();
      EXPECT_TRUE(std::filesystem::exists(event.at("path").get<std::string>()));
    }
    EXPECT_EQ(told, 6);
    EXPECT_THAT(steps_of(first, "checkpoint_committed"), testing::ElementsAre(2, 2, 2, 2, 2, 2, 2, 3));
    for (const char* const path : {"chk00002.hdf5_chk", "chk00003.hdf5_chk"}) {
      EXPECT_FALSE(bytes(first, path).empty()) << path;
      EXPECT_TRUE(bytes(first, path) == bytes(second, path)) << path << " " << asynchronous;
    }
  }
}

TEST_F(ReplayTest, TheClockSaysWhatItSaid) {
  const std::string text =
      mesh + "[task.pdf]\nanalysis = \"pdf\"\nevery_wall_time = \"0.5 s\"\n[run]\nwall_time = \"1 h\"\n";
  run(text, "a", [](SteeringDesk& desk, const std::string& line) {
    if (is_step(line, 2) || is_step(line, 5)) std::this_thread::sleep_for(std::chrono::milliseconds(600));
    if (is_step(line, 7)) desk.answer(set_request("run.wall_time", "0.001 s", 8));
  });
  replay(text, "a", "b");

  EXPECT_GE(steps_of("a", "analysis").size(), 2u);
  EXPECT_EQ(steps_of("a", "analysis"), steps_of("b", "analysis"));
  EXPECT_EQ(steps("a").rbegin()->first, 8);
  EXPECT_EQ(steps("b").rbegin()->first, 8);
  EXPECT_TRUE(bytes("a", "results") == bytes("b", "results"));
}

TEST_F(ReplayTest, ASignalEndsARunWhereItDid) {
  const StopSignals caught;
  const auto raise = [](SteeringDesk&, const std::string& line) {
    if (is_step(line, 3)) std::raise(SIGTERM);
  };
  EXPECT_EQ(run(mesh, "a", raise), RunStatus::interrupted);
  EXPECT_EQ(replay(mesh, "a", "b"), RunStatus::interrupted);
  EXPECT_EQ(steps("b").rbegin()->first, 3);
  EXPECT_TRUE(bytes("a", "chk00003.hdf5_chk") == bytes("b", "chk00003.hdf5_chk"));
}

// The events of the run `name`, as they would be had `change` been told of some of them.
std::string changed_events(const std::string& path, const std::function<void(json& event)>& change) {
  std::ifstream in(path);
  std::string all;
  for (std::string line; std::getline(in, line);) {
    json event = json::parse(line);
    change(event);
    all += event.dump() + "\n";
  }
  return all;
}

TEST_F(ReplayTest, WhatAQueueHadNoRoomForIsLeftOutOrDoneHereWhateverRoomThereIs) {
  const std::string text =
      mesh +
      "[coupling]\nwhen_full = \"drop-oldest\"\n[task.pdf]\nanalysis = \"pdf\"\nevery = 1\ntransport "
      "= \"async\"\n[run]\nmax_steps = 9\n";
  run(text, "a");
  if (world.rank() == 0) {
    const std::string path = (folder / "a") + "/events.jsonl";
    const std::string events = changed_events(path, [](json& event) {
      if (event.at("event") != "publish") return;
      event["action"] = event.at("step") == 3 ? "dropped" : event.at("step") == 5 ? "in-situ" : "sent";
    });
    std::ofstream(path) << events << json{{"event", "withdrawn"}, {"task", "pdf"}, {"step", 7}} << "\n";
  }
  world.barrier();
  replay(text, "a", "b");

  std::map<std::int64_t, std::string> actions;
  for (const json& event : events("b", "publish")) actions[event.at("step")] = event.at("action");
  EXPECT_EQ(actions.at(3), "dropped");
  EXPECT_EQ(actions.at(5), "in-situ");
  EXPECT_EQ(actions.at(7), "dropped");
  const auto results = test::result_bytes(folder / "b");
  for (int step = 0; step < 10; ++step) {
    const auto is_of_step = [&](const auto& entry) {
      return entry.first.starts_with("pdf/0000" + std::to_string(step) + ".nc");
    };
    EXPECT_EQ(std::ranges::any_of(results, is_of_step), step != 3 && step != 7) << step;
  }
}

TEST_F(ReplayTest, ACheckpointThatWasPutOffIsPutOffAgain) {
  const std::string text = mesh + "[output]\ncheckpoint = { every = 2, keep = 0 }\n[run]\nmax_steps = 7\n";
  run(text, "a");
  if (world.rank() == 0) {
    const std::string path = (folder / "a") + "/events.jsonl";
    const std::string events = changed_events(path, [](json& event) {
      if (event.at("event") == "checkpoint_begun" && event.at("step") == 2) event["step"] = 3;
    });
    std::ofstream(path) << events;
  }
  world.barrier();
  replay(text, "a", "b");

  EXPECT_THAT(steps_of("b", "checkpoint_committed"), testing::ElementsAre(3, 4, 6, 7));
}

TEST_F(ReplayTest, ARunThatBeganWithAFileIsReplayedFromItOnly) {
  const std::string text = mesh + "[output]\ncheckpoint = { every = 2, keep = 0 }\n";
  run(text + "[run]\nmax_steps = 2\n", "a");
  const RunStart with_file{.file = (folder / "a") + "/chk00002.hdf5_chk"};
  run(text + "[run]\nmax_steps = 4\n", "b", {}, with_file);
  RunStart again = with_file;
  again.replay = (folder / "b") + "/events.jsonl";
  run(text + "[run]\nmax_steps = 4\n", "c", {}, again);

  EXPECT_TRUE(bytes("b", "chk00004.hdf5_chk") == bytes("c", "chk00004.hdf5_chk"));
  EXPECT_THROW(replay(text + "[run]\nmax_steps = 4\n", "b", "d"), core::Error);
  again.replay = (folder / "a") + "/events.jsonl";
  EXPECT_THROW(run(text + "[run]\nmax_steps = 4\n", "e", {}, again), core::Error);
}

TEST_F(ReplayTest, ADigitThatIsAnotherIsToldWithItsLine) {
  const std::string text = mesh + "[run]\nmax_steps = 2\n";
  run(text, "a");
  const std::string path = (folder / "a") + "/events.jsonl";
  if (world.rank() == 0) {
    std::string events = test::content_of(path);
    const std::size_t second = events.find("\n") + 1, number = events.find("\"t\":", second) + 4;
    events[number] = events[number] == '9' ? '8' : '9';
    test::overwrite(path, events);
  }
  world.barrier();

  EXPECT_THAT([&] { replay(text, "a", "b"); },
              testing::Throws<core::Error>(
                  testing::AllOf(testing::Property(&core::Error::message, testing::HasSubstr("its checksum is wrong")),
                                 testing::Property(&core::Error::where, path + ":2"))));
}

TEST_F(ReplayTest, EventsOfAnotherRunAreRefused) {
  run(mesh + "[run]\nmax_steps = 1\n", "a");
  EXPECT_THROW(replay("simulation = \"sod\"\n[mesh]\ncells = [16, 8, 8]\nblock = 8\n", "a", "b"), core::Error);
}

}  // namespace
}  // namespace sidestream::sims
