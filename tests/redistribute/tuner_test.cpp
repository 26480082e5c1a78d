#include "sidestream/redistribute/tuner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "redistribute/layouts.hpp"
#include "sidestream/core/error.hpp"
#include "support/fields.hpp"
#include "support/folder.hpp"

namespace sidestream::redistribute {
namespace {

using mesh::domain_of;
using mesh::Field;
using test::SharedFolder;
using test::world;

/// Candidates that take the times that are said, by a clock that only they turn.
struct Workshop {
  double now_s = 0.0;
  std::vector<int> calls;
  std::vector<Candidate> candidates;

  void add(const std::string& name, double seconds) {
    const std::size_t index = calls.size();
    calls.push_back(0);
    candidates.push_back({name, [this, index, seconds] {
                            return [this, index, seconds] {
                              ++calls[index];
                              now_s += seconds;
                            };
                          }});
  }
  TuningEffort effort(double budget_s = 1e3) {
    return {.repeats = 4, .drop_ratio = 1.5, .budget_s = budget_s, .now_s = [this] { return now_s; }};
  }
};

TEST(Tuner, TakesTheFastestAndDropsThoseFarBehindAfterOneRepeat) {
  Workshop shop;
  shop.add("fair", 1.0);
  shop.add("best", 0.8);
  shop.add("near", 1.1);
  shop.add("slow", 1.3);

  const Tuning tuning = tune(world(), shop.candidates, shop.effort());

  EXPECT_EQ(tuning.chosen, 1u);
  EXPECT_THAT(shop.calls, testing::ElementsAre(5, 5, 5, 2));  // once each before it counts
  EXPECT_NEAR(tuning.trials[1].best_s, 0.8, 1e-12);
  EXPECT_EQ(tuning.trials[3].repeats, 1);
}

TEST(Tuner, CountsTheSlowestRank) {
  Workshop shop;
  shop.add("uneven", world().rank() == world().size() - 1 ? 3.0 : 0.1);
  shop.add("even", 1.0);

  EXPECT_EQ(tune(world(), shop.candidates, shop.effort()).chosen, 1u);
}

TEST(Tuner, LeavesOutWhatItsBudgetDoesNotReach) {
  Workshop shop;
  shop.add("first", 1.0);
  shop.add("second", 0.7);
  shop.add("third", 0.1);

  const Tuning tuning = tune(world(), shop.candidates, shop.effort(6.0));

  EXPECT_EQ(tuning.chosen, 1u);
  EXPECT_THAT(shop.calls, testing::ElementsAre(5, 2, 0));
}

TEST(Tuner, DoesNoMoreThanItMayHoweverLittleTimeItTakes) {
  Workshop shop;
  for (const char* name : {"first", "second", "third", "fourth"}) shop.add(name, 1.0);
  TuningEffort effort = shop.effort();
  effort.repeats = 2;
  effort.most_runs = 5;
  effort.is_warmed_up = false;

  tune(world(), shop.candidates, effort);

  EXPECT_THAT(shop.calls, testing::ElementsAre(2, 2, 1, 0));
}

TEST(Tuner, TriesTheFirstWhateverItsBudget) {
  Workshop shop;
  shop.add("first", 1.0);
  shop.add("second", 0.1);

  EXPECT_EQ(tune(world(), shop.candidates, shop.effort(0.0)).chosen, 0u);
}

TEST(Tuner, PassesOverWhatIsNotPossibleOnSomeRank) {
  Workshop shop;
  shop.candidates.push_back({"refused", [] {
                               if (world().rank() == 0) throw core::Error("there are no windows here");
                               return [] {};
                             }});
  shop.calls.push_back(0);
  const auto only_refused = std::span(shop.candidates);
  EXPECT_THROW(tune(world(), only_refused, shop.effort()), core::Error);
  shop.add("possible", 1.0);

  const Tuning tuning = tune(world(), shop.candidates, shop.effort());

  EXPECT_EQ(tuning.chosen, 1u);
  EXPECT_EQ(tuning.trials[0].problem, "there are no windows here");
}

TEST(Tuner, MeasuresNothingThatTheWisdomFileKnows) {
  const SharedFolder folder(world());
  const Wisdom wisdom(folder / "wisdom.json");
  Workshop shop;
  shop.add("slow", 1.0);
  shop.add("fast", 0.5);

  const Tuning measured = tune(world(), wisdom, "key", shop.candidates, shop.effort());
  const std::vector<int> calls = shop.calls;
  const Tuning known = tune(world(), wisdom, "key", shop.candidates, shop.effort());

  EXPECT_FALSE(measured.is_remembered);
  EXPECT_TRUE(known.is_remembered);
  EXPECT_EQ(known.chosen, 1u);
  EXPECT_EQ(shop.calls, calls);
  EXPECT_FALSE(tune(world(), wisdom, "other key", shop.candidates, shop.effort()).is_remembered);
}

TEST(Tuner, MeasuresWhereTheFileNamesWhatIsNoCandidate) {
  const SharedFolder folder(world());
  const Wisdom wisdom(folder / "wisdom.json");
  if (world().rank() == 0) wisdom.keep("key", {"carrier pigeon", 1e-9});
  Workshop shop;
  shop.add("only", 1.0);

  EXPECT_FALSE(tune(world(), wisdom, "key", shop.candidates, shop.effort()).is_remembered);
}

TEST(Tuner, MeasuresWhereWhatTheFileNamesIsNotPossibleToday) {
  const SharedFolder folder(world());
  const Wisdom wisdom(folder / "wisdom.json");
  if (world().rank() == 0) wisdom.keep("key", {"refused", 1e-9});
  Workshop shop;
  shop.add("possible", 1.0);
  shop.candidates.push_back({"refused", [] {
                               if (world().rank() == 0) throw core::Error("there are no windows here");
                               return [] {};
                             }});

  const Tuning tuning = tune(world(), wisdom, "key", shop.candidates, shop.effort());

  EXPECT_EQ(tuning.chosen, 0u);
  EXPECT_FALSE(tuning.is_remembered);
}

TEST(Wisdom, OfAllJobsThatWriteAtOnceIsKept) {
  const SharedFolder folder(world());
  const Wisdom wisdom(folder / "deep/in/folders/wisdom.json");

  for (int n = 0; n < 10; ++n) wisdom.keep(std::to_string(world().rank()) + "/" + std::to_string(n), {"p2p", 1.0 + n});
  world().barrier();

  int lost = 0;
  for (int rank = 0; rank < world().size(); ++rank)
    for (int n = 0; n < 10; ++n) {
      const auto finding = wisdom.find(std::to_string(rank) + "/" + std::to_string(n));
      lost += !finding || finding->choice != "p2p" || finding->seconds != 1.0 + n;
    }
  EXPECT_EQ(lost, 0);
}

// Whatever is in the file, the worst is a warning, and the next finding puts it right.
TEST(Wisdom, OfADamagedOrForeignFileIsPassedOverAndReplaced) {
  const SharedFolder folder(world());
  const std::string path = folder / ("wisdom" + std::to_string(world().rank()) + ".json");
  const Wisdom wisdom(path);
  wisdom.keep("key", {"shared", 0.5});
  std::ifstream kept(path);
  const std::string whole((std::istreambuf_iterator<char>(kept)), {});
  std::vector<std::string> texts{"",
                                 "[]",
                                 "null",
                                 "{}",
                                 "\xff\xfe",
                                 R"({"sidestream_wisdom": 2, "findings": {}})",
                                 R"({"sidestream_wisdom": 1, "findings": [1]})",
                                 R"({"sidestream_wisdom": 1, "findings": {"key": {"choice": 3, "seconds": "x"}}})"};
  for (std::size_t size = 0; size + 3 < whole.size(); size += 7) texts.push_back(whole.substr(0, size));

  testing::internal::CaptureStderr();
  for (const std::string& text : texts) {
    std::ofstream(path) << text;
    EXPECT_FALSE(wisdom.find("key").has_value()) << text;
    wisdom.keep("key", {"p2p", 0.25});
    EXPECT_EQ(wisdom.find("key")->choice, "p2p") << text;
  }

  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("warning: this is no wisdom"));
}

// Also where nobody has asked it for anything before.
TEST(Wisdom, ThatTakesThePlaceOfAnotherTextTellsAndKeepsThatText) {
  const SharedFolder folder(world());
  const std::string path = folder / ("notes" + std::to_string(world().rank()));
  std::ofstream(path) << "my notes";

  testing::internal::CaptureStderr();
  EXPECT_TRUE(Wisdom(path).keep("key", {"p2p", 1.0}));

  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: this is no wisdom of this version of Sidestream (it is no JSON): it is not used\n  --> " + path +
                "\nhint: what tuning finds takes its place, and it is kept as " + path + ".aside\n");
  std::ifstream aside(path + ".aside");
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(aside)), {}), "my notes");
  EXPECT_EQ(Wisdom(path).find("key")->choice, "p2p");
}

