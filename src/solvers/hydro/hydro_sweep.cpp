#include "solvers/hydro/hydro_sweep.hpp"

#include <algorithm>
#include <cmath>

namespace sidestream::solvers {

namespace {

constexpr int third_axis(int a, int b) {
  return 3 - a - b;
}

/// Cells of a plane that the kernels go through one after the other: what one leaves is near when the next one reads
/// it.
constexpr int piece_size = 192;

/// The last place up to `end` that is a number of whole vectors from `begin` on.
constexpr int last_vector(int begin, int end) {
  return end <= begin ? begin : begin + ((end - begin) & ~row_padding);
}

RiemannSolver solver_named(const std::string& name) {
  return name == "hllc" ? RiemannSolver::hllc : RiemannSolver::two_shock;
}

Flattening flattening_named(const std::string& name) {
  return name == "none" ? Flattening::none : name == "shocks" ? Flattening::shocks : Flattening::compressions;
}

void copy_row(ConstRows from, int cells, Rows to) {
  for (int c = 0; c < gas_components; ++c) std::copy_n(from[c], cells, to[c]);
}

}  // namespace

HydroSweep::HydroSweep(const HydroConfig& config, const std::array<double, 3>& dt_over_dx,
                       const std::array<bool, 3>& active, mesh::Int3 largest, bool in_slices, const GasSource* source)
    : context_{Gas(config.gamma), solver_named(config.riemann), flattening_named(config.flattening),
               config.dual_energy_eta, std::max(config.internal_energy_floor, 1e-100)},
      density_floor_(config.density_floor),
      in_slices_(in_slices),
      source_(source),
      dt_over_dx_(dt_over_dx),
      active_(active),
      pitch_(largest.x + 2 * ghost(0, 1)) {
  const auto ring = [&](int planes, int components, int grown_y = 1) {
    return PlaneRing(is_active(2) ? planes : 1, components, -ghost(1, grown_y), largest.y + 2 * ghost(1, grown_y),
                     -ghost(0, 1), pitch_);
  };
  const auto wide = [&](int components, int grown) {
    return PlaneRing(1, components, 0, 1, -ghost(0, grown), largest.x + 2 * ghost(0, grown));
  };
  primitive_ = ring(9, primitives, hydro_ghost);
  sound_ = ring(1, sound_components);
  if (context_.eta > 0.0) unresolved_ = ring(2, 1);
  wide_row_ = wide(primitives, hydro_ghost);
  lower_piece_ = PieceBuffer(primitives, piece_size, 0);
  upper_piece_ = PieceBuffer(primitives, piece_size, in_vectors(pitch_ + row_padding));
  flux_piece_ = PieceBuffer(predictor_flux_components, piece_size, in_vectors(pitch_ + row_padding));
  if (flattens_all_axes_alike()) compression_ = ring(1, 1);
  no_flux_ = PlaneRing(1, final_flux_components, 0, 1, 0, largest.x + 1);
  given_ = PlaneRing(1, 1, 0, 1, 0, largest.x);
  fresh_ = PlaneRing(is_active(2) ? 2 : 1, gas_components, 0, largest.y, 0, in_vectors(largest.x));
  if (in_slices_)
    edge_ = PlaneRing(largest.z, gas_components, -hydro_ghost, hydro_ghost, -ghost(0, hydro_ghost),
                      largest.x + 2 * ghost(0, hydro_ghost));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!active_[axis]) continue;
    slope_[axis] = axis == 0 ? wide(primitives, 2) : axis == 1 ? ring(1, primitives, 2) : ring(3, primitives);
    if (flattens()) shock_[axis] = axis == 0 ? wide(1, 2) : axis == 1 ? ring(1, 1, 2) : ring(3, 1);
    lower_face_[axis] = ring(axis < 2 ? 2 : 1, primitives);
    upper_face_[axis] = ring(2, primitives);
    last_[axis] = ring(axis < 2 ? 1 : 2, final_flux_components);
    first_loss_[axis] = ring(1, loss_components);
    for (std::size_t other = 0; other < 3; ++other)
      if (other != axis && dimensions() == 3) second_loss_[axis][other] = ring(1, loss_components);
  }
  if (!is_active(2)) return;
  first_z_ = ring(2, predictor_flux_components);
  for (PlaneRing& each : second_z_) each = ring(2, predictor_flux_components);
  for (PlaneRing& each : upper_z_) each = ring(2, primitives);
}

