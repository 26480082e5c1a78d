#include "sidestream/io/event_log.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <sstream>
#include <thread>

#include "file_size_limit.hpp"
#include "sidestream/core/error.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

using nlohmann::json;

class EventLogTest : public testing::Test {
 protected:
  std::vector<json> events() const {
    std::istringstream text(test::content_of(path()));
    std::vector<json> all;
    for (std::string line; std::getline(text, line);) all.push_back(json::parse(line, nullptr, false));
    return all;
  }
  std::string path() const { return folder_ / "events.jsonl"; }
  io::EventLog open() const { return {path(), io::EventLog::Clock::now()}; }

  comm::Communicator comm_{MPI_COMM_SELF};
  test::TemporaryFolder folder_{comm_};
};

TEST_F(EventLogTest, WritesOneObjectALineThatCanBeReadAtOnce) {
  io::EventLog log = open();

  log.write("run_start", {{"ranks", 4}});
  log.write("step", {{"step", 1}, {"label", "a \"b\"\nc"}});

  ASSERT_EQ(events().size(), 2U);
  EXPECT_EQ(events()[0]["event"], "run_start");
  EXPECT_EQ(events()[0]["ranks"], 4);
  EXPECT_EQ(events()[1]["label"], "a \"b\"\nc");
}

TEST_F(EventLogTest, TimeIsCountedFromTheCommonStart) {
  const auto start = io::EventLog::Clock::now() - std::chrono::seconds(100);
  io::EventLog log(path(), start);

  log.write("step");

  EXPECT_GE(events().at(0)["t"].get<double>(), 100.0);
  EXPECT_LT(events().at(0)["t"].get<double>(), 110.0);
}

TEST_F(EventLogTest, ALogWithoutAFileSwallowsEverything) {
  io::EventLog none, empty("", io::EventLog::Clock::now());

  none.write("step");
  empty.write("step");

  EXPECT_FALSE(none.is_open() || empty.is_open());
  EXPECT_EQ(test::entries_of(folder_.path()), 0);
}

TEST_F(EventLogTest, ARestartAppendsAndLeavesATornLastLineOut) {
  open().write("first");
  test::overwrite(path(), test::content_of(path()) + "{\"event\": \"to");

  open().write("second");

  ASSERT_EQ(events().size(), 2U);
  EXPECT_EQ(events()[0]["event"], "first");
  EXPECT_EQ(events()[1]["event"], "second");
}

TEST_F(EventLogTest, ALogThatIsOneTornLineBeginsAnew) {
  test::overwrite(path(), "{\"event\": \"to");

  open().write("first");

  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0]["event"], "first");
}

TEST_F(EventLogTest, NumbersThatAreNoneAndTextThatIsNotUnicodeDoNotStopIt) {
  open().write("odd", {{"nan", std::nan("")}, {"text", "\xff\xfe"}});

  ASSERT_EQ(events().size(), 1U);
  EXPECT_TRUE(events()[0]["nan"].is_null());
}

TEST_F(EventLogTest, AFullDiskIsSaidOnceAndStopsNothing) {
  io::EventLog log = open();
  log.write("before",
            {{"padding", std::string(10000, 'x')}});  // the limit below must leave room for what stderr goes to
  testing::internal::CaptureStderr();

  {
    const test::FileSizeLimit limit(std::filesystem::file_size(path()) + 10);
    for (int i = 0; i < 3; ++i) log.write("lost", {{"i", i}});
  }
  log.write("after");

  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_EQ(warnings.find("warning:"), warnings.rfind("warning:"));
  EXPECT_NE(warnings.find(path()), std::string::npos);
  EXPECT_EQ(events().back()["event"], "after");
}

TEST_F(EventLogTest, ThreadsDoNotMixTheirLines) {
  io::EventLog log = open();

  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&log, t] {
      for (int i = 0; i < 100; ++i) log.write("from", {{"thread", t}, {"padding", std::string(200, 'x')}});
    });
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(events().size(), 400U);
  for (const json& event : events()) EXPECT_FALSE(event.is_discarded());
}

TEST_F(EventLogTest, EveryFlippedBitOfALineIsFound) {
  EXPECT_EQ(io::event_line({{"event", "step"}, {"step", 3}}), R"({"event":"step","step":3,"crc32":"b06001de"})"
                                                              "\n");
  const std::string line = R"({"event":"step","step":3,"crc32":"b06001de"})";
  const json written{{"event", "step"}, {"step", 3}};
  EXPECT_EQ(io::event_in(line), written);

  for (std::size_t bit = 0; bit < 8 * line.size(); ++bit) {
    std::string damaged = line;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_ANY_THROW(io::event_in(damaged)) << damaged;
  }
}

TEST_F(EventLogTest, ALineOfAnEarlierVersionHasNoChecksum) {
  EXPECT_EQ(io::event_in(R"({"event": "step", "step": 3})"), (json{{"event", "step"}, {"step", 3}}));
  EXPECT_EQ(io::event_in("{}"), json::object());
  EXPECT_THROW(io::event_in(""), json::exception);
}

TEST_F(EventLogTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_THROW(io::EventLog(folder_ / "no/events.jsonl", io::EventLog::Clock::now()), core::Error);
}

}  // namespace
}  // namespace sidestream
