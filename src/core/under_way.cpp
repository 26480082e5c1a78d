#include "sidestream/core/under_way.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
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

std::atomic<bool> ends_are_told = false;

/// Sees `exit` first: what belongs to the thread that calls it goes before anything that other threads may be using.
struct ExitTeller {
  ~ExitTeller() {
    if (present == nullptr || !ends_are_told) return;
    tell("`exit`");
    std::_Exit(EXIT_FAILURE);
  }
};

/// Where a signal is handled when the stack of its thread is full, for the life of the thread. One that is there stays.
class SpareStack {
 public:
  SpareStack() {
    stack_t present_one{};
    if (::sigaltstack(nullptr, &present_one) != 0 || (present_one.ss_flags & SS_DISABLE) == 0) return;
    bytes_ = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes_ == MAP_FAILED) return;
    const stack_t spare{.ss_sp = bytes_, .ss_flags = 0, .ss_size = size_bytes};
    ::sigaltstack(&spare, nullptr);
  }
  ~SpareStack() {
    if (bytes_ == MAP_FAILED) return;
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    ::sigaltstack(&none, nullptr);
    ::munmap(bytes_, size_bytes);
  }
  SpareStack(const SpareStack&) = delete;
  SpareStack& operator=(const SpareStack&) = delete;

 private:
  static constexpr std::size_t size_bytes = 64 * 1024;
  void* bytes_ = MAP_FAILED;
};

void watch_this_thread() {
  static thread_local const SpareStack spare;
  static thread_local const ExitTeller teller;
}

extern "C" void tell_of_crash(int number) {
  for (std::size_t c = 0; c < crashes.size(); ++c) {
    if (crashes[c].number != number) continue;
    if (present != nullptr) tell(crashes[c].name);
    ::sigaction(number, &before[c], nullptr);
  }
  ::raise(number);  // handled as before when this returns
}

}  // namespace

UnderWay::UnderWay(Words words) : words_(std::move(words)), outer_(present) {
  static std::atomic<std::int64_t> begun = 0;
  words_.number = ++begun;
  watch_this_thread();
  present = &words_;
}
UnderWay::UnderWay(const Words* of_another) : outer_(present) {
  watch_this_thread();
  present = of_another;
}
UnderWay::~UnderWay() {
  present = outer_;
}

const UnderWay::Words* UnderWay::here() {
  return present;
}

void tell_of_sudden_ends() {
  struct sigaction action {};
  action.sa_handler = tell_of_crash;
  action.sa_flags = SA_ONSTACK;
  for (std::size_t c = 0; c < crashes.size(); ++c) ::sigaction(crashes[c].number, &action, &before[c]);
  ends_are_told = true;
}

}  // namespace sidestream::core

const char* sidestream_under_way(std::int64_t* number) {
  if (sidestream::core::present == nullptr) return nullptr;
  *number = sidestream::core::present->number;
  return sidestream::core::present->who.c_str();
}
