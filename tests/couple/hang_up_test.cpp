#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "sidestream/stream/socket.hpp"

using namespace sidestream::stream;
using namespace std::chrono_literals;

// More than fits between a socket and who takes nothing: what is asked of such a connection later must not end the
// process.
TEST(HangingUp, OfWhoHasSentMoreThanIsTakenEndsNothing) {
  Server server("tcp://127.0.0.1:*", {}, {.waiting = 4});
  {
    Client client(server.address(), {}, random_name(), {.to_go = 100'000});
    std::this_thread::sleep_for(200ms);
    const std::string words(200, 'x');
    for (int message = 0; message < 20'000; ++message) client.send(words);
    std::this_thread::sleep_for(300ms);
  }
  std::this_thread::sleep_for(4s);

  EXPECT_TRUE(server.receive());
}
