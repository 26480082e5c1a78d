// The analyses of a program that is made for tests: one that is sound, and one that does to its process what it is
// told.
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>
#include <stdexcept>
#include <thread>

#include "analysis/entries.hpp"
#include "analysis/make.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

// Tables of one number.
mesh::Result table_of(double value) {
  mesh::Result result;
  result.add<double>("value", "", "a number", {"one"}, {1}, {value});
  return result;
}

[[noreturn]] void loop_for_ever() {
  for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void crash() {
  const volatile int* const nowhere = nullptr;
  static_cast<void>(*nowhere);
}

// Calls itself until no stack is left.
int overflow(int depth) {
  constexpr int size = 4096;
  volatile char room[size];
  room[depth % size] = 1;
  return depth < 0 ? 0 : overflow(depth + 1) + room[depth % size];
}

// Memory that is used, as far as the process gets any.
void eat() {
  constexpr std::size_t piece = std::size_t{16} << 20;
  for (;;) {
    char* const bytes = new char[piece];
    for (std::size_t page = 0; page < piece; page += 4096) static_cast<volatile char*>(bytes)[page] = 1;
  }
}

// On which it may run.
double cores_of_this_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  return CPU_COUNT(&set);
}

// Words for standard error, more than a pipe holds.
void chatter() {
  for (int line = 0; line < 4000; ++line) std::fputs("error: what nobody wants to know\n", stderr);
}

class Hostile : public Analysis {
 public:
  struct Parameters {
    std::string does, field;
    std::int64_t from = 0, rank = -1;
  };
  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("does harm");
    table.option("does", &Parameters::does, "").required().doc("what");
    table.option("field", &Parameters::field, "gas_density").doc("what it reads");
    table.option("from", &Parameters::from, 0).doc("the first step at which it does");
    table.option("rank", &Parameters::rank, -1).doc("the rank that does; -1: all");
    return table;
  }
  explicit Hostile(Parameters parameters) : parameters_(std::move(parameters)) {}

  std::vector<std::string> fields() const override { return {parameters_.field}; }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const bool does =
        snapshot.moment.step >= parameters_.from && (parameters_.rank < 0 || parameters_.rank == comm.rank());
    if (does && parameters_.does == "skip") return {};  // the reduction below
    if (does) harm(parameters_.does);
    const auto field = snapshot.field(parameters_.field);
    const mesh::Int3 at = field.box(0).lo;
    const double& value = field.view(0)(at.z, at.y, at.x);
    if (does && parameters_.does == "scribble") const_cast<double&>(value) = 1e30;
    const double sum = comm.max(does && parameters_.does == "cores" ? cores_of_this_process() : value);
    if (comm.rank() != 0) return {};
    return table_of(does && parameters_.does == "nan" ? std::numeric_limits<double>::quiet_NaN() : sum);
  }

 private:
  static void harm(const std::string& what) {
    if (what == "throw") throw core::Error("no halo in sight", "box 3", "look elsewhere");
    if (what == "throw int") throw 3;
    if (what == "_exit" || what == "kill")  // a rank that goes in silence takes with it what others are about to tell
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    if (what == "bad_alloc") throw std::bad_alloc();
    if (what == "exit") std::exit(0);
    if (what == "_exit") ::_exit(3);
    if (what == "abort") std::abort();
    if (what == "crash") crash();
    if (what == "overflow") overflow(0);
    if (what == "kill") ::raise(SIGKILL);
    if (what == "loop") loop_for_ever();
    if (what == "chatter") chatter();
    if (what == "chatter") loop_for_ever();
    if (what == "eat") eat();
  }

  Parameters parameters_;
};

}  // namespace

const core::Registry<AnalysisEntry>& analyses() {
  static const core::Registry<AnalysisEntry> all({"analyses", "analysis", "what a task does with a snapshot"},
                                                 {pdf_entry(), entry_of<Hostile>("hostile")});
  return all;
}

}  // namespace sidestream::analysis
