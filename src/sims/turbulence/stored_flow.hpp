#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/solvers/spectral/kept_waves.hpp"

namespace sidestream::sims {

/// The waves of a flow in a file: in planes, or those that are kept alone, with all components of the velocity or two.
class StoredFlow {
 public:
  /// Of `file`, which outlives it and of which nothing is read. Throws core::Error where it holds no waves. Local.
  explicit StoredFlow(const mesh::Snapshot& file);

  /// The waves are the modes of a real grid of so many cells.
  mesh::Int3 waves() const { return waves_; }
  /// The blocks on which the file is read.
  mesh::Layout blocks(int ranks) const;
  /// The components `names`, the first three those of the velocity, on `solvers::mode_planes(waves(), comm.size())`, as
  /// floats or doubles whatever the file has. Collective.
  template <typename Real>
  solvers::Spectrum<Real> read(const comm::Communicator& comm, const std::vector<std::string>& names) const;

 private:
  template <typename Real>
  solvers::Spectrum<Real> amplitudes(const comm::Communicator& comm, const std::string& name) const;
  template <typename Real>
  void recover(solvers::Spectrum<Real>& state) const;

  const mesh::Snapshot& file_;
  std::optional<solvers::KeptWaves> kept_;  // where they lie so
  bool has_two_ = false;                    // components
  mesh::Int3 waves_;
};

}  // namespace sidestream::sims
