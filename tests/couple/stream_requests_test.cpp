#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <tuple>

#include "couple/publish/protocol.hpp"
#include "couple/stream/run/broker.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/core/error.hpp"
#include "support/slow_tier.hpp"

namespace {

using namespace sidestream;
using namespace sidestream::couple;
using nlohmann::json;

struct NamedBroker : Broker {
  NamedBroker(const std::string& policy, std::int64_t capacity, double most_comings = 1e9, double comings_per_s = 1.0)
      : Broker({"run", "", {"ipc://nowhere"}, {""}, {"live"}},
               {&policies().named(policy), capacity, 30.0, most_comings, comings_per_s},
               [](const std::string&, const json&) {}) {}
};

json hello(const std::string& once_as = "") {
  Demand demand;
  demand.quantities = {"density"};
  return {{"kind", "hello"},    {"version", stream_version}, {"who", "somebody"}, {"task", "live"},
          {"once_as", once_as}, {"layout", "blocks"},        {"ranks", 1},        {"demand", to_json(demand)}};
}

json state(std::int64_t sequence, std::int64_t after, std::int64_t received) {
  return {{"kind", "state"},  {"sequence", sequence}, {"after", after}, {"received", received},
          {"done", received}, {"levels", 0},          {"bytes", 0},     {"is_result", false}};
}

int attach(Broker& broker, const std::string& peer, const std::string& once_as = "") {
  const json answer = broker.answer(peer, packed(hello(once_as)));
  EXPECT_EQ(answer.at("kind"), "welcome");
  return answer.at("reader");
}

// What a publish of so many bytes at a step is answered; it is offered where it is taken.
Broker::Verdict publish(Broker& broker, std::int64_t bytes, std::int64_t step) {
  const Broker::Verdict verdict = broker.admit(broker.subscribers({"live"}), bytes, step);
  if (verdict.number > 0) {
    Broker::Offer offer{verdict.number, {{"number", verdict.number}}, {}, {}};
    for (const int reader : verdict.readers) offer.own[reader] = json::object();
    broker.offer(std::move(offer));
  }
  return verdict;
}

TEST(StreamBroker, NothingIsTakenBeyondTheQueue) {
  for (const std::string policy : {"block", "drop-newest", "drop-oldest", "latest", "in-situ"}) {
    NamedBroker broker(policy, 250);
    attach(broker, "a");
    attach(broker, "b");
    for (std::int64_t step = 0; step < 10; ++step) EXPECT_LE(publish(broker, 100, step).queue_bytes, 250) << policy;
  }
}

TEST(StreamBroker, APolicySaysWhatAFullQueueDoes) {
  using Answer = Broker::Answer;
  for (const auto& [policy, answer, withdrawn] :
       {std::tuple("block", Answer::full, std::size_t{0}), std::tuple("drop-newest", Answer::left_out, std::size_t{1}),
        std::tuple("drop-oldest", Answer::taken, std::size_t{1}), std::tuple("latest", Answer::taken, std::size_t{1}),
        std::tuple("spill", Answer::stored, std::size_t{0}), std::tuple("in-situ", Answer::do_here, std::size_t{0})}) {
    NamedBroker broker(policy, 100);
    attach(broker, "a");
    EXPECT_EQ(publish(broker, 100, 0).answer, Answer::taken);
    const Broker::Verdict second = publish(broker, 100, 1);
    EXPECT_EQ(second.answer, answer) << policy;
    EXPECT_EQ(second.withdrawn.size(), withdrawn) << policy;
  }
}

TEST(StreamBroker, ASlowReaderFillsHalfOfTheQueueWhereThereIsAnother) {
  NamedBroker broker("drop-newest", 400);
  const int slow = attach(broker, "slow");
  attach(broker, "other");
  for (std::int64_t step = 0; step < 2; ++step) EXPECT_EQ(publish(broker, 100, step).readers.size(), 2U);
  broker.answer("other", packed(json{{"kind", "leave"}}));
  const int fresh = attach(broker, "fresh");
  const Broker::Verdict third = publish(broker, 100, 2);
  EXPECT_EQ(third.readers, std::vector<int>{fresh});
  ASSERT_EQ(third.withdrawn.size(), 1U);
  EXPECT_EQ(third.withdrawn.front().step, 2);
  EXPECT_NE(slow, fresh);
}

TEST(StreamBroker, WhoComesBackByNameIsGivenWhatWasNotDone) {
  NamedBroker broker("block", 1000);
  attach(broker, "first", "me");
  for (std::int64_t step = 0; step < 3; ++step) publish(broker, 100, step);
  const int again = attach(broker, "second", "me");
  EXPECT_EQ(broker.status().at("readers").size(), 1U);
  EXPECT_EQ(broker.status().at("readers").front().at("waiting"), 3);
  EXPECT_EQ(broker.done(), 0);
  broker.answer("second", packed(json{{"kind", "leave"}}));
  EXPECT_EQ(broker.take_finished(), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(broker.done(), 3);
  EXPECT_GT(again, 0);
}

TEST(StreamBroker, OnlyWhereNothingIsLeftOutIsEachStepPromised) {
  for (const auto& [policy, kind] :
       {std::pair("block", "welcome"), std::pair("spill", "welcome"), std::pair("latest", "refused"),
        std::pair("drop-oldest", "refused"), std::pair("drop-newest", "refused"), std::pair("in-situ", "refused")})
    EXPECT_EQ(NamedBroker(policy, 100).answer("a", packed(hello("me"))).at("kind"), kind) << policy;
}

TEST(StreamBroker, AReaderThatCameEarlierLeavesHalfOfTheQueueToAnother) {
  NamedBroker broker("drop-newest", 400);
  attach(broker, "stalled");
  for (std::int64_t step = 0; step < 8; ++step) publish(broker, 100, step);
  const int late = attach(broker, "late");
  const Broker::Verdict next = publish(broker, 100, 8);
  EXPECT_EQ(next.readers, std::vector<int>{late});
  EXPECT_EQ(broker.status().at("readers").front().at("waiting"), 2);
}

TEST(StreamBroker, AnotherVersionIsRefused) {
  NamedBroker broker("block", 1000);
  for (const json& version : {json(stream_version + 1), json(99), json(-1), json("2"), json(nullptr)}) {
    json other = hello();
    other["version"] = version;
    const json answer = broker.answer("a", packed(other));
    EXPECT_EQ(answer.at("kind"), "refused") << version;
    EXPECT_NE(answer.value("reason", "").find("version"), std::string::npos) << answer;
  }
  EXPECT_EQ(broker.answer("a", packed(hello())).at("kind"), "welcome");
}

TEST(StreamBroker, ARunThatStreamsNothingSaysSo) {
  Broker broker({"run", "", {"ipc://nowhere"}, {""}, {}}, {&policies().named("block"), 1000},
                [](const std::string&, const json&) {});
  json anything = hello();
  anything["task"] = "";
  EXPECT_EQ(broker.answer("a", packed(anything)).value("reason", ""), "the run streams nothing");
}

// Each has come by a name of its own and gone away, as strangers may.
TEST(StreamBroker, NamesOfThoseWhoAreAwayDoNotFillTheBooksForEver) {
  NamedBroker broker("block", 1000);
  for (int name = 0; name < 1100; ++name)
    ASSERT_EQ(broker.answer("stranger", packed(hello(fmt::format("name {}", name)))).at("kind"), "welcome") << name;
  attach(broker, "a reader", "results");
  EXPECT_LE(broker.status().at("readers").size(), 1024U);
}

TEST(StreamBroker, WhoHasWorkedAndWillComeBackIsForgottenAfterAllWhoHaveNot) {
  NamedBroker broker("block", 1 << 20);
  attach(broker, "worker", "worker");
  publish(broker, 100, 0);
  stream::Server server("ipc:///tmp/" + stream::random_word(), {}, {});
  broker.answer("worker", packed(state(1, 0, 0)));
  broker.serve(server);  // gives the step
  broker.answer("worker", packed(state(2, 1, 1)));
  attach(broker, "worker", "another name");  // so that the first is away
  for (int name = 0; name < 1100; ++name) broker.answer("stranger", packed(hello(fmt::format("name {}", name))));
  const json readers = broker.status().at("readers");
  EXPECT_EQ(readers.front().at("reader"), 1);
}

TEST(StreamBroker, WhoIsRefusedTakesNoPlaceOfThoseWhoMayCome) {
  NamedBroker broker("block", 1000, 1.0, 1e-6);
  json wrong = hello();
  wrong["task"] = "no such task";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(broker.answer("a", packed(wrong)).at("kind"), "refused");
  attach(broker, "a");
  const json later = broker.answer("b", packed(hello()));
  EXPECT_EQ(later.at("kind"), "refused");
  EXPECT_TRUE(later.value("may_ask_again", false));
}

TEST(StreamBroker, TheLogHasOfADemandWhatDemandsHave) {
  std::size_t logged = 0;
  Broker broker({"run", "", {"ipc://nowhere"}, {""}, {"live"}}, {&policies().named("block"), 1000},
                [&](const std::string&, const json& details) { logged += details.dump().size(); });
  json padded = hello();
  padded["demand"]["junk"] = std::string(100'000, 'x');
  ASSERT_EQ(broker.answer("a", packed(padded)).at("kind"), "welcome");
  EXPECT_LT(logged, 1000U);
}

TEST(StreamBroker, WhoComesAndGoesWithoutEndDoesNotFillTheLog) {
  NamedBroker broker("block", 1000, 5.0, 20.0);
  const auto comes_and_goes = [&] {
    const bool is_welcome = broker.answer("a", packed(hello())).at("kind") == "welcome";
    broker.answer("a", packed(json{{"kind", "leave"}}));
    return is_welcome;
  };
  int welcome = 0;
  const core::Stopwatch watch;
  for (int i = 0; i < 100; ++i) welcome += comes_and_goes();
  EXPECT_GE(welcome, 5);
  EXPECT_LE(welcome, 5 + static_cast<int>(20.0 * watch.seconds()) + 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_TRUE(comes_and_goes());
}

// Messages with some bytes altered, cut off or put in, as anybody may send them.
std::string altered(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % std::max<std::size_t>(n, 1)); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = below(bytes.size());
    switch (below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.resize(at);
        break;
      case 2:
        bytes.insert(at, 1 + below(8), static_cast<char>(random()));
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    }
  }
  return bytes;
}

// 10^7 of them in the slow tier.
TEST(StreamRequests, OfAnyBytesAreAnsweredOrRefused) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) return;  // one is enough
  std::mt19937_64 random(16);
  TransferOrder order;
  order.fields = {0, 1};
  order.parts = {{0, {{0, 0, 0}, {8, 8, 8}}}, {1, {{2, 2, 2}, {4, 4, 4}}}};
  order.compression = {{&core::compressors().front(), 0.0}, {&core::compressors().front(), 0.0}};
  const std::vector<std::string> sound{packed(hello()), packed(state(3, 1, 1)), packed(json{{"kind", "leave"}}),
                                       packed(json{{"kind", "status"}}), packed(to_request(order, 5, 7, 0))};
  NamedBroker broker("latest", 1000);
  std::int64_t refused = 0, welcome = 0;
  const std::int64_t trials = test::is_slow_tier() ? 10'000'000 : 100'000;
  for (std::int64_t trial = 0; trial < trials; ++trial) {
    const std::size_t which = random() % sound.size();
    const std::string bytes = altered(sound[which], random);
    const std::string peer(1, static_cast<char>('a' + random() % 4));
    if (which + 1 == sound.size()) {
      try {
        order_from(unpacked(bytes));
      } catch (const core::Error&) {
        ++refused;
      } catch (const json::exception&) {
        ++refused;
      }
      continue;
    }
    const json answer = broker.answer(peer, bytes);
    refused += answer.value("kind", "") == "refused";
    welcome += answer.value("kind", "") == "welcome";
    ASSERT_TRUE(answer.contains("kind"));
    if (trial % 1000 == 0) publish(broker, 10, trial);
  }
  EXPECT_GT(refused, trials / 10);
  EXPECT_GT(welcome, trials / 1000);
}