int HydroSweep::dimensions() const {
  return static_cast<int>(std::count(active_.begin(), active_.end(), true));
}

void HydroSweep::advance(mesh::Box box, core::View4<double> state, Repairs& repairs, const amr::SideViews& sides,
                         double worth, bool follows) {
  lo_ = box.lo;
  extent_ = box.extent();
  state_ = state;
  follows_ = follows;
  sides_ = sides;
  has_sides_ =
      std::ranges::any_of(sides, [](const auto& axis) { return axis[0].components() > 0 || axis[1].components() > 0; });
  worth_ = worth;
  const Range planes = cells(2, 1);
  for (int k = planes.begin - ghost(2, 3); k < planes.begin + ghost(2, 3); ++k) load_plane(k);
  const auto measure = [&](int axis, int k) {
    measure_slopes(axis, k);
    if (flattens()) measure_shocks(axis, k);
  };
  if (is_active(2))
    for (int k = planes.begin - 1; k <= planes.begin; ++k) measure(2, k);
  for (int k = planes.begin; k < planes.end; ++k) {
    load_plane(k + ghost(2, 3));
    for (int axis = 1; axis < 3; ++axis)
      if (is_active(axis)) measure(axis, axis == 2 ? k + 1 : k);
    trace_plane(k);
    solve_plane(k);
    const int done = k - ghost(2, 1);
    if (done < 0 || done >= extent_.z) continue;
    update_plane(done, repairs);
    if (has_sides_) record_plane(done);
    if (done > 0) put_plane(done - 1);
  }
  put_plane(extent_.z - 1);
}

Rows HydroSweep::owned_row(int k, int j) const {
  return {&state_(0, lo_.z + k, lo_.y + j, lo_.x), state_.stride_component()};
}

ConstRows HydroSweep::state_row(int k, int j) {
  const bool is_remembered = follows_ && j < 0 && k >= 0 && k < extent_.z;
  return is_remembered ? ConstRows(edge_.at(k, j)) : ConstRows(owned_row(k, j));
}

// Replaces plane `k` of the state by the new one; its last rows are remembered for the box that follows.
void HydroSweep::put_plane(int k) {
  const Range wide = cells(0, hydro_ghost);
  for (int j = std::max(extent_.y - hydro_ghost, 0); j < extent_.y && in_slices_; ++j)
    copy_row(owned_row(k, j).shifted(wide.begin), length(wide), edge_.at(k, j - extent_.y).shifted(wide.begin));
  for (int j = 0; j < extent_.y; ++j) copy_row(fresh_.at(k, j), extent_.x, owned_row(k, j));
}

// The primitive variables of the cells `row` of a row; `primitive` begins at its cell 0.
void HydroSweep::load_row(int k, int j, Range row, Rows primitive) {
  const Rows to = primitive.shifted(row.begin);
  compute_primitives(context_, length(row), state_row(k, j).shifted(row.begin), to);
  if (source_ != nullptr) source_->advance_half(length(row), to[primitive_rho], to[primitive_p]);
}

void HydroSweep::load_plane(int k) {
  const Range planes = cells(2, 1), rows = cells(1, k >= planes.begin && k < planes.end ? hydro_ghost : 1);
  for (int j = rows.begin; j < rows.end; ++j) load_row(k, j, cells(0, 1), primitive_.at(k, j));
}

// The rows of `patch` and those one and two cells away along y or z.
std::array<ConstRows, 5> HydroSweep::stencil(int axis, int k, const Patch& patch) {
  std::array<ConstRows, 5> rows;
  for (int n = 0; n < 5; ++n) {
    const int shift = n - 2;
    rows[static_cast<std::size_t>(n)] =
        axis == 1 ? at(primitive_, k, patch).shifted(shift * pitch_) : at(primitive_, k + shift, patch);
  }
  return rows;
}

