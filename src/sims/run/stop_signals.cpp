#include "sims/run/stop_signals.hpp"

#include <array>
#include <csignal>

#include "sidestream/sims/run.hpp"

namespace sidestream::sims {

namespace {

// Set by a signal, read between steps and, the latter, by who waits for jobs: all that a signal handler may touch.
volatile std::sig_atomic_t stop_signal = 0, was_interrupted = 0;

extern "C" void remember_stop_signal(int number) {
  stop_signal = number;
  if (number == SIGINT) was_interrupted = 1;
}

constexpr std::array numbers{SIGINT, SIGTERM, SIGUSR1};

}  // namespace

StopSignals::StopSignals() {
  stop_signal = 0;
  was_interrupted = 0;
  struct sigaction action {};
  action.sa_handler = remember_stop_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t n = 0; n < numbers.size(); ++n) ::sigaction(numbers[n], &action, &before_[n]);
}

// What the program has set meanwhile stays.
StopSignals::~StopSignals() {
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    struct sigaction now {};
    if (::sigaction(numbers[n], nullptr, &now) == 0 && now.sa_handler == remember_stop_signal)
      ::sigaction(numbers[n], &before_[n], nullptr);
  }
}

int take_stop_signal() {
  const int number = stop_signal;
  stop_signal = 0;
  return number;
}

bool is_interrupted() {
  return was_interrupted != 0;
}

}  // namespace sidestream::sims
