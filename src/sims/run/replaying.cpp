#include "sims/run/replaying.hpp"

#include <memory>

#include "sidestream/couple/edit_array.hpp"

namespace sidestream::sims {

namespace {

constexpr double no_deadline_s = 1e9;  // some thirty years

// It takes however long what it did has taken.
void forget_deadlines(couple::CouplingConfig& config) {
  for (couple::Task& task : config.tasks) {
    task.deadline_s.reset();
    if (task.isolation) task.isolation->deadline_s = no_deadline_s;
  }
}

}  // namespace

void replay_decisions(const comm::Communicator& world, const std::string& path, couple::CouplingConfig& coupling) {
  coupling.replay = std::make_shared<const couple::Replay>(couple::Replay::read(world, path));
  forget_deadlines(coupling);
}

void take_edit_arrays(const comm::Communicator& world, const couple::Replay& replay, const io::RunFolder& folder) {
  world.agree_on([&] {
    if (world.rank() != 0) return;
    for (const couple::RegionEdit& edit : replay.edits_by_arrays())
      couple::copy_edit_array(replay.folder(), folder.path(), edit);
  });
}

}  // namespace sidestream::sims