Neighbors HydroSweep::neighbors(PlaneRing& ring, int axis, int k, const Patch& patch) {
  const Rows here = at(ring, k, patch);
  if (axis == 1) return {here.shifted(-pitch_), here, here.shifted(pitch_)};
  return {at(ring, k - 1, patch), here, at(ring, k + 1, patch)};
}

void HydroSweep::measure_slopes(int axis, int k) {
  const Patch all = patch(1, axis == 1 ? 2 : 1);
  compute_slopes(length(all), neighbors(primitive_, axis, k, all), at(slope_[static_cast<std::size_t>(axis)], k, all));
}

void HydroSweep::measure_shocks(int axis, int k) {
  const Patch all = patch(1, axis == 1 ? 2 : 1);
  compute_shock_strength(context_, length(all), axis, stencil(axis, k, all),
                         at(shock_[static_cast<std::size_t>(axis)], k, all)[0]);
}

std::array<const double*, 3> HydroSweep::shocks(int axis, int k, const Patch& patch) {
  if (!flattens()) return {};
  if (flattens_all_axes_alike()) {
    const double* all = at(compression_, 0, patch)[0];
    return {all, all, all};
  }
  return shocks_along(axis, k, patch);
}

std::array<const double*, 3> HydroSweep::shocks_along(int axis, int k, const Patch& patch) {
  PlaneRing& ring = shock_[static_cast<std::size_t>(axis)];
  const double* here = at(ring, k, patch)[0];
  if (axis == 1) return {here - pitch_, here, here + pitch_};
  return {at(ring, k - 1, patch)[0], here, at(ring, k + 1, patch)[0]};
}

void HydroSweep::trace_plane(int k) {
  const Patch all = patch(1, 1);
  compute_sound(context_, length(all), at(primitive_, k, all), at(sound_, 0, all));
  if (context_.eta > 0.0)
    for (int j = all.rows.begin; j < all.rows.end; ++j)
      compute_unresolved(all.row.end - all.row.begin, state_row(k, j).shifted(all.row.begin),
                         unresolved_.at(k, j)[0] + all.row.begin);
  if (flattens_all_axes_alike()) measure_compressions(k);
  if (is_active(0)) trace_along_rows(k);
  for (int axis = 1; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (is_active(axis))
      trace(length(all), axis, dt_over_dx_[a], neighbors(primitive_, axis, k, all), neighbors(slope_[a], axis, k, all),
            at(sound_, 0, all), shocks(axis, k, all), at(lower_face_[a], k, all), at(upper_face_[a], k, all));
  }
}

// The largest strength of the three axes.
void HydroSweep::measure_compressions(int k) {
  const Patch all = patch(1, 1);
  const Range row = cells(0, 1);
  std::fill_n(at(compression_, 0, all)[0], length(all), 0.0);
  for (int j = all.rows.begin; is_active(0) && j < all.rows.end; ++j) {
    const Rows primitive = wide_row_.at(0, 0);
    load_row(k, j, cells(0, hydro_ghost), primitive);
    measure_shocks_along_row(primitive);
    const double *const shock = shock_[0].at(0, 0)[0] + row.begin, *const p = primitive[primitive_p] + row.begin;
    raise_strength(length(row), p - 1, p + 1, {shock - 1, shock, shock + 1}, compression_.at(0, j)[0] + row.begin);
  }
  for (int axis = 1; axis < 3; ++axis) {
    if (!is_active(axis)) continue;
    const Neighbors around = neighbors(primitive_, axis, k, all);
    raise_strength(length(all), around[0][primitive_p], around[2][primitive_p], shocks_along(axis, k, all),
                   at(compression_, 0, all)[0]);
  }
}

// Of a row with all its ghost cells.
void HydroSweep::measure_shocks_along_row(Rows primitive) {
  const Range shocked = cells(0, 2);
  std::array<ConstRows, 5> around;
  for (int n = 0; n < 5; ++n) around[static_cast<std::size_t>(n)] = primitive.shifted(shocked.begin + n - 2);
  compute_shock_strength(context_, length(shocked), 0, around, shock_[0].at(0, 0)[0] + shocked.begin);
}

