// Threads that analyse run where they are told to.
#include <sched.h>

#include <thread>

#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

// As the system lists them: "0-1,4".
std::string cores_of_this_thread() {
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Cpus_allowed_list:")) return line.substr(line.find_first_not_of(" \t", line.find(':') + 1));
  return "";
}

int last_core() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &set)) --last;
  return last;
}

// Notes where it runs, and a thread that it starts.
class Onlooker : public analysis::Analysis {
 public:
  std::vector<std::string> fields() const override { return {"density"}; }
  mesh::Result run(const comm::Communicator&, const mesh::Snapshot&) const override {
    seen.push_back(cores_of_this_thread());
    std::thread([this] { seen.push_back(cores_of_this_thread()); }).join();
    return {};
  }
  mutable std::vector<std::string> seen;
};

using Cores = SessionTest;

TEST_F(Cores, TheThreadAndThoseThatItStartsRunThereAndTheOthersWhereTheyDid) {
  const std::string before = cores_of_this_thread();
  const auto looks = std::make_shared<Onlooker>();
  CouplingConfig config = config_of({task_of("looks", looks, "async")});
  config.cores = {last_core()};
  run(std::move(config), 1);

  EXPECT_EQ(looks->seen, (std::vector<std::string>(2, std::to_string(last_core()))));
  EXPECT_EQ(cores_of_this_thread(), before);
}

TEST_F(Cores, WithoutAnyTheyRunWhereTheirRankDoes) {
  const auto looks = std::make_shared<Onlooker>();
  run(config_of({task_of("looks", looks, "async")}), 1);

  EXPECT_EQ(looks->seen, (std::vector<std::string>(2, cores_of_this_thread())));
}

TEST_F(Cores, ThoseThatAreNotThereAreAnErrorBeforeTheFirstStep) {
  for (const int core : {CPU_SETSIZE - 1, CPU_SETSIZE, 1 << 30}) {
    CouplingConfig config = config_of({task_of("looks", std::make_shared<Onlooker>(), "async")});
    config.cores = {last_core(), core};
    try {
      start(std::move(config));
      ADD_FAILURE() << "core " << core;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.message(), testing::HasSubstr(std::to_string(core)));
      EXPECT_EQ(error.where(), "key `coupling.cores`");
      EXPECT_THAT(error.hint(), testing::HasSubstr(std::to_string(last_core())));
    }
  }
}

}  // namespace
}  // namespace sidestream::couple
