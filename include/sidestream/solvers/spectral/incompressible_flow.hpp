#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/solvers/spectral/forcing.hpp"
#include "sidestream/solvers/spectral/spectral_transform.hpp"
#include "sidestream/solvers/spectral/wave_grid.hpp"

namespace sidestream::solvers {

/// A scalar that the flow carries: dc/dt + u.grad c = D lap c - G.u, for what is left of it beside a mean of gradient
/// G.
struct PassiveScalar {
  std::string name;
  double diffusivity = 0.0;
  std::array<double, 3> gradient{};

  bool has_gradient() const { return gradient != std::array<double, 3>{}; }
};

enum class TimeScheme { rk2, rk4 };

struct FlowConfig {
  TimeScheme scheme = TimeScheme::rk4;
  double viscosity = 0.0;  ///< kinematic [length^2 / time]
  double rotation = 0.0;   ///< of the frame about z [radians / time]
  std::uint64_t seed = 1;  ///< of forces and of displacements of the grid
  ForcingConfig forcing{};
  std::vector<PassiveScalar> scalars{};
};

/// Volume averages.
struct FlowSums {
  double energy = 0.0;       ///< <u.u> / 2
  double dissipation = 0.0;  ///< nu <|curl u|^2>
  double power = 0.0;        ///< of the force at the end of the step
  struct Scalar {
    double variance = 0.0;     ///< <c^2>
    double dissipation = 0.0;  ///< 2 D <|grad c|^2>
    double production = 0.0;   ///< -2 <c u>.G
  };
  std::vector<Scalar> scalars{};
};

/// What went into a flow since its start and what was lost, each integrated with the scheme of the flow.
struct EnergyBudget {
  double start = 0.0, injected = 0.0, dissipated = 0.0;
  /// What the flow has too much, relative to the larger of its first energy and what went in.
  double error(double energy) const;
};

/// A stage of a step, to whatever moves with the flow: its rate of change at this stage, times `next`, leads from the
/// beginning of the step to the next stage; those of all stages, each times its `sum`, to the end of the step.
struct FlowStage {
  double next = 0.0, sum = 0.0;
  bool is_first = false, is_last = false;
};

/// Incompressible flow in a periodic box by a pseudo-spectral method. Its state is the spectra of the velocity and the
/// scalars: u(x) = sum_k u(k) exp(i k.x) over the modes of `grid`, each an amplitude of its own.
///
///     du/dt = -P div(u u) - nu k^2 u - 2 P Omega x u + f,     P = 1 - k k / k^2,
///
/// the viscous term and rotation solved exactly (integrating factors), the rest by Runge-Kutta of second (Rogallo 1981)
/// or fourth order. A stage takes eight transforms (three velocities, five products: Basdevant 1983, J. Comput. Phys.
/// 50, 209), and four for each scalar. The bits do not depend on the ranks.
///
/// `Real` (float or double) is what fields and spectra hold and transforms compute with. What is done with a mode is
/// done in doubles, and sums are exact in both. Of floats the divergence that rounding makes is taken away after each
/// step.
template <typename Real>
class IncompressibleFlow {
 public:
  /// Collective, as are all members that are not `const`.
  IncompressibleFlow(const comm::Communicator& comm, const WaveGrid& grid, const FlowConfig& config, core::Bill& bill);
  ~IncompressibleFlow();
  IncompressibleFlow(IncompressibleFlow&&) noexcept;

  const WaveGrid& grid() const;
  double rotation() const;
  /// The modes of each rank, those of a real grid of `waves()` cells, and the cells: both as it suits the transform.
  const mesh::Layout& modes() const;
  mesh::Int3 waves() const;
  const mesh::Layout& cells() const;
  int stages() const;
  /// How many cells a step may cross, at the most, to be stable (|u|/dx + |v|/dy + |w|/dz times the time step).
  double largest_courant() const;

  /// Velocity, then the scalars.
  const Spectrum<Real>& state() const;
  Spectrum<Real>& state();
  /// Fields given on `cells()`, as many as the state has components, become the state; waves that are not kept and
  /// divergence are left out.
  void set(const mesh::Field<Real>& fields);
  /// Leaves out waves that are not kept, and the divergence.
  void project();
  /// The largest |k.u| over k |u| in root mean square: what `project` would take away.
  double divergence() const;

  /// After the state was written, before the step `step`. `forcing`: what `forcing_state` gave; none: it starts here.
  void begin(std::int64_t step, std::span<const double> forcing = {});
  std::vector<double> forcing_state() const;

  /// From now on: the viscosity, the diffusivities and mean gradients of the scalars, and the power of a force that is
  /// given by it.
  void set_coefficients(double viscosity, std::span<const PassiveScalar> scalars, double power);

  /// One step, the `step`-th, of the length that `choose` says for a flow that crosses at most so many cells in a unit
  /// of time (NaN where the state is not finite). Returns the length.
  double advance(std::int64_t step, const std::function<double(double rate)>& choose) {
    return advance(step, choose, {});
  }
  /// The same, with what moves with the flow: `carry` is called at each stage by all ranks, with the modes of the
  /// velocity then (on `modes()`), which it may overwrite.
  using Carry = std::function<void(const FlowStage&, Spectrum<Real>& velocity)>;
  double advance(std::int64_t step, const std::function<double(double rate)>& choose, const Carry& carry);

  const FlowSums& sums() const;
  EnergyBudget& budget();
  const EnergyBudget& budget() const;
  /// Bytes of this rank's fields.
  std::size_t size_bytes() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sidestream::solvers
