#pragma once

#include "sidestream/amr/interpolation.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "solvers/gravity/level_poisson.hpp"

namespace sidestream::solvers {

/// Carries potentials, residuals and corrections between the blocks of two grids of which one has cells half as large.
/// The fine blocks' outlines on the coarse grid, with a layer of ghost cells, are where both meet. Fields have one
/// component.
class LevelLink {
 public:
  /// The coarse boxes cover the fine ones. Collective.
  LevelLink(const comm::Communicator& comm, const mesh::Layout& coarse, const mesh::Layout& fine);

  /// Sets the covered cells of `coarse` to the averages of their children. Collective.
  void average_down(const mesh::Field<double>& fine, mesh::Field<double>& coarse);

  /// Adds `coarse` to `fine`, linearly interpolated along each axis; cells around the fine blocks that no coarse box
  /// owns count as zero. Collective.
  void add_interpolated(const mesh::Field<double>& coarse, mesh::Field<double>& fine);

  /// Gives the open sides of the fine blocks their values from the coarse potential around them, for the rule
  /// `interface_rule`. Collective.
  void set_sides(const mesh::Field<double>& coarse, LevelPoisson& fine);
  /// The same between two times: (1 - weight) * older + weight * newer. Collective.
  void set_sides(const mesh::Field<double>& older, const mesh::Field<double>& newer, double weight, LevelPoisson& fine);

 private:
  redistribute::Redistribution down_, up_;
  mesh::Field<double> averages_, outlines_;  // without and with ghost cells
};

/// The ghost cell behind a side at which levels meet is that of the parabola with the averages of the coarse cell (to
/// the fine cells' width interpolated along the side; half of it is the value) and of the two fine cells inside. So the
/// mean of the four fine gradients on a coarse face is the difference of the coarse cells with the covered one as the
/// average of its children: what leaves one level enters the other.
inline constexpr SideRule interface_rule{.near = 0.75, .far = -0.25};

/// Writes the cells `region` of `fine`, all components: linear interpolation of the coarse cells along each axis.
void interpolate_linear(core::View4<const double> coarse, core::View4<double> fine, const mesh::Box& region,
                        amr::RefinedAxes axes);

}  // namespace sidestream::solvers
