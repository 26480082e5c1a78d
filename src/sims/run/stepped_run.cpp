#include "sidestream/sims/run.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "sidestream/core/bill.hpp"
#include "sidestream/couple/session.hpp"
#include "sidestream/couple/steering_desk.hpp"
#include "sims/checks/start.hpp"
#include "sims/run/between_steps.hpp"
#include "sims/run/replaying.hpp"
#include "sims/run/staging.hpp"
#include "sims/run/stop_signals.hpp"

namespace sidestream::sims {

class SteppedRun::Impl {
 public:
  Impl(const comm::Communicator& every_rank, RunConfig run_config, const std::string& folder_path, RunStart run_start,
       std::function<void(const std::string& line)> tell)
      : start(std::move(run_start)),
        progress(std::move(tell)),
        bill(start.began),
        world(redistribute::with_exchange(every_rank, run_config.exchange)),
        config(std::move(run_config)),
        folder(prepare(folder_path)),
        session(world, config.coupling, folder, bill, progress) {
    if (session.computes()) steps.emplace(world, session.compute_group(), config, session, folder, bill, progress);
  }

  const RunStart start;
  const std::function<void(const std::string& line)> progress;
  core::Bill bill;
  comm::Communicator world;
  RunConfig config;
  io::RunFolder folder;
  couple::Session session;
  std::optional<BetweenSteps> steps;  // on ranks that compute

 private:
  io::RunFolder prepare(const std::string& folder_path) {
    world.agree_on([&] {
      if (world.rank() == 0) check_start(config, folder_path, start);
    });
    require_stages(world, config);
    if (!start.replay.empty()) replay_decisions(world, start.replay, config.coupling);
    if (start.existing == io::ExistingRun::overwrite && world.broadcast(io::RunFolder(folder_path).holds_a_run())) {
      couple::require_session(world, config.coupling);
      require_start(world, config, start);
    }
    io::RunFolder prepared = io::prepare_run_folder(world, folder_path, start.existing, config.resolved);
    if (config.coupling.replay) take_edit_arrays(world, *config.coupling.replay, prepared);
    config.coupling.is_interrupted = is_interrupted;
    if (config.is_steered && !config.coupling.steering)
      config.coupling.steering = std::make_shared<couple::SteeringDesk>();
    return prepared;
  }
};

SteppedRun::SteppedRun(const comm::Communicator& world, RunConfig config, const std::string& folder, RunStart start,
                       std::function<void(const std::string& line)> progress)
    : impl_(std::make_unique<Impl>(world, std::move(config), folder, std::move(start), std::move(progress))) {}
SteppedRun::~SteppedRun() = default;

bool SteppedRun::computes() const {
  return impl_->session.computes();
}
void SteppedRun::serve() {
  impl_->session.serve();
}
Simulation& SteppedRun::simulation() {
  return impl_->steps->simulation();
}
core::Bill& SteppedRun::bill() {
  return impl_->bill;
}
void SteppedRun::begin() {
  impl_->steps->begin(impl_->start);
}
bool SteppedRun::goes_on() {
  return impl_->steps->goes_on();
}
void SteppedRun::foresee() {
  impl_->steps->foresee();
}
bool SteppedRun::take_step() {
  return impl_->steps->take_step();
}
void SteppedRun::step_taken(double seconds) {
  impl_->steps->step_taken(seconds);
}
void SteppedRun::progress() {
  impl_->session.progress();
}
RunStatus SteppedRun::end(bool has_state) {
  return impl_->steps->end(has_state);
}

}  // namespace sidestream::sims
