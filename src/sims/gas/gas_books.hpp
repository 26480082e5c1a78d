#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/solvers/gas_heating.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace sidestream::sims {

/// What was done to the gas of a run beside solving its equations, on all ranks and in all steps, restarts included.
/// The sums of a step are exact and are added up step by step: the same on any ranks, and after a restart.
class GasBooks {
 public:
  explicit GasBooks(bool is_heated = false) : is_heated_(is_heated) {}

  /// Enters what was done in a step. Collective.
  void enter(const comm::Communicator& comm, const solvers::HydroBooks& step,
             const solvers::HeatingBooks& heating = {});

  std::int64_t floored_cells() const;
  /// Added by floors and repairs, heating and cooling.
  double energy() const;
  nlohmann::json to_json() const;
  /// What is wrong with them, in a sentence; empty if nothing is. A repair hides numbers that became too large within a
  /// step, the books do not.
  std::string problem() const;

  /// For checkpoints.
  void store(std::map<std::string, double>& attributes) const;
  void restore(const std::map<std::string, double>& attributes);

 private:
  static constexpr std::size_t cell_counts = 4, amounts = 3;

  // Without heating, the last of each has no meaning.
  std::size_t told_counts() const { return is_heated_ ? cell_counts : cell_counts - 1; }
  std::size_t told_amounts() const { return is_heated_ ? amounts : amounts - 1; }

  bool is_heated_;
  std::array<std::int64_t, cell_counts> cells_{};
  std::array<double, amounts> amounts_{};
};

}  // namespace sidestream::sims