// Along x, each row needs more cells than the planes have.
void HydroSweep::trace_along_rows(int k) {
  const Range rows = cells(1, 1), row = cells(0, 1), wide = cells(0, hydro_ghost), shocked = cells(0, 2);
  const Rows primitive = wide_row_.at(0, 0);
  const Rows slope = slope_[0].at(0, 0);
  const auto neighbors_of = [](ConstRows of, int cell) {
    return Neighbors{of.shifted(cell - 1), of.shifted(cell), of.shifted(cell + 1)};
  };
  std::array<const double*, 3> strength{};
  for (int j = rows.begin; j < rows.end; ++j) {
    load_row(k, j, wide, primitive);
    if (flattens_all_axes_alike()) {
      strength.fill(compression_.at(0, j)[0] + row.begin);
    } else if (flattens()) {
      measure_shocks_along_row(primitive);
      for (int n = 0; n < 3; ++n) strength[static_cast<std::size_t>(n)] = shock_[0].at(0, 0)[0] + row.begin + n - 1;
    }
    compute_slopes(shocked.end - shocked.begin, neighbors_of(primitive, shocked.begin), slope.shifted(shocked.begin));
    trace(row.end - row.begin, 0, dt_over_dx_[0], neighbors_of(primitive, row.begin), neighbors_of(slope, row.begin),
          sound_.at(0, j).shifted(row.begin), strength, lower_face_[0].at(k, j).shifted(row.begin),
          upper_face_[0].at(k, j).shifted(row.begin));
  }
}

// The fluxes that become known with the traced plane `k`: those normal to x and y up to that plane, those normal to z
// through its lower faces. Saltzman 1994: first fluxes from the traced states; second from states corrected along one
// other axis; last from states corrected along both. Of the first and second, only what they take from a cell is kept.
void HydroSweep::solve_plane(int k) {
  if (dimensions() > 1) solve_first(k);
  if (dimensions() == 3) solve_second(k);
  solve_last(k);
}

void HydroSweep::solve_first(int k) {
  const double parts = dimensions() == 3 ? 3.0 : 2.0;
  for (int axis = 0; axis < 3; ++axis)
    if (is_active(axis))
      solve(
          {axis, k, {}, nullptr, axis == 2 ? &first_z_ : nullptr, &first_loss_[static_cast<std::size_t>(axis)], parts});
}

void HydroSweep::solve_second(int k) {
  const auto solve_along = [&](int axis, int along, int plane) {
    const auto a = static_cast<std::size_t>(axis), b = static_cast<std::size_t>(along);
    const std::array corrections{Correction{along, &first_loss_[b]}};
    solve({axis, plane, corrections, axis == 2 ? &upper_z_[b] : nullptr, axis == 2 ? &second_z_[b] : nullptr,
           &second_loss_[a][b], 2.0});
  };
  solve_along(0, 1, k);
  solve_along(1, 0, k);
  solve_along(2, 0, k);
  solve_along(2, 1, k);
  if (k >= 1) {
    solve_along(0, 2, k - 1);
    solve_along(1, 2, k - 1);
  }
}

void HydroSweep::solve_last(int k) {
  const int plane = k - ghost(2, 1);  // all that touches this plane is known
  if (plane >= 0 && plane < extent_.z)
    for (int axis = 0; axis < 2; ++axis)
      if (is_active(axis)) solve_last_faces(axis, plane);
  if (is_active(2)) solve_last_faces(2, k);
}

// Corrected by the best fluxes along each other axis that do not know of `axis` yet.
void HydroSweep::solve_last_faces(int axis, int k) {
  std::array<Correction, 2> corrections{};
  std::size_t count = 0;
  for (int along = 0; along < 3; ++along) {
    const auto b = static_cast<std::size_t>(along);
    if (along != axis && is_active(along))
      corrections[count++] = {along, dimensions() == 3
                                         ? &second_loss_[b][static_cast<std::size_t>(third_axis(axis, along))]
                                         : &first_loss_[b]};
  }
  solve({axis, k, std::span(corrections).first(count), axis == 2 ? &upper_z_[2] : nullptr,
         &last_[static_cast<std::size_t>(axis)], nullptr, 1.0});
}

