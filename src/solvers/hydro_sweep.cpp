#include "solvers/hydro_sweep.hpp"

#include <algorithm>
#include <cmath>

namespace sidestream::solvers {

namespace {

/// The fluxes of what is conserved, in the order of the gas components.
constexpr std::array<int, 5> conserved_flux{flux_mass, flux_x, flux_y, flux_z, flux_energy};

constexpr int third_axis(int a, int b) {
  return 3 - a - b;
}

RiemannSolver solver_named(const std::string& name) {
  return name == "hllc" ? RiemannSolver::hllc : RiemannSolver::two_shock;
}

/// Primitive variables and conserved densities of a cell.
struct CellState {
  std::array<double, 5> conserved;  // mass, momentum, total energy
  double p, c, normal_u;
};

CellState cell_state(const RowContext& context, ConstRows state, int i, int axis) {
  CellState cell{};
  for (int component = 0; component < 5; ++component)
    cell.conserved[static_cast<std::size_t>(component)] = state[component][i];
  const double rho = state[density][i];
  cell.p = context.gas.gamma_1 * std::max(state[internal_energy][i], rho * context.energy_floor);
  cell.c = std::sqrt(context.gas.gamma * cell.p / rho);
  cell.normal_u = state[momentum_x + axis][i] / rho;
  return cell;
}

/// The flux of Harten, Lax and van Leer between two cells: keeps density and pressure positive.
std::array<double, 5> first_order_flux(const CellState& l, const CellState& r, int axis) {
  const double l_speed = std::min({l.normal_u - l.c, r.normal_u - r.c, 0.0});
  const double r_speed = std::max({l.normal_u + l.c, r.normal_u + r.c, 0.0});
  const auto flux_of = [axis](const CellState& cell, std::size_t component) {
    const double pressure_part = component == total_energy                          ? cell.p * cell.normal_u
                                 : static_cast<int>(component) == momentum_x + axis ? cell.p
                                                                                    : 0.0;
    return cell.conserved[component] * cell.normal_u + pressure_part;
  };
  std::array<double, 5> flux{};
  for (std::size_t n = 0; n < flux.size(); ++n)
    flux[n] =
        (r_speed * flux_of(l, n) - l_speed * flux_of(r, n) + l_speed * r_speed * (r.conserved[n] - l.conserved[n])) /
        (r_speed - l_speed);
  return flux;
}

}  // namespace

PlaneRing::PlaneRing(int planes, int components, int first_row, int rows, int first_cell, int cells)
    : planes_(planes), first_row_(first_row) {
  constexpr int line = 8;  // doubles in a cache line
  offset_ = (-first_cell + line - 1) / line * line;
  pitch_ = (offset_ + first_cell + cells + line - 1) / line * line;
  component_stride_ = pitch_ * rows;
  plane_stride_ = component_stride_ * components;
  data_.assign(static_cast<std::size_t>(plane_stride_ * planes), 0.0);
}

HydroSweep::HydroSweep(const HydroConfig& config, const std::array<double, 3>& dt_over_dx,
                       const std::array<bool, 3>& active, mesh::Int3 largest)
    : context_{Gas(config.gamma), solver_named(config.riemann), config.dual_energy_eta,
               std::max(config.internal_energy_floor, 1e-100)},
      density_floor_(config.density_floor),
      flattening_(config.flattening),
      dt_over_dx_(dt_over_dx),
      active_(active) {
  const auto ring = [&](int planes, int components, int grown) {
    return PlaneRing(is_active(2) ? planes : 1, components, -ghost(1, grown), largest.y + 2 * ghost(1, grown),
                     -ghost(0, grown), largest.x + 2 * ghost(0, grown));
  };
  primitive_ = ring(7, primitives, hydro_ghost);
  sound_ = ring(1, sound_components, 1);
  left_buffer_ = right_buffer_ = PlaneRing(1, primitives, 0, 1, 0, largest.x + 2);
  no_flux_ = PlaneRing(1, final_flux_components, 0, 1, 0, largest.x + 1);
  booked_ = PlaneRing(1, booked_components, 0, 1, 0, largest.x);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!active_[axis]) continue;
    if (flattening_) shock_[axis] = ring(axis == 2 ? 3 : 1, 1, 2);
    lower_face_[axis] = ring(2, primitives, 1);
    upper_face_[axis] = ring(2, primitives, 1);
    first_[axis] = ring(2, predictor_flux_components, 1);
    last_[axis] = ring(2, final_flux_components, 1);
    for (std::size_t other = 0; other < 3; ++other)
      if (other != axis && dimensions() == 3) second_[axis][other] = ring(2, predictor_flux_components, 1);
  }
}

