// What is to be a job of its own is refused where it could not be. Jobs themselves: tests/cli/test_hostile_analyses.py.
#include "couple/session_fixture.hpp"

namespace sidestream::couple {
namespace {

class IsolatedTasks : public SessionTest {
 protected:
  core::Error error_of(const std::string& program, int ranks_of_node) {
    Task task = task_of("mine", std::make_shared<test::Digest>(), "in-situ");
    task.isolation = Isolation{.deadline_s = 10.0};
    CouplingConfig config = config_of({task});
    config.job_program = program;
    test::pretend_nodes(ranks_of_node);
    try {
      start(std::move(config));
    } catch (const core::Error& error) {
      return error;
    }
    return core::Error("nothing is wrong");
  }
};

TEST_F(IsolatedTasks, NeedAProgramThatStartsThem) {
  const core::Error error = error_of("", 0);

  EXPECT_EQ(error.message(), "this program starts no jobs of their own");
  EXPECT_EQ(error.where(), "key `task.mine.isolate`");
}

TEST_F(IsolatedTasks, MayBeOfARunOverSeveralNodes) {
  EXPECT_EQ(error_of("/bin/true", 1).message(), "nothing is wrong");
}

}  // namespace
}  // namespace sidestream::couple
