#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sidestream/core/view.hpp"
#include "sidestream/mesh/box.hpp"
#include "sidestream/solvers/hydro.hpp"
#include "solvers/hydro/hydro_rows.hpp"

// Cells that lost nearly all of their mass or energy in a step fall back to first order at their faces.

namespace sidestream::solvers {

/// A face at which the flux is replaced because a cell beside it came out unphysical: the change of the flux of mass,
/// momentum and total energy (times dt / dx). `cell` is the one above the face.
struct FaceRepair {
  int axis;
  mesh::Int3 cell;
  std::array<double, 5> change;
};

/// A cell as it was before the step.
struct CellBefore {
  mesh::Int3 cell;
  std::array<double, gas_components> gas;
};

/// What a sweep found in need of repair.
struct Repairs {
  std::int64_t cells = 0;           ///< that came out unphysical
  std::vector<FaceRepair> faces;    ///< theirs
  std::vector<CellBefore> touched;  ///< they and the cells at the other sides of these faces
};

CellBefore cell_before(mesh::Int3 cell, ConstRows state, int i);

/// The flux of Harten, Lax and van Leer of mass, momentum and total energy between the cells `i` of two rows: keeps
/// density and pressure positive.
std::array<double, 5> first_order_flux(const RowContext& context, ConstRows lower, ConstRows upper, int i, int axis);

/// Repairs cells and enters what that adds into the books, where a density of 1 is `volume` and one of energy `worth`.
struct Repairman {
  /// Chooses the internal energy of a cell anew and holds it to the floors.
  void settle(const CellBefore& before) const;

  const HydroConfig& config;
  core::View4<double> state;
  double volume, worth;
  HydroBooks& books;
};

/// Repairs what a sweep of `box` found.
void repair(const Repairman& man, const mesh::Box& box, Repairs& repairs);

}  // namespace sidestream::solvers
