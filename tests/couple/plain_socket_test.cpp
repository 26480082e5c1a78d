#include "sidestream/stream/plain_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

namespace {

using namespace sidestream;
using namespace std::chrono_literals;

using Sockets = std::map<std::string, stream::PlainSocket>;

void take(stream::PlainListener& listener, Sockets& into) {
  for (auto& [name, socket] : listener.accept(into.size())) into.insert_or_assign(name, std::move(socket));
}

// Until so many have said their names.
Sockets accepted(stream::PlainListener& listener, std::size_t count) {
  Sockets all;
  for (const core::Stopwatch watch; all.size() < count && watch.seconds() < 10.0;) take(listener, all);
  return all;
}

class PlainSockets : public ::testing::TestWithParam<const char*> {
 protected:
  std::string folder_ = (std::filesystem::temp_directory_path() / ("plain-XXXXXX")).string();
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string address() const {
    return std::string(GetParam()) == "ipc" ? "ipc://" + folder_ + "/s" : "tcp://127.0.0.1:5";
  }
};

TEST_P(PlainSockets, CarryBytesInOrderBothWays) {
  stream::PlainListener listener(address());
  const std::string name = stream::random_word();
  stream::PlainSocket client(listener.address(), name, 2s);
  Sockets sockets = accepted(listener, 1);
  ASSERT_EQ(sockets.count(name), 1U);
  std::vector<std::byte> data(3'000'000), got(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7 / 5);
  for (std::size_t sent = 0, came = 0; came < got.size();) {
    sent += sockets.at(name).send(std::span(data).subspan(sent));
    const auto middle = came + (got.size() - came) / 3;
    const std::array places{std::span(got).subspan(came, middle - came), std::span(got).subspan(middle)};
    came += client.receive(places);
  }
  EXPECT_EQ(got, data);
}

TEST_P(PlainSockets, AreToldWhenTheOtherHasGone) {
  stream::PlainListener listener(address());
  Sockets sockets;
  {
    const stream::PlainSocket client(listener.address(), stream::random_word(), 2s);
    sockets = accepted(listener, 1);
    ASSERT_EQ(sockets.size(), 1U);
  }
  std::array<std::byte, 1> byte;
  const std::array<std::span<std::byte>, 1> place{byte};
  EXPECT_THROW(sockets.begin()->second.receive(place), core::Error);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PlainSockets, ::testing::Values("ipc", "tcp"),
                         [](const auto& entry) { return std::string(entry.param); });

class Stranger {
 public:
  explicit Stranger(const std::string& path) : file_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, path.c_str(), sizeof to.sun_path - 1);
    EXPECT_EQ(::connect(file_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~Stranger() { ::close(file_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void say(std::string_view words) { EXPECT_GT(::send(file_, words.data(), words.size(), MSG_NOSIGNAL), 0); }
  bool is_thrown_out() const {
    char byte = 0;
    const ssize_t got = ::recv(file_, &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno == ECONNRESET);
  }

 private:
  int file_;
};

TEST(PlainListener, ThrowsOutWhoSpeaksSomethingElseAndKeepsNoCrowds) {
  std::string folder = (std::filesystem::temp_directory_path() / "plain-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  stream::PlainListener listener("ipc://" + folder + "/s");
  Sockets sockets;
  Stranger other(folder + "/s+");
  other.say("GET / HTTP/1.1");
  take(listener, sockets);
  EXPECT_TRUE(sockets.empty());
  EXPECT_TRUE(other.is_thrown_out());
  std::vector<std::unique_ptr<Stranger>> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(std::make_unique<Stranger>(folder + "/s+"));
    take(listener, sockets);
  }
  EXPECT_TRUE(silent.back()->is_thrown_out());
  EXPECT_FALSE(silent.front()->is_thrown_out());
  silent.clear();
  take(listener, sockets);
  const stream::PlainSocket client(listener.address(), stream::random_word(), 2s);
  EXPECT_EQ(accepted(listener, 1).size(), 1U);
  std::filesystem::remove_all(folder);
}

TEST(PlainSocket, SaysWhereItCannotGo) {
  EXPECT_THROW(stream::PlainSocket("tcp://127.0.0.1:1", stream::random_word(), 2s), core::Error);
  EXPECT_THROW(stream::PlainSocket("ipc:///nowhere/to/be/found", stream::random_word(), 2s), core::Error);
  EXPECT_THROW(stream::PlainSocket("somewhere", stream::random_word(), 2s), core::Error);
  EXPECT_THROW(stream::PlainListener("ipc:///nowhere/to/be/found"), core::Error);
}

}  // namespace
