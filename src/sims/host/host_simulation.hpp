#pragma once

#include <string>
#include <vector>

#include "sims/host/host_state.hpp"

namespace sidestream::sims {

/// The state of another program as that of a simulation; its steps are the program's.
class HostSimulation final : public Simulation {
 public:
  HostSimulation(HostState& state, const std::vector<couple::Knob>& knobs, const couple::Landings& landings)
      : state_(state), knobs_(knobs), landings_(landings) {}

  void initialize() override {}
  void restore(const mesh::Snapshot& state) override {
    state_.take(state);
    is_restarted_ = true;
  }
  mesh::LevelLayouts blocks_for(const mesh::Snapshot& file) const override;
  void foresee(const std::vector<std::string>& quantities) override { foreseen_ = quantities; }
  void advance() override { core::require(false, "the program takes its own steps"); }
  void check_state() const override {}
  mesh::Moment moment() const override { return state_.moment; }
  double progress() const override { return state_.progress; }
  std::string stop_reason() const override { return state_.stop_reason; }
  nlohmann::json status() const override;
  nlohmann::json summary() const override;
  std::vector<couple::Knob> knobs() override { return knobs_; }
  mesh::Snapshot snapshot() override { return state_.snapshot(); }

  bool is_restarted() const { return is_restarted_; }
  const std::vector<std::string>& foreseen() const { return foreseen_; }
  const couple::Landings& landings() const { return landings_; }

 private:
  HostState& state_;
  const std::vector<couple::Knob>& knobs_;
  couple::Landings landings_;
  std::vector<std::string> foreseen_;
  bool is_restarted_ = false;
};

}  // namespace sidestream::sims
