#pragma once

#include <optional>
#include <vector>

#include "sidestream/core/compact_sum.hpp"
#include "sidestream/solvers/spectral/incompressible_flow.hpp"
#include "sidestream/solvers/spectral/spectral_transform.hpp"
#include "solvers/spectral/forced_band.hpp"
#include "solvers/spectral/mode_rows.hpp"
#include "solvers/spectral/time_scheme.hpp"

namespace sidestream::solvers {

/// Modes of the full spectrum that a stored one of index `x` stands for.
inline double mode_weight(int x) {
  return x == 0 ? 1.0 : 2.0;
}

/// Sums over modes of a step: k^2 |u|^2 of the state of each stage (the first one's is known), and of the state at its
/// end |u|^2, k^2 |u|^2 and, of each scalar, |c|^2, k^2 |c|^2, c u.G.
struct StageSums {
  StageSums(std::size_t scalars, std::size_t stages) : of_stage(stages), at_end(2 + 3 * scalars) {}

  std::vector<core::CompactSum> of_stage, at_end;

  std::vector<core::ExactSum> exact() const {
    std::vector<core::ExactSum> all(of_stage.size() + at_end.size());
    for (std::size_t n = 0; n < of_stage.size(); ++n) of_stage[n].add_to(all[n]);
    for (std::size_t n = 0; n < at_end.size(); ++n) at_end[n].add_to(all[of_stage.size() + n]);
    return all;
  }
};

/// Fields and plans of a flow. What is called for a row of modes takes its indices along z and y.
template <typename Real>
struct IncompressibleFlow<Real>::Parts {
  comm::Communicator comm;
  WaveGrid grid;
  FlowConfig config;
  SchemeStages scheme;
  core::Bill& bill;
  SpectralTransform<Real> transform;
  Spectrum<Real> base, sum, products;
  Spectrum<Real> next;                     // the first components of the products
  Spectrum<Real> sources;                  // G.u of the state of a stage, for each scalar
  mesh::Field<Real> real;                  // velocity and scalars, then products
  std::optional<Spectrum<Real>> carrying;  // a copy of the velocity, for what moves with the flow
  std::optional<ModeRows> rows;
  std::optional<DrivenBand> band;
  std::vector<Decay> decays;  // of the velocity, of each scalar
  double decay_step = -1.0;
  std::vector<double> power_of_stage;
  std::vector<double> squares, steepness;  // of a row
  FlowSums sums;
  EnergyBudget budget;

  Parts(const comm::Communicator& its_comm, const WaveGrid& its_grid, FlowConfig its_config, core::Bill& its_bill);

  int scalars() const { return static_cast<int>(config.scalars.size()); }
  int fields() const { return 3 + scalars(); }

  std::array<double, 3> displacement(std::int64_t step, std::size_t stage) const;
  std::optional<Displacement> phases(std::int64_t step, std::size_t stage) const;
  double fastest() const;
  void multiply();
  void set_time_step(double dt);
  void begin_step(std::int64_t step);
  void copy_velocity(std::int64_t step, std::size_t stage);
  void share_band();
  void adjust_band(double dt);
  void measure();
  void take(const StageSums& totals, double dt);

  /// From the spectra of the products to the state that the next stage begins with.
  void finish_stage(std::int64_t step, std::size_t stage, double dt, StageSums& totals);
  void advance_row(const StageWeights& weights, double dt, int k, int j);
  void add_force(const StageWeights& weights, double dt, int k, int j);
  void rotate(StageKind kind, double time, int k, int j);
  void remove_rounding(int k, int j);
  void clear_tail(int k, int j);
  /// Of the velocity among the components of `state`.
  void keep_sources(Spectrum<Real>& state, int k, int j);
  void enter_band(int k, int j);
  void displace_next(const Displacement& by, int k, int j);
  void add_to_sums(Spectrum<Real>& state, int k, int j, bool is_end, std::size_t stage, StageSums& totals);

  ComplexRow<Real> row_of(Spectrum<Real>& spectrum, int component, int k, int j) {
    return &spectrum.view(0)(component, k, j, rows->box().lo.x);
  }
  /// The velocity among the components.
  std::array<ComplexRow<Real>, 3> velocity_of(Spectrum<Real>& spectrum, int k, int j) {
    return {row_of(spectrum, 0, k, j), row_of(spectrum, 1, k, j), row_of(spectrum, 2, k, j)};
  }
};

}  // namespace sidestream::solvers