// Each byte begins a text, a list, an object or a tag in the one before: none may be followed by a call of a function.
TEST(StreamRequests, NestedAsDeepAsBytesGoAreRefused) {
  NamedBroker broker("latest", 1000);
  for (const int head : {0x5f, 0x7f, 0x9f, 0xbf, 0x81, 0xa1, 0xc1, 0xd8}) {
    const std::string bytes(talk_limits.message_bytes - 1, static_cast<char>(head));
    EXPECT_EQ(broker.answer("a", bytes).at("kind"), "refused") << head;
    EXPECT_THROW(unpacked(bytes), core::Error) << head;
    EXPECT_THROW(unpacked(std::string(std::size_t{2} << 20, static_cast<char>(head))), core::Error) << head;
  }
}

TEST(StreamRequests, AsDeepAsOursAreUnderstood) {
  json deep = "word";
  for (int i = 0; i < 16; ++i) deep = json::array({deep, 1, -1.5, nullptr, json::binary({1, 2})});
  EXPECT_EQ(unpacked(packed(deep)), deep);
  EXPECT_THROW(unpacked(packed(json::array({deep}))), core::Error);
}

TEST(StreamRequests, WithEndlessNamesAreRefused) {
  NamedBroker broker("latest", 1000);
  json request = hello();
  request["demand"]["quantities"] = std::vector<std::string>(5000, "density");
  EXPECT_EQ(broker.answer("a", packed(request)).at("kind"), "refused");
}

}  // namespace