int HydroSweep::dimensions() const {
  return static_cast<int>(std::count(active_.begin(), active_.end(), true));
}

void HydroSweep::advance(mesh::Box box, core::View4<const double> state, core::View4<double> out, Repairs& repairs,
                         const amr::SideViews& sides, double worth) {
  lo_ = box.lo;
  extent_ = box.extent();
  state_ = state;
  out_ = out;
  sides_ = sides;
  has_sides_ =
      std::ranges::any_of(sides, [](const auto& axis) { return axis[0].components() > 0 || axis[1].components() > 0; });
  worth_ = worth;
  const Range planes = cells(2, 1);
  for (int k = planes.begin - ghost(2, 3); k < planes.begin + ghost(2, 3); ++k) load_plane(k);
  if (is_active(2) && flattening_)
    for (int k = planes.begin - 1; k <= planes.begin; ++k) measure_shocks(2, k);
  for (int k = planes.begin; k < planes.end; ++k) {
    load_plane(k + ghost(2, 3));
    if (flattening_)
      for (int axis = 0; axis < 3; ++axis)
        if (is_active(axis)) measure_shocks(axis, axis == 2 ? k + 1 : k);
    trace_plane(k);
    solve_plane(k);
    const int done = k - ghost(2, 1);
    if (done < 0 || done >= extent_.z) continue;
    update_plane(done, repairs);
    if (has_sides_) record_plane(done);
  }
}

ConstRows HydroSweep::state_row(int k, int j) const {
  return {&state_(0, lo_.z + k, lo_.y + j, lo_.x), state_.stride_component()};
}

void HydroSweep::load_plane(int k) {
  const Range planes = cells(2, 1), rows = cells(1, k >= planes.begin && k < planes.end ? hydro_ghost : 1);
  const Range row = cells(0, hydro_ghost);
  for (int j = rows.begin; j < rows.end; ++j)
    compute_primitives(context_, row.end - row.begin, state_row(k, j).shifted(row.begin),
                       primitive_.at(k, j).shifted(row.begin));
}

std::array<ConstRows, 5> HydroSweep::stencil(int axis, int k, int j) {
  std::array<ConstRows, 5> rows;
  for (int n = 0; n < 5; ++n) {
    const int shift = n - 2;
    rows[static_cast<std::size_t>(n)] = axis == 0   ? primitive_.at(k, j).shifted(shift)
                                        : axis == 1 ? primitive_.at(k, j + shift)
                                                    : primitive_.at(k + shift, j);
  }
  return rows;
}

void HydroSweep::measure_shocks(int axis, int k) {
  const Range rows = cells(1, axis == 1 ? 2 : 1), row = cells(0, axis == 0 ? 2 : 1);
  for (int j = rows.begin; j < rows.end; ++j) {
    auto from = stencil(axis, k, j);
    for (ConstRows& each : from) each = each.shifted(row.begin);
    compute_shock_strength(context_, row.end - row.begin, axis, from,
                           shock_[static_cast<std::size_t>(axis)].at(k, j)[0] + row.begin);
  }
}

std::array<const double*, 3> HydroSweep::shocks(int axis, int k, int j) {
  if (!flattening_) return {};
  PlaneRing& ring = shock_[static_cast<std::size_t>(axis)];
  if (axis == 0) return {ring.at(k, j)[0] - 1, ring.at(k, j)[0], ring.at(k, j)[0] + 1};
  if (axis == 1) return {ring.at(k, j - 1)[0], ring.at(k, j)[0], ring.at(k, j + 1)[0]};
  return {ring.at(k - 1, j)[0], ring.at(k, j)[0], ring.at(k + 1, j)[0]};
}

void HydroSweep::trace_plane(int k) {
  const Range rows = cells(1, 1), row = cells(0, 1);
  const int count = row.end - row.begin;
  for (int j = rows.begin; j < rows.end; ++j) {
    const Rows sound = sound_.at(0, j).shifted(row.begin);
    compute_sound(context_, count, primitive_.at(k, j).shifted(row.begin), sound);
    for (int axis = 0; axis < 3; ++axis) {
      if (!is_active(axis)) continue;
      const auto a = static_cast<std::size_t>(axis);
      auto from = stencil(axis, k, j);
      for (ConstRows& each : from) each = each.shifted(row.begin);
      auto strength = shocks(axis, k, j);
      if (flattening_)
        for (const double*& each : strength) each += row.begin;
      trace(count, axis, dt_over_dx_[a], from, sound, strength, lower_face_[a].at(k, j).shifted(row.begin),
            upper_face_[a].at(k, j).shifted(row.begin));
    }
  }
}

