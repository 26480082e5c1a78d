#pragma once

#include <array>
#include <span>
#include <vector>

#include "sidestream/amr/flux_register.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/mesh/box.hpp"
#include "sidestream/solvers/hydro.hpp"
#include "solvers/hydro/hydro_repair.hpp"
#include "solvers/hydro/hydro_rows.hpp"
#include "solvers/hydro/plane_ring.hpp"

namespace sidestream::solvers {

/// One step of the gas in boxes of cells, in place, plane by plane along z: new planes wait until the old ones are no
/// longer needed. Scratch memory is taken once and used for many boxes.
class HydroSweep {
 public:
  /// For boxes of at most `largest` cells an axis; `in_slices`: some follow others along y. Axes that are not `active`
  /// have one cell and no fluxes. `source`, if any, has advanced the gas by half a step where it meets at faces.
  HydroSweep(const HydroConfig& config, const std::array<double, 3>& dt_over_dx, const std::array<bool, 3>& active,
             mesh::Int3 largest, bool in_slices, const GasSource* source = nullptr);

  /// Advances the cells of `box` in `state`, which has `hydro_ghost` cells around them. The fluxes through the sides of
  /// the box go to those of `sides` that have components. An energy density of 1 in a cell goes into the books as
  /// `worth`; where that is 0, nothing does. `follows`: the cells below along y are those of the box before, which have
  /// been advanced already and are remembered as they were.
  void advance(mesh::Box box, core::View4<double> state, Repairs& repairs, const amr::SideViews& sides = {},
               double worth = 1.0, bool follows = false);

  const HydroBooks& books() const { return books_; }

 private:
  struct Correction {
    int axis;
    PlaneRing* loss;
  };
  struct Range {
    int begin, end;
  };
  /// Some rows of a plane, and some cells of each. Kernels treat them as one long row, the cells between them included:
  /// those come out meaningless, and nothing reads them.
  struct Patch {
    Range rows, row;
  };
  /// Riemann problems at the faces normal to `axis` below the cells of plane `k` (and above the highest along x and y):
  /// with the traced states or, where there are `corrections`, with corrected ones, those of the upper sides in
  /// `upper`. What the fluxes take from the cells between them goes to `loss`, a `parts`-th of it; null: the fluxes are
  /// final.
  struct Faces {
    int axis, k;
    std::span<const Correction> corrections;
    PlaneRing *upper, *flux, *loss;
    double parts;
  };

  bool is_active(int axis) const { return active_[static_cast<std::size_t>(axis)]; }
  int ghost(int axis, int width) const { return is_active(axis) ? width : 0; }
  int dimensions() const;
  Range cells(int axis, int grown) const { return {-ghost(axis, grown), extent_[axis] + ghost(axis, grown)}; }
  Rows owned_row(int k, int j) const;
  ConstRows state_row(int k, int j);

  Patch patch(int grown_x, int grown_y) const { return {cells(1, grown_y), cells(0, grown_x)}; }
  Patch cells_of(int axis, std::span<const Correction> corrections) const;
  static int length(Range range) { return range.end - range.begin; }
  int length(const Patch& patch) const { return length(flat(patch)); }
  /// The places of a patch in a plane, counted from its cell 0 on, one row behind the other, from a whole number of
  /// vectors on: in the first cache, a vector across two lines costs as much as two.
  Range flat(const Patch& patch) const {
    return {(patch.rows.begin * pitch_ + patch.row.begin) & ~row_padding,
            (patch.rows.end - 1) * pitch_ + patch.row.end};
  }
  static Rows at(PlaneRing& ring, int k, Range places) { return ring.at(k, 0).shifted(places.begin); }
  static Rows places(PlaneRing* ring, int k, const PieceBuffer& buffer, Range range) {
    return ring != nullptr ? at(*ring, k, range) : buffer.at(range.begin);
  }
  Rows at(PlaneRing& ring, int k, const Patch& patch) const { return at(ring, k, flat(patch)); }

  void load_row(int k, int j, Range row, Rows primitive);
  void load_plane(int k);
  std::array<ConstRows, 5> stencil(int axis, int k, const Patch& patch);
  Neighbors neighbors(PlaneRing& ring, int axis, int k, const Patch& patch);
  void measure_slopes(int axis, int k);
  void measure_shocks(int axis, int k);
  std::array<const double*, 3> shocks(int axis, int k, const Patch& patch);
  std::array<const double*, 3> shocks_along(int axis, int k, const Patch& patch);
  void trace_plane(int k);
  void trace_along_rows(int k);
  void measure_shocks_along_row(Rows primitive);
  void measure_compressions(int k);
  bool flattens() const { return context_.flattening != Flattening::none; }
  bool flattens_all_axes_alike() const { return context_.flattening == Flattening::compressions; }
  void solve_plane(int k);
  void solve_first(int k);
  void solve_second(int k);
  void solve_last(int k);
  void solve_last_faces(int axis, int k);
  void solve(const Faces& of);
  void correct_cells(const Faces& of, Range cells);
  void solve_faces(const Faces& of, Range faces);
  void take_losses(const Faces& of, Range cells);
  void update_plane(int k, Repairs& repairs);
  Surroundings surroundings(int k, int j);
  const double* velocity_along_row(int k, int j);
  void record_plane(int k);
  void record_row(core::View4<double> to, int axis, int k, int j, Range row);
  void find_repairs(int k, int j, const Divergence& fluxes, ConstRows out, Repairs& repairs);
  void put_plane(int k);

  RowContext context_;
  double density_floor_;
  bool in_slices_;
  const GasSource* source_;
  std::array<double, 3> dt_over_dx_;
  std::array<bool, 3> active_;

  mesh::Int3 lo_, extent_;  // of the box being advanced; loops below count cells from its low corner
  core::View4<double> state_;
  bool follows_ = false;
  amr::SideViews sides_;
  bool has_sides_ = false;
  double worth_ = 1.0;
  HydroBooks books_;

  int pitch_;  // of all planes below

  PlaneRing primitive_, sound_, unresolved_;
  PlaneRing wide_row_, given_;                        // a row, the first with the ghost cells of x
  PlaneRing fresh_;                                   // new planes that wait
  PlaneRing edge_;                                    // last rows of a box as they were, for the one that follows
  std::array<PlaneRing, 3> slope_;                    // along each axis; along x of one row
  std::array<PlaneRing, 3> shock_;                    // along each axis; along x of one row
  PlaneRing compression_;                             // what flattens all axes alike
  std::array<PlaneRing, 3> lower_face_, upper_face_;  // states traced to the faces, by axis
  PieceBuffer lower_piece_, upper_piece_;             // the same, corrected
  std::array<PlaneRing, 3> upper_z_;                  // corrected along x, y and both: for the next plane
  PieceBuffer flux_piece_;                            // in the predictor
  PlaneRing first_z_, no_flux_;
  std::array<PlaneRing, 2> second_z_;  // fluxes along z, by the axis that corrected them
  std::array<PlaneRing, 3> last_;      // fluxes, by axis
  std::array<PlaneRing, 3> first_loss_;
  std::array<std::array<PlaneRing, 3>, 3> second_loss_;  // [axis][the axis that corrected the fluxes]
};

}  // namespace sidestream::solvers
