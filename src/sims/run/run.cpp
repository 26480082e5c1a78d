#include "sidestream/sims/run.hpp"

#include <utility>

namespace sidestream::sims {

RunStatus run(const comm::Communicator& world, RunConfig config, const std::string& folder, const RunStart& start,
              const std::function<void(const std::string& line)>& progress) {
  SteppedRun steps(world, std::move(config), folder, start, progress);
  if (!steps.computes()) {
    steps.serve();
    return RunStatus::finished;
  }
  steps.begin();
  while (steps.goes_on() && steps.take_step()) {
  }
  return steps.end();
}

}  // namespace sidestream::sims
