// A run that says anything to its readers: they read on, or throw what is a core::Error.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <random>
#include <thread>

#include "couple/publish/protocol.hpp"
#include "couple/session_fixture.hpp"
#include "couple/stream/demand.hpp"
#include "couple/stream/meeting_point.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/couple/stream_reader.hpp"
#include "sidestream/stream/socket.hpp"
#include "support/slow_tier.hpp"

namespace {

using namespace sidestream;
using namespace sidestream::couple;
using nlohmann::json;
using std::chrono::milliseconds;

// What a run says to a reader who asks for a step: as it is, for others to alter.
struct Sayings {
  json welcome, step;
};

json next_of_kind(stream::Client& client, const std::string& kind) {
  const stream::Socket* const socket = &client;
  for (const core::Stopwatch watch; watch.seconds() < 20.0;) {
    stream::wait({&socket, 1}, nullptr, milliseconds(20));
    while (const auto message = client.receive())
      if (json told = unpacked(message->head); told.at("kind") == kind) return told;
  }
  throw core::Error("the run says nothing of the kind " + kind);
}

// For the step to stay, `client` does.
Sayings listen_to(stream::Client& client) {
  Demand demand;
  demand.quantities = {"density"};
  client.send(packed(json{{"kind", "hello"},
                          {"version", stream_version},
                          {"who", "a listener"},
                          {"task", "live"},
                          {"once_as", ""},
                          {"does_task", false},
                          {"layout", "blocks"},
                          {"ranks", 1},
                          {"demand", to_json(demand)}}));
  Sayings sayings{next_of_kind(client, "welcome"), {}};
  client.send(packed(json{{"kind", "state"},
                          {"sequence", 1},
                          {"after", 0},
                          {"received", 0},
                          {"done", 0},
                          {"levels", 0},
                          {"bytes", 0},
                          {"is_result", false}}));
  sayings.step = next_of_kind(client, "step");
  return sayings;
}

// Else the end of the run waits until its silence is too long.
void client_leaves(stream::Client& client) {
  client.send(packed(json{{"kind", "leave"}}));
  next_of_kind(client, "bye");
}

// Words and numbers at the edges of what there may be.
json odd_value(std::mt19937_64& random) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<json> values{nullptr,
                                 -1,
                                 0,
                                 1,
                                 3,
                                 70000,
                                 std::int64_t{1} << 31,
                                 std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::min(),
                                 1e300,
                                 -infinity,
                                 0.5,
                                 "",
                                 "word",
                                 std::string(1000, 'x'),
                                 json::array(),
                                 json::object(),
                                 json::array({1, "two", nullptr}),
                                 true,
                                 json::binary({1, 2, 3}),
                                 json::binary(std::vector<std::uint8_t>(48, 0xff)),
                                 json::binary(std::vector<std::uint8_t>(48, 0x7f))};
  return values[random() % values.size()];
}

// One part of it another, or none.
void alter(json& message, std::mt19937_64& random) {
  if (message.is_structured() && !message.empty() && random() % 8 != 0) {
    auto part = message.begin();
    std::advance(part, static_cast<std::ptrdiff_t>(random() % message.size()));
    if (random() % 8 == 0)
      message.erase(part);
    else
      alter(*part, random);
    return;
  }
  if (message.is_binary() && !message.get_binary().empty() && random() % 2 == 0) {
    auto& bytes = message.get_binary();
    bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    return;
  }
  message = odd_value(random);
}

class HostileRun : public SessionTest {
 protected:
  CouplingConfig config() {
    const core::Node table = core::parse_toml("analysis = \"readers\"\n", "test");
    CouplingConfig config =
        config_of({task_of("live", analysis::analyses().named("readers").make(table, nullptr), "stream")});
    config.when_full = &policies().named("latest");
    config.timeout_s = 600.0;
    config.stream.listen = "tcp://127.0.0.1:*";
    return config;
  }

  // A sound run publishes until `is_heard`, and goes on for as long as others do something with it.
  template <typename F>
  void while_it_runs(const std::atomic<bool>& is_heard, F others) {
    if (world_.rank() == 0) {
      std::filesystem::create_directories(folder_.path());
      std::ofstream(folder_.config()) << "# of a test\n";
    }
    Session session = start(config());
    std::atomic<bool> is_over{false};
    std::thread thread([&] {
      try {
        others();
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
      is_over = true;
    });
    for (std::int64_t step = 0; !is_over; ++step) {
      session.progress();
      if (!is_heard) session.publish(refined_snapshot_of(session.compute_group(), step));
      std::this_thread::sleep_for(milliseconds(5));
    }
    thread.join();
    session.finish();
  }
};

// Answers each who comes with what it once heard, altered.
class Liar {
 public:
  explicit Liar(Sayings sayings) : sayings_(std::move(sayings)), server_("tcp://127.0.0.1:*", {}, talk_limits) {}

  const std::string& address() const { return server_.address(); }

  void work(const std::atomic<bool>& is_over) {
    const stream::Socket* const socket = &server_;
    while (!is_over) {
      stream::wait({&socket, 1}, nullptr, milliseconds(10));
      while (const auto message = server_.receive()) {
        const json asked = unpacked(message->head);
        const std::string kind = asked.at("kind");
        if (kind == "hello") say(message->peer, sayings_.welcome);
        if (kind == "state" && asked.at("after") >= 0) say(message->peer, sayings_.step);
        if (kind == "leave") server_.send(message->peer, packed(json{{"kind", "bye"}}));
      }
    }
  }

 private:
  void say(const std::string& peer, json message) {
    if (random_() % 3 != 0) alter(message, random_);
    std::string bytes = packed(message);
    if (random_() % 8 == 0) bytes[random_() % bytes.size()] ^= static_cast<char>(1 << random_() % 8);
    server_.send(peer, bytes);
  }

  Sayings sayings_;
  stream::Server server_;
  std::mt19937_64 random_{7};
};

TEST_F(HostileRun, ThatSaysAnythingIsReadOrRefused) {
  const int trials = test::is_slow_tier() ? 20'000 : 40;
  int read = 0, refused = 0;
  std::atomic<bool> is_heard{false};
  while_it_runs(is_heard, [&] {
    const comm::Communicator alone(MPI_COMM_SELF);
    while (!std::filesystem::exists(folder_.stream())) std::this_thread::sleep_for(milliseconds(5));
    stream::Client listener(meeting_point(folder_.path()).address, {}, stream::random_name(), client_limits);
    Liar liar(listen_to(listener));
    is_heard = true;
    client_leaves(listener);
    std::atomic<bool> is_over{false};
    std::thread thread([&] { liar.work(is_over); });
    ReaderOptions options;
    options.demand.quantities = {"density"};
    options.timeout_s = 0.3;
    for (int trial = 0; trial < trials; ++trial) {
      try {
        StreamReader reader(alone, liar.address(), options);
        if (reader.next()) ++read;
      } catch (const core::Error&) {
        ++refused;
      } catch (const std::exception& error) {
        ADD_FAILURE() << "trial " << trial << ": " << error.what();
      }
    }
    is_over = true;
    thread.join();
  });
  EXPECT_GT(read, trials / 10);
  EXPECT_GT(refused, trials / 10);
}

}  // namespace