// The cells between faces normal to `axis` whose sides know of `corrections`: all of the plane but for the outermost
// along those axes.
HydroSweep::Patch HydroSweep::cells_of(int axis, std::span<const Correction> corrections) const {
  const auto grown = [&](int a) {
    return a == axis || std::ranges::any_of(corrections, [a](const Correction& c) { return c.axis == a; }) ? 0 : 1;
  };
  return patch(grown(0), grown(1));
}

// Piece by piece, so that what one kernel leaves is still in the first cache when the next one takes it up. A face
// needs the cells at both its sides, a loss the faces at both its sides, so each lags behind what it needs.
void HydroSweep::solve(const Faces& of) {
  const Patch inside = cells_of(of.axis, of.corrections);
  Patch both = inside, faces = inside;  // `both` with the outer cells, one of whose sides is at a face
  if (of.axis == 0) both.row = {inside.row.begin - 1, faces.row.end = inside.row.end + 1};
  if (of.axis == 1) both.rows = {inside.rows.begin - 1, faces.rows.end = inside.rows.end + 1};
  const int step = of.axis == 0 ? 1 : of.axis == 1 ? pitch_ : 0;  // between the faces of a cell in a plane
  const int kept = step > 0 ? in_vectors(step + row_padding) : 0;
  const bool is_corrected = !of.corrections.empty();
  const bool has_faces = of.axis < 2 || of.k >= 0, has_losses = of.loss != nullptr && (of.axis < 2 || of.k >= 1);
  const Range cells = flat(both), last_faces = flat(faces), last_losses = flat(inside);
  int solved = last_faces.begin, taken = last_losses.begin;
  for (Range piece{cells.begin, 0}; piece.begin < cells.end; piece.begin = piece.end) {
    piece.end = std::min(piece.begin + piece_size, cells.end);
    lower_piece_.move_to(piece.begin, 0);
    upper_piece_.move_to(piece.begin, is_corrected ? kept : 0);
    flux_piece_.move_to(piece.begin, has_losses ? kept : 0);
    if (is_corrected) correct_cells(of, piece);
    if (!has_faces) continue;
    const bool is_last = piece.end == cells.end;
    const Range next{solved, is_last ? last_faces.end : last_vector(solved, piece.end)};
    solve_faces(of, next);
    solved = next.end;
    if (!has_losses) continue;
    const Range lost{taken, is_last ? last_losses.end : last_vector(taken, solved - step)};
    take_losses(of, lost);
    taken = lost.end;
  }
}

void HydroSweep::correct_cells(const Faces& of, Range cells) {
  std::array<ConstRows, 2> losses;
  for (std::size_t n = 0; n < of.corrections.size(); ++n) losses[n] = at(*of.corrections[n].loss, of.k, cells);
  const auto a = static_cast<std::size_t>(of.axis);
  correct(length(cells), {at(lower_face_[a], of.k, cells), at(upper_face_[a], of.k, cells)},
          std::span(losses).first(of.corrections.size()),
          {lower_piece_.at(cells.begin), places(of.upper, of.k, upper_piece_, cells)});
}

// Fluxes through the faces below the cells `faces` of the plane.
void HydroSweep::solve_faces(const Faces& of, Range faces) {
  if (length(faces) <= 0) return;
  const auto a = static_cast<std::size_t>(of.axis);
  const bool is_corrected = !of.corrections.empty(), is_final = of.loss == nullptr;
  const int step = of.axis == 0 ? 1 : pitch_;
  const auto below = [&](PlaneRing& ring) {
    return of.axis == 2 ? at(ring, of.k - 1, faces) : at(ring, of.k, faces).shifted(-step);
  };
  const Rows flux = places(of.flux, of.k, flux_piece_, faces);
  const Rows upper = !is_corrected         ? below(upper_face_[a])
                     : of.upper != nullptr ? below(*of.upper)
                                           : upper_piece_.at(faces.begin - step);
  solve_riemann(context_, length(faces), of.axis, upper,
                is_corrected ? lower_piece_.at(faces.begin) : at(lower_face_[a], of.k, faces), is_final, flux);
  if (is_final && context_.eta > 0.0)
    carry_unresolved(length(faces), below(unresolved_)[0], at(unresolved_, of.k, faces)[0], flux);
}