// The fluxes that become known with the traced plane `k`: those normal to x and y up to that plane, those normal to z
// through its lower faces. Saltzman 1994: first fluxes from the traced states; second from states corrected along one
// other axis; last from states corrected along both.
void HydroSweep::solve_plane(int k) {
  if (dimensions() > 1) solve_first(k);
  if (dimensions() == 3) solve_second(k);
  solve_last(k);
}

void HydroSweep::solve_first(int k) {
  for (int axis = 0; axis < 3; ++axis)
    if (is_active(axis) && (axis < 2 || k >= 0))
      solve_faces(axis, k, nullptr, 0, false, first_[static_cast<std::size_t>(axis)]);
}

void HydroSweep::solve_second(int k) {
  const auto solve = [&](int axis, int along, int plane) {
    const auto a = static_cast<std::size_t>(axis), b = static_cast<std::size_t>(along);
    const Correction correction{along, &first_[b], dt_over_dx_[b] / 3.0};
    solve_faces(axis, plane, &correction, 1, false, second_[a][b]);
  };
  solve(0, 1, k);
  solve(1, 0, k);
  if (k >= 0) {
    solve(2, 0, k);
    solve(2, 1, k);
  }
  if (k >= 1) {
    solve(0, 2, k - 1);
    solve(1, 2, k - 1);
  }
}

void HydroSweep::solve_last(int k) {
  const int plane = k - ghost(2, 1);  // all that touches this plane is known
  if (plane >= 0 && plane < extent_.z)
    for (int axis = 0; axis < 2; ++axis)
      if (is_active(axis)) solve_last_faces(axis, plane);
  if (is_active(2) && k >= 0) solve_last_faces(2, k);
}

void HydroSweep::solve_last_faces(int axis, int k) {
  std::array<Correction, 2> corrections{};
  int count = 0;
  for (int along = 0; along < 3; ++along)
    if (along != axis && is_active(along))
      corrections[static_cast<std::size_t>(count++)] = {along, &transverse_flux(axis, along),
                                                        dt_over_dx_[static_cast<std::size_t>(along)] / 2.0};
  solve_faces(axis, k, corrections.data(), count, true, last_[static_cast<std::size_t>(axis)]);
}

// The best fluxes along `along` that do not know of `axis` yet.
PlaneRing& HydroSweep::transverse_flux(int axis, int along) {
  const auto b = static_cast<std::size_t>(along);
  return dimensions() == 3 ? second_[b][static_cast<std::size_t>(third_axis(axis, along))] : first_[b];
}

ConstRows HydroSweep::corrected(ConstRows face_state, int k, int j, Range range, const Correction* corrections,
                                int count, Rows buffer) {
  if (count == 0) return face_state.shifted(range.begin);
  std::array<Transverse, 2> transverse;
  for (int n = 0; n < count; ++n) {
    const auto [axis, flux, factor] = corrections[n];
    const Rows lower = flux->at(k, j).shifted(range.begin);
    const Rows upper =
        axis == 0 ? lower.shifted(1) : (axis == 1 ? flux->at(k, j + 1) : flux->at(k + 1, j)).shifted(range.begin);
    transverse[static_cast<std::size_t>(n)] = {lower, upper, factor};
  }
  correct(context_, range.end - range.begin, face_state.shifted(range.begin), transverse.data(), count, buffer);
  return buffer;
}

// Fluxes through the faces normal to `axis` below the cells of plane `k` (and the highest above): on the whole plane
// but for the outermost cells of axes whose corrections have been applied.
void HydroSweep::solve_faces(int axis, int k, const Correction* corrections, int count, bool is_final,
                             PlaneRing& flux) {
  std::array<Range, 2> range{};
  for (int a = 0; a < 2; ++a) {
    const bool is_corrected =
        std::any_of(corrections, corrections + count, [a](const Correction& c) { return c.axis == a; });
    range[static_cast<std::size_t>(a)] = cells(a, a == axis || is_corrected ? 0 : 1);
  }
  auto [row, rows] = range;
  if (axis == 0) ++row.end;
  if (axis == 1) ++rows.end;
  const auto a = static_cast<std::size_t>(axis);
  const Range left_row = axis == 0 ? Range{row.begin - 1, row.end - 1} : row;
  for (int j = rows.begin; j < rows.end; ++j) {
    const int left_k = axis == 2 ? k - 1 : k, left_j = axis == 1 ? j - 1 : j;
    const ConstRows left = corrected(upper_face_[a].at(left_k, left_j), left_k, left_j, left_row, corrections, count,
                                     left_buffer_.at(0, 0));
    const ConstRows right = corrected(lower_face_[a].at(k, j), k, j, row, corrections, count, right_buffer_.at(0, 0));
    solve_riemann(context_, row.end - row.begin, axis, left, right, is_final, flux.at(k, j).shifted(row.begin));
  }
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
    const Rows out{&out_(0, lo_.z + k, lo_.y + j, lo_.x), out_.stride_component()}, booked = booked_.at(0, 0);
    const UpdateCounts counts =
        update(context_, extent_.x, state_row(k, j), fluxes, approach(k, j), density_floor_, out, booked);
    if (counts.unphysical > 0) find_repairs(k, j, fluxes, out, repairs);
    if (worth_ == 0.0) continue;
    books_.energy_floors += counts.floored;
    book_row(booked);
  }
}

