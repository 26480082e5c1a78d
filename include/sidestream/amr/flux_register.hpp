#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "sidestream/amr/interpolation.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::amr {

/// Where a solver leaves the fluxes through the sides of a block: [axis][0: low, 1: high], each a view of as many
/// components as the flux has, indexed by the cell above the face. Sides that nobody asks for have no components.
using SideViews = std::array<std::array<core::View4<double>, 2>, 3>;

/// Fluxes of one step of a level through those sides of this rank's blocks at which levels meet.
class SideFluxes {
 public:
  SideFluxes() = default;
  SideFluxes(const mesh::Hierarchy& hierarchy, int level, int rank, int components);

  SideViews views(int block);
  /// The faces of a side that is asked for, by the cell above each.
  const mesh::Box& faces(int block, int axis, int side) const {
    return sides_[static_cast<std::size_t>(block)][static_cast<std::size_t>(axis)][static_cast<std::size_t>(side)]
        .faces;
  }
  int components() const { return components_; }

 private:
  struct Side {
    std::ptrdiff_t offset = -1;
    mesh::Box faces;
  };
  int components_ = 0;
  std::vector<std::array<std::array<Side, 2>, 3>> sides_;  // of each local block
  std::vector<double> data_;
};

/// The difference between what fine blocks and their coarser neighbours say went through the faces between them, and
/// the correction of the coarse cells by it (Berger & Colella 1989, J. Comput. Phys. 82, 64): what leaves one cell
/// enters the other, to round-off. Fluxes that agree to the bit leave no correction.
class FluxRegister {
 public:
  /// Called with what was changed.
  using Corrected = std::function<void(int block, mesh::Int3 cell)>;

  /// Between `coarse_level` and the level above it. Collective.
  FluxRegister(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy, int coarse_level, int components);
  ~FluxRegister();
  FluxRegister(FluxRegister&&) noexcept;

  /// Starts a coarse step: forgets what there was. Local.
  void reset();
  /// Adds the fluxes of a step `dt` of the coarse level, or of one of the steps of the fine level. Local.
  void add_coarse(SideFluxes& fluxes, double dt);
  void add_fine(SideFluxes& fluxes, double dt);
  /// Corrects the first components of the cells of coarse leaves beside the fine level, and tells of each. Collective.
  void apply(mesh::Field<double>& coarse, const Corrected& corrected = {});

 private:
  struct Axis;
  void correct_block(mesh::Field<double>& coarse, int block, const Corrected& corrected) const;

  int components_;
  RefinedAxes refined_;
  std::vector<Axis> axes_;
};

}  // namespace sidestream::amr
