#include "couple/deadline.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace sidestream::couple {

namespace {

constexpr double most_s = 1e9;  // clocks count no further than some hundred years

}  // namespace

Deadline::Deadline(double seconds, std::string message)
    : watch_([this, end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::min(seconds, most_s)),
              message = std::move(message)] {
        std::unique_lock lock(mutex_);
        if (is_over_.wait_until(lock, end, [this] { return is_done_; })) return;
        std::fprintf(stderr, "%s", message.c_str());
        std::_Exit(EXIT_FAILURE);
      }) {}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  is_over_.notify_one();
  watch_.join();
}

}  // namespace sidestream::couple
