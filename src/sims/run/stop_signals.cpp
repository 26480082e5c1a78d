#include "sims/run/stop_signals.hpp"

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

}  // namespace

void catch_stop_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) std::signal(number, remember_stop_signal);
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