TEST(Wisdom, ThatCannotBeKeptIsNoError) {
  const SharedFolder folder(world());
  const std::string path = folder / ("file" + std::to_string(world().rank()));
  std::ofstream(path) << "no folder";

  testing::internal::CaptureStderr();
  Wisdom(path + "/wisdom.json").keep("key", {"p2p", 1.0});
  Wisdom("none").keep("key", {"p2p", 1.0});

  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("cannot be kept"));
  EXPECT_FALSE(Wisdom("none").find("key").has_value());
}

// A folder, a pipe that nobody writes, a device, a link to itself: named in one warning, and left as they are.
TEST(Wisdom, OfWhatIsNoFileIsAWarningAndNoMore) {
  const SharedFolder folder(world());
  const std::string own = folder / ("rank" + std::to_string(world().rank()));
  namespace fs = std::filesystem;
  fs::create_directory(own);
  ASSERT_EQ(mkfifo((own + "/pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", own + "/device");
  fs::create_directory(own + "/folder");

  for (const auto& [name, kind] : {std::pair("pipe", "a named pipe"), {"device", "a device"}, {"folder", "a folder"}}) {
    const Wisdom wisdom(own + "/" + name);
    testing::internal::CaptureStderr();
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_FALSE(wisdom.find("key").has_value());
      EXPECT_FALSE(wisdom.keep("key", {"p2p", 1.0}));
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said, std::string("warning: the wisdom file is ") + kind +
                        " and no regular file: it is not used\n  --> " + wisdom.path() +
                        "\nhint: name another file in SIDESTREAM_WISDOM, or \"none\"\n");
    EXPECT_NE(fs::symlink_status(wisdom.path()).type(), fs::file_type::regular);
  }
  EXPECT_TRUE(Wisdom(own + "/good").keep("key", {"p2p", 1.0}));
}

// The plan of a communicator that carries a choice.
Strategy strategy_of(const comm::Communicator& comm, Strategy wanted = Strategy::automatic) {
  const auto x = split(domain_of({12, 12, 12}), {comm.size(), 1, 1}),
             z = split(domain_of({12, 12, 12}), {1, 1, comm.size()});
  const Redistribution plan(comm, x, z, wanted);
  Field<double> to(z, comm.rank());
  plan.apply(test::field_of_global_index(x, comm.rank()), to);
  EXPECT_EQ(test::cells_that_differ(to), 0);
  return plan.strategy();
}

TEST(ExchangeChoice, IsFollowedByPlansThatSayNothingElse) {
  const comm::Communicator comm = with_exchange(world(), {.strategy = Strategy::pipelined});

  EXPECT_EQ(strategy_of(comm), Strategy::pipelined);
  EXPECT_EQ(strategy_of(comm.duplicate()), Strategy::pipelined);
  EXPECT_EQ(strategy_of(comm.split(comm.rank() % 2)), Strategy::pipelined);
  EXPECT_EQ(strategy_of(comm, Strategy::rma), Strategy::rma);
  EXPECT_EQ(strategy_of(world()), Strategy::alltoallw);
}

TEST(ExchangeChoice, OfTuningTakesWhatTheFileSays) {
  const SharedFolder folder(world());
  const std::string path = folder / "wisdom.json";
  const comm::Communicator comm = with_exchange(world(), {.strategy = Strategy::tuned, .wisdom = path});
  const Strategy measured = strategy_of(comm);
  EXPECT_NE(entry_of(measured).make, nullptr);
  if (world().size() == 1) return;  // there is nothing to choose
  comm.barrier();
  std::ifstream kept(path);
  std::string text((std::istreambuf_iterator<char>(kept)), {});
  const std::string name = '"' + entry_of(measured).name + '"';
  const std::size_t at = text.find(name);
  ASSERT_NE(at, std::string::npos) << text;
  comm.barrier();
  if (comm.rank() == 0) std::ofstream(path) << text.replace(at, name.size(), "\"pipelined\"");
  comm.barrier();

  EXPECT_EQ(strategy_of(comm), Strategy::pipelined);
}

// Exchanges of other sizes, rows and kinds are measured anew.
TEST(ExchangeChoice, OfTuningIsKeptForExchangesOfItsKind) {
  if (world().size() == 1) return;  // there is nothing to choose
  const SharedFolder folder(world());
  const std::string path = folder / "wisdom.json";
  const comm::Communicator comm = with_exchange(world(), {.strategy = Strategy::tuned, .wisdom = path});
  const auto keys_after = [&](int cells, auto number, Combine combine) {
    const mesh::Box box = domain_of({cells, cells, cells});
    const auto x = split(box, {comm.size(), 1, 1}), z = split(box, {1, 1, comm.size()});
    const Redistribution plan(comm, x, z);
    Field<decltype(number)> to(z, comm.rank());
    plan.apply(test::field_of_global_index(x, comm.rank()), to, combine);
    comm.barrier();
    std::ifstream kept(path);
    const auto keys = nlohmann::json::parse(kept).at("findings").size();
    comm.barrier();
    return keys;
  };

  EXPECT_EQ(keys_after(12, double{}, Combine::replace), 1U);
  EXPECT_EQ(keys_after(12, double{}, Combine::replace), 1U);
  EXPECT_EQ(keys_after(24, double{}, Combine::replace), 2U);
  EXPECT_EQ(keys_after(24, double{}, Combine::add), 3U);
  EXPECT_EQ(keys_after(24, float{}, Combine::replace), 4U);
}

TEST(Wisdom, IsOfThisProcessor) {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line) && !line.starts_with("model name")) continue;
  if (line.empty()) GTEST_SKIP() << "the processor has no name";

  EXPECT_THAT(machine_key(world()), testing::StartsWith(line.substr(line.find(':') + 2)));
}

}  // namespace
}  // namespace sidestream::redistribute
