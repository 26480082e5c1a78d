#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sims/host/host_state.hpp"

namespace sidestream::sims {

/// What a run tells of a program that takes its own steps, as the table `[host]` of its configuration keeps it: for
/// whoever analyses what the run has left, or is sent.
struct HostDescription {
  std::string program;
  std::array<std::int32_t, 3> cells{};
  std::vector<double> lengths;
  bool expands = false, has_equal_blocks = true;
  std::vector<mesh::Quantity> quantities{};
  std::vector<couple::ExpectedSpecies> species{};
};

HostDescription description_of(const std::string& program, const HostState& state);
/// The table as a host's run keeps it.
core::Node node_of(const HostDescription& description);

/// The plan of such a run. Without a state it is that of one which another program has made.
class HostPlan final : public SimulationPlan {
 public:
  explicit HostPlan(HostDescription description) : description_(std::move(description)) {}

  /// `state` and `knobs` outlive the simulation.
  void attach(HostState& state, const std::vector<couple::Knob>& knobs) {
    state_ = &state;
    knobs_ = &knobs;
  }

  mesh::Int3 cells() const override { return {description_.cells[0], description_.cells[1], description_.cells[2]}; }
  double memory_bytes() const override { return 0.0; }
  std::vector<couple::ExpectedSpecies> species(const std::string& grid) const override {
    return grid.empty() ? description_.species : std::vector<couple::ExpectedSpecies>{};
  }
  bool has_equal_blocks() const override { return description_.has_equal_blocks; }
  couple::TimeKeeping times() const override { return {.has_redshift = description_.expands}; }
  std::vector<mesh::Quantity> quantities() const override { return description_.quantities; }
  nlohmann::json description() const override;
  std::map<std::string, std::string> physics() const override;
  std::unique_ptr<Simulation> make(const comm::Communicator& compute, const couple::Landings& landings,
                                   core::Bill& bill) const override;

 private:
  HostDescription description_;
  HostState* state_ = nullptr;
  const std::vector<couple::Knob>* knobs_ = nullptr;
};

}  // namespace sidestream::sims