// What leaves cells of the plane or, along z, of the one below, where both faces are known.
void HydroSweep::take_losses(const Faces& of, Range cells) {
  if (length(cells) <= 0) return;
  const int complete = of.axis == 2 ? of.k - 1 : of.k;
  const Rows lower = places(of.flux, complete, flux_piece_, cells);
  const Rows upper = of.axis == 2 ? at(*of.flux, of.k, cells) : lower.shifted(of.axis == 0 ? 1 : pitch_);
  take_loss(context_, length(cells), lower, upper, dt_over_dx_[static_cast<std::size_t>(of.axis)] / of.parts,
            at(*of.loss, complete, cells));
}

void HydroSweep::update_plane(int k, Repairs& repairs) {
  for (int j = 0; j < extent_.y; ++j) {
    Divergence fluxes{};
    fluxes.lower.fill(no_flux_.at(0, 0));
    fluxes.upper.fill(no_flux_.at(0, 0));
    fluxes.dt_over_dx = dt_over_dx_;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (!active_[axis]) continue;
      fluxes.lower[axis] = last_[axis].at(k, j);
      fluxes.upper[axis] = axis == 0   ? fluxes.lower[axis].shifted(1)
                           : axis == 1 ? ConstRows(last_[axis].at(k, j + 1))
                                       : ConstRows(last_[axis].at(k + 1, j));
    }
    const Rows out = fresh_.at(k, j);
    double* const given = given_.at(0, 0)[0];
    const UpdateCounts counts =
        update(context_, extent_.x, state_row(k, j), fluxes, surroundings(k, j), density_floor_, out, given);
    if (counts.unphysical > 0) find_repairs(k, j, fluxes, out, repairs);
    if (worth_ == 0.0 || counts.floored == 0) continue;
    books_.energy_floors += counts.floored;
    for (int i = 0; i < extent_.x; ++i) books_.floor_energy.add(worth_ * given[i]);
  }
}

Surroundings HydroSweep::surroundings(int k, int j) {
  const ConstRows here = primitive_.at(k, j), nothing = no_flux_.at(0, 0);
  Surroundings around{};
  around.below.fill(nothing);
  around.above.fill(nothing);
  for (auto* rows : {&around.far_below, &around.far_above, &around.farthest_below, &around.farthest_above})
    rows->fill(nothing[0]);
  for (int axis = 0; axis < 3; ++axis) {
    if (!is_active(axis)) continue;
    const auto a = static_cast<std::size_t>(axis);
    const auto row = [&](int shift) {
      return axis == 0   ? here.shifted(shift)
             : axis == 1 ? ConstRows(primitive_.at(k, j + shift))
                         : ConstRows(primitive_.at(k + shift, j));
    };
    around.below[a] = row(-1);
    around.above[a] = row(1);
    const double* const along_row = axis == 0 ? velocity_along_row(k, j) : nullptr;
    const auto velocity = [&](int shift) { return axis == 0 ? along_row + shift : row(shift)[primitive_u + axis]; };
    around.far_below[a] = velocity(-2);
    around.far_above[a] = velocity(2);
    around.farthest_below[a] = velocity(-4);
    around.farthest_above[a] = velocity(4);
  }
  return around;
}

// The velocity along x of a row with four more cells at each end, of which the planes have one.
const double* HydroSweep::velocity_along_row(int k, int j) {
  double* const u = wide_row_.at(0, 0)[primitive_u];
  const ConstRows state = state_row(k, j);
  std::copy_n(primitive_.at(k, j)[primitive_u] - 1, extent_.x + 2, u - 1);
  for (const int i : {-4, -3, -2, extent_.x + 1, extent_.x + 2, extent_.x + 3})
    u[i] = state[momentum_x][i] * (1.0 / state[density][i]);
  return u;
}

}  // namespace sidestream::solvers
