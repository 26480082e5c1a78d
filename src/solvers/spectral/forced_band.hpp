#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/solvers/spectral/forcing.hpp"
#include "sidestream/solvers/spectral/incompressible_flow.hpp"
#include "solvers/spectral/mode_rows.hpp"

namespace sidestream::solvers {

/// The band of a forcing among the modes of a rank.
class LocalBand {
 public:
  LocalBand(const ForcedBand& band, const ModeRows* rows);

  struct Place {
    std::size_t wave = 0;  ///< of the band
    int i = 0;             ///< its place in the row
  };
  /// Those in a row of modes.
  const std::vector<Place>& in_row(int k, int j) const;

 private:
  std::map<std::pair<int, int>, std::vector<Place>> rows_;
};

/// What drives a flow, and the amplitudes of the waves that are driven: on every rank those of all.
class DrivenBand {
 public:
  DrivenBand(const WaveGrid& grid, const FlowConfig& config, const ModeRows* rows);

  Forcing& forcing() { return *forcing_; }
  const Forcing& forcing() const { return *forcing_; }
  const LocalBand& local() const { return local_; }
  BandAmplitudes& velocity() { return velocity_; }
  const BandAmplitudes& force() const { return force_; }

  /// Forgets the velocities, which each rank then enters for its own waves; `share` gives them to all. Collective.
  void clear();
  void share(const comm::Communicator& comm);
  /// Makes the force on the present velocities. Returns its power.
  double make_force();

 private:
  ForcedBand band_;
  LocalBand local_;
  std::unique_ptr<Forcing> forcing_;
  BandAmplitudes velocity_, force_;
};

}  // namespace sidestream::solvers
