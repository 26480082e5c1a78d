#include "sidestream/core/under_way.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace sidestream::core {

namespace {

// A signal handler has no other way to know. Threads that help an analysis have what it is at.
thread_local const UnderWay::Words* present = nullptr;

struct Crash {
  int number;
  std::string_view name;
};
constexpr std::array crashes{Crash{SIGSEGV, "signal 11 (SIGSEGV)"}, Crash{SIGABRT, "signal 6 (SIGABRT)"},
                             Crash{SIGBUS, "signal 7 (SIGBUS)"}, Crash{SIGFPE, "signal 8 (SIGFPE)"},
                             Crash{SIGILL, "signal 4 (SIGILL)"}};
std::array<struct sigaction, crashes.size()> before;

// By one call, so that what several ranks say does not lie within each other; what a signal handler may call.
void say(std::initializer_list<std::string_view> pieces) {
  std::array<char, PIPE_BUF> text{};
  std::size_t size = 0;
  for (const std::string_view piece : pieces) size += piece.copy(text.data() + size, text.size() - size);
  for (std::string_view rest(text.data(), size); !rest.empty();) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void tell(std::string_view cause) {
  say({"error: ", present->who, " ended its process by ", cause, "\n", present->about});
}

extern "C" void tell_of_crash(int number) {
  for (std::size_t c = 0; c < crashes.size(); ++c) {
    if (crashes[c].number != number) continue;
    if (present != nullptr) tell(crashes[c].name);
    ::sigaction(number, &before[c], nullptr);
  }
  ::raise(number);  // handled as before when this returns
}

extern "C" void tell_of_exit() {
  if (present == nullptr) return;
  tell("`exit`");
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

UnderWay::UnderWay(Words words) : words_(std::move(words)), outer_(std::exchange(present, &words_)) {}
UnderWay::UnderWay(const Words* of_another) : outer_(std::exchange(present, of_another)) {}
UnderWay::~UnderWay() {
  present = outer_;
}

const UnderWay::Words* UnderWay::here() {
  return present;
}

void tell_of_sudden_ends() {
  struct sigaction action {};
  action.sa_handler = tell_of_crash;
  for (std::size_t c = 0; c < crashes.size(); ++c) ::sigaction(crashes[c].number, &action, &before[c]);
  std::atexit(tell_of_exit);
}

}  // namespace sidestream::core