Approach HydroSweep::approach(int k, int j) {
  Approach rows;
  for (int axis = 0; axis < 3; ++axis) {
    const auto from = is_active(axis) ? stencil(axis, k, j) : std::array<ConstRows, 5>{};
    for (std::size_t n = 0; n < 4; ++n)
      rows[static_cast<std::size_t>(axis)][n] =
          is_active(axis) ? from[n < 2 ? n : n + 1][primitive_u + axis] : no_flux_.at(0, 0)[0];
  }
  return rows;
}

void HydroSweep::book_row(ConstRows booked) {
  for (int i = 0; i < extent_.x; ++i) {
    const double chosen = booked[booked_choice][i], floor = booked[booked_floor][i];
    if (chosen != 0.0) books_.book_choice(worth_ * chosen);
    if (floor != 0.0) books_.floor_energy.add(worth_ * floor);
  }
}

// Hands out the fluxes through those faces of plane `k` that lie in a side of the box.
void HydroSweep::record_plane(int k) {
  for (int axis = 0; axis < 3; ++axis)
    for (int high = 0; high < 2; ++high) {
      const core::View4<double> to = sides_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(high)];
      if (to.components() == 0 || !is_active(axis)) continue;
      const int face = high == 1 ? extent_[axis] : 0;
      if (axis == 0)
        for (int j = 0; j < extent_.y; ++j) record_row(to, axis, k, j, {face, face + 1});
      else if (axis == 1)
        record_row(to, axis, k, face, {0, extent_.x});
      else if (k == face - high)
        for (int j = 0; j < extent_.y; ++j) record_row(to, axis, face, j, {0, extent_.x});
    }
}

void HydroSweep::record_row(core::View4<double> to, int axis, int k, int j, Range row) {
  const ConstRows flux = last_[static_cast<std::size_t>(axis)].at(k, j);
  for (std::size_t n = 0; n < conserved_flux.size(); ++n)
    for (int i = row.begin; i < row.end; ++i)
      to(static_cast<int>(n), lo_.z + k, lo_.y + j, lo_.x + i) = flux[conserved_flux[n]][i];
}

// Notes the cells of a row that came out unphysical, and what first-order fluxes would change at their faces. Faces
// between blocks keep their flux, because the other block does not know: so that no mass is lost.
void HydroSweep::find_repairs(int k, int j, const Divergence& fluxes, ConstRows out, Repairs& repairs) const {
  const ConstRows old = state_row(k, j);
  for (int i = 0; i < extent_.x; ++i) {
    if (is_physical(context_, old, out, i, density_floor_)) continue;
    const mesh::Int3 cell = lo_ + mesh::Int3{i, j, k};
    repairs.cells.push_back(cell);
    for (int axis = 0; axis < 3; ++axis) {
      if (!is_active(axis)) continue;
      const auto a = static_cast<std::size_t>(axis);
      const ConstRows below = axis == 0 ? old.shifted(-1) : axis == 1 ? state_row(k, j - 1) : state_row(k - 1, j);
      const ConstRows above = axis == 0 ? old.shifted(1) : axis == 1 ? state_row(k, j + 1) : state_row(k + 1, j);
      const auto repair = [&](ConstRows lower, ConstRows upper, ConstRows flux, mesh::Int3 upper_cell) {
        const auto low_order =
            first_order_flux(cell_state(context_, lower, i, axis), cell_state(context_, upper, i, axis), axis);
        FaceRepair face{axis, upper_cell, {}};
        for (std::size_t n = 0; n < 5; ++n)
          face.change[n] = dt_over_dx_[a] * (low_order[n] - flux[conserved_flux[n]][i]);
        repairs.faces.push_back(face);
      };
      mesh::Int3 next = cell;
      ++next[axis];
      repair(below, old, fluxes.lower[a], cell);
      repair(old, above, fluxes.upper[a], next);
    }
  }
}

}  // namespace sidestream::solvers
