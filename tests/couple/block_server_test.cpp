#include "couple/stream/run/block_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "couple/publish/protocol.hpp"
#include "couple/stream/reader/fetch.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/core/error.hpp"

namespace {

using namespace sidestream;
using namespace sidestream::couple;
using namespace std::chrono_literals;
using nlohmann::json;

constexpr std::int32_t side = 128;
constexpr mesh::Box everything{{0, 0, 0}, {side, side, side}};
constexpr std::int64_t megabyte = std::int64_t{1} << 20;

std::shared_ptr<Shelf> cube() {
  const std::vector<mesh::Layout> levels{mesh::split(mesh::domain_of({side, side, side}), {1, 1, 1})};
  const Route route(levels, 0);
  BufferPool pool;
  Cargo cargo = route.cargo(1, std::vector<std::int64_t>{});
  cargo.load(pool);
  route.pack(
      1,
      [](std::size_t, std::size_t, const mesh::Box& box, const core::View4<double>& out) {
        for (std::int32_t z = box.lo.z; z < box.hi.z; ++z)
          for (std::int32_t y = box.lo.y; y < box.hi.y; ++y)
            for (std::int32_t x = box.lo.x; x < box.hi.x; ++x) out(z, y, x) = x + 0.5 * y + 0.25 * z;
      },
      cargo);
  return std::make_shared<Shelf>(levels, 0, 1, std::move(cargo));
}

TransferOrder order_of(std::vector<Part> parts, bool is_single = false) {
  TransferOrder order;
  order.fields = {0};
  order.parts = std::move(parts);
  order.is_single = is_single;
  return order;
}

class BlockServers : public ::testing::Test {
 protected:
  void SetUp() override {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0) GTEST_SKIP() << "one is enough";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    server_ = std::make_unique<BlockServer>("ipc://" + folder_ + "/s", stream::Security{});
    server_->put(1, cube());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<stream::Client> peer() const {
    return std::make_unique<stream::Client>(server_->address(), stream::Security{}, stream::random_name(),
                                            client_limits);
  }

  // One that waits for nobody longer than that.
  void be_impatient(double longest_early_s) {
    server_.reset();
    server_ = std::make_unique<BlockServer>("ipc://" + folder_ + "/s", stream::Security{}, longest_early_s);
    server_->put(1, cube());
  }

  // Until it is so; false: it never was.
  bool serve_until(const std::function<bool()>& is_so, double longest_s = 20.0) {
    for (const core::Stopwatch watch; watch.seconds() < longest_s;) {
      server_->serve();
      if (is_so()) return true;
    }
    return false;
  }

  // Of a run that stays where it is.
  Relocation staying() const { return {server_->address(), {server_->address(), "", "", ""}}; }

  // Why a request is refused.
  std::string refusal_of(const TransferOrder& order) {
    const auto client = peer();
    client->send(packed(to_request(order, 1, 1, 0)));
    std::optional<stream::Message> answer;
    if (!serve_until([&] { return (answer = client->receive()).has_value(); })) return "no answer";
    ChunkHead head;
    std::memcpy(&head, answer->head.data(), sizeof head);
    if (head.total != -1) return "";
    const std::span<const std::byte> text = answer->body.bytes();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "blocks-XXXXXX").string();
  std::unique_ptr<BlockServer> server_;
};

TEST_F(BlockServers, TellOfKeysThatTheyDoNotKnow) {
  const auto [own, stranger] = std::pair(stream::make_keys(), stream::make_keys());
  std::atomic<int> told = 0;
  BlockServer guarded("tcp://127.0.0.1:*", {own, "", {own.public_key}}, 30.0,
                      [&](const std::string&, const std::string& key) { told += key == stranger.public_key; });
  stream::Client client(guarded.address(), {stranger, own.public_key, {}}, stream::random_name(), client_limits);
  for (const core::Stopwatch watch; told == 0 && watch.seconds() < 20.0;) std::this_thread::sleep_for(10ms);
  EXPECT_GT(told, 0);
}

TEST_F(BlockServers, CopyNoMoreForAPeerThatTakesNothingThanItMayHave) {
  const auto greedy = peer();
  greedy->send(packed(to_request(order_of({{0, everything}}, true), 1, 1, 0)));
  ASSERT_TRUE(serve_until([&] { return server_->bytes_sent() > 0; }));
  for (int i = 0; i < 900; ++i) greedy->send(packed(json{{"kind", "more"}, {"transfer", 1}}));

  serve_until([] { return false; }, 1.0);

  // 4 MB of floats would go thrice into what it may have; so it asks for them again and again.
  for (std::uint64_t again = 2; again < 40; ++again) {
    greedy->send(packed(to_request(order_of({{0, everything}}, true), 1, again, 0)));
    for (int i = 0; i < 20; ++i) greedy->send(packed(json{{"kind", "more"}, {"transfer", again}}));
    serve_until([] { return false; }, 0.05);
  }
  EXPECT_LT(server_->bytes_sent(), (12 + 32 + 12) * megabyte) << "what it may have, and what sockets hold";

  const auto modest = peer();
  modest->send(packed(to_request(order_of({{0, everything}}, true), 1, 1, 0)));
  std::optional<stream::Message> first;
  EXPECT_TRUE(serve_until([&] { return (first = modest->receive()).has_value(); }));
}

TEST_F(BlockServers, RefuseWhatAsksForCellsTwice) {
  const Part one{0, {{0, 0, 0}, {side, side, side / 2}}}, other{0, {{0, 0, side / 2}, {side, side, side}}};
  EXPECT_EQ(refusal_of(order_of({one, other})), "");
  EXPECT_EQ(refusal_of(order_of({one, other, one})), "fields or cells are asked for twice");
  TransferOrder twice = order_of({one});
  twice.fields = {0, 0};
  EXPECT_EQ(refusal_of(twice), "fields or cells are asked for twice");
}

TEST_F(BlockServers, RefusePartsWithoutCells) {
  const Part none{0, {{0, 0, 0}, {0, side, side}}};
  EXPECT_EQ(refusal_of(order_of(std::vector<Part>(1000, none))), "this rank has no such cells");
}

TEST_F(BlockServers, CloseAPlainSocketThatNoRequestNames) {
  be_impatient(0.2);
  stream::PlainSocket unused(server_->plain_address(), stream::random_word(), 2s);
  const std::string name = stream::random_word();
  stream::PlainSocket used(server_->plain_address(), name, 2s);
  const auto client = peer();
  client->send(packed(to_request(order_of({{0, everything}}), 1, 1, 0, name)));
  std::array<std::byte, 4096> place;
  const std::array<std::span<std::byte>, 1> places{place};
  const auto is_closed = [&](stream::PlainSocket& socket) {
    try {
      socket.receive(places);
      return false;
    } catch (const core::Error&) {
      return true;
    }
  };

  EXPECT_TRUE(serve_until([&] { return is_closed(unused); }, 5.0));

  EXPECT_FALSE(serve_until([&] { return is_closed(used); }, 0.5));
}

TEST_F(BlockServers, ForgetARequestWhosePlainSocketDoesNotCome) {
  be_impatient(0.2);
  const auto client = peer();
  const std::string name = stream::random_word();
  client->send(packed(to_request(order_of({{0, everything}}), 1, 1, 0, name)));
  serve_until([] { return false; }, 0.6);

  const stream::PlainSocket late(server_->plain_address(), name, 2s);

  EXPECT_FALSE(serve_until([&] { return server_->bytes_sent() > 0; }, 0.15));
  client->send(packed(to_request(order_of({{0, everything}}), 1, 2, 0, name)));
  EXPECT_TRUE(serve_until([&] { return server_->bytes_sent() > 0; }, 5.0)) << "it may ask again";
}

TEST_F(BlockServers, AreNotAskedForMorePartsThanAMessageMayName) {
  constexpr std::size_t many = 200'000;
  std::vector<double> cell(1);
  Wanted all;
  all.order = order_of(std::vector<Part>(many, Part{0, {{100, 100, 100}, {101, 101, 101}}}));
  all.targets.assign(many, {cell.data(), 0, 0, 0, 1, 1, 1, 1});
  Fetcher fetcher({server_->address()}, {""}, {}, 5.0, staying());
  ReaderCounts counts;

  EXPECT_THAT([&] { fetcher.fetch(1, {all}, counts); },
              testing::ThrowsMessage<core::Error>(testing::HasSubstr("200000 parts of blocks are too many")));
}

// Who takes connections and passes nothing on, as a proxy may.
TEST_F(BlockServers, ReachAReaderByMessagesWherePlainSocketsLeadNowhere) {
  const stream::PlainListener nowhere("ipc://" + folder_ + "/nowhere");
  std::atomic<bool> is_over = false;
  std::thread serving([&] {
    while (!is_over) server_->serve();
  });
  std::vector<double> cells(static_cast<std::size_t>(everything.volume()));
  Wanted all;
  all.order = order_of({{0, everything}});
  all.targets = {{cells.data(), 0, 0, 0, side, side, side, 1}};
  Fetcher fetcher({server_->address()}, {nowhere.address()}, {}, 15.0, staying());
  ReaderCounts counts;

  EXPECT_NO_THROW(fetcher.fetch(1, {all}, counts));

  is_over = true;
  serving.join();
  EXPECT_EQ(cells.back(), (side - 1) * 1.75);
  EXPECT_GT(counts.messages, 1);
}

// As where it was killed amid a transfer: nobody answers where it was.
TEST_F(BlockServers, AreNotWaitedForWhereTheirRunHasBegunAnew) {
  const io::RunFolder run(folder_ + "/run");
  std::filesystem::create_directories(run.path());
  const MeetingPoint before{server_->address(), "", "first", "same"}, after{"ipc://nowhere", "", "second", "same"};
  write(before, run);
  std::vector<double> cells(static_cast<std::size_t>(everything.volume()));
  Wanted all;
  all.order = order_of({{0, everything}});
  all.targets = {{cells.data(), 0, 0, 0, side, side, side, 1}};
  Fetcher fetcher({server_->address()}, {""}, {}, 60.0, {run.path(), before});
  ReaderCounts counts;
  write(after, run);
  const core::Stopwatch watch;

  EXPECT_THAT([&] { fetcher.fetch(1, {all}, counts); },
              testing::ThrowsMessage<FetchTimeout>(testing::HasSubstr("the run has begun anew")));

  EXPECT_LT(watch.seconds(), 20.0);
}

}  // namespace
