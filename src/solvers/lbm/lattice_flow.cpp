#include "sidestream/solvers/lbm/lattice_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "solvers/lbm/edge_lists.hpp"
#include "solvers/lbm/gradient_rows.hpp"
#include "solvers/lbm/lattice_rows.hpp"
#include "solvers/lbm/populations.hpp"

namespace sidestream::solvers {

namespace {

// Populations of this size are out of a core's own caches before they are read again. (To write past the caches is as
// fast from there on, and soon twice as fast: so many rows at once are not foreseen when they are written.)
constexpr std::size_t least_streamed_bytes = std::size_t{4} << 20;
constexpr int first_of_velocity = 1;  // of what is measured
constexpr double least_density = 0.5, most_density = 2.0, speed_of_sound = 1.0 / std::numbers::sqrt3;

template <typename L>
LatticeTable make_table() {
  LatticeTable table;
  for (int q = 0; q < L::directions; ++q) {
    const std::array<int, 3> c = velocity_of<L>(q);
    table.velocity.push_back({c[0], c[1], c[2]});
    table.weight.push_back(weight_of<L>(q));
  }
  return table;
}

template <typename Real>
CollisionNumbers<Real> numbers_of(const LatticeConfig& config) {
  const double tau = 3.0 * config.viscosity + 0.5;
  CollisionNumbers<Real> numbers;
  numbers.omega = static_cast<Real>(1.0 / tau);
  numbers.omega_odd = static_cast<Real>(1.0 / (0.5 + config.magic / (tau - 0.5)));
  for (std::size_t a = 0; a < 3; ++a) {
    numbers.force[a] = static_cast<Real>(config.force[a]);
    numbers.half_force[a] = static_cast<Real>(0.5 * config.force[a]);
  }
  return numbers;
}

mesh::Periodicity periodic_axes(const LatticeConfig& config) {
  mesh::Periodicity periodic;
  for (std::size_t axis = 0; axis < 3; ++axis) periodic[axis] = config.edges[axis][0].kind == EdgeKind::periodic;
  return periodic;
}

mesh::Layout with_periodicity(const mesh::Layout& layout, const mesh::Periodicity& periodic) {
  return {layout.domain(),
          periodic,
          {layout.boxes().begin(), layout.boxes().end()},
          {layout.owners().begin(), layout.owners().end()}};
}

// Along which axes each box has all cells of the domain.
mesh::Periodicity whole_axes(const mesh::Layout& layout) {
  mesh::Periodicity whole{};
  for (int axis = 0; axis < 3; ++axis)
    whole[static_cast<std::size_t>(axis)] = std::ranges::all_of(
        layout.boxes(), [&](const mesh::Box& box) { return box.extent()[axis] == layout.domain().extent()[axis]; });
  return whole;
}

// u(x) beyond the last cell: what the neighbour has, mirrored at a wall that moves with `wall`, or straight on.
double beyond(double last, double before, bool is_wall, double wall) {
  return is_wall ? 2.0 * wall - last : 2.0 * last - before;
}

}  // namespace

const LatticeTable& table_of(LatticeKind lattice) {
  static const LatticeTable plane = make_table<D2Q9>(), space = make_table<D3Q19>();
  return lattice == LatticeKind::d2q9 ? plane : space;
}

LatticeKind lattice_of(const mesh::Box& domain) {
  return domain.extent().z == 1 ? LatticeKind::d2q9 : LatticeKind::d3q19;
}

template <typename Real>
struct LatticeFlow<Real>::State {
  const comm::Communicator& comm;
  core::Bill& bill;
  LatticeConfig config;
  LatticeKind lattice;
  const LatticeTable& table;
  mesh::Layout layout;
  mesh::Ghosts ghosts;
  mesh::Periodicity whole;  // what goes round there comes from the box itself, and no exchange fills ghost cells
  redistribute::GhostFill fill, fill_barriers, fill_measured;
  Populations<Real> present, next;
  mesh::Field<std::int32_t> barriers;
  std::shared_ptr<Populations<double>>
      measured;                           // density and velocity, in memory that serves again when nobody has it
  LatticeComponents has{}, has_ghosts{};  // what is there of the present
  EdgeLists<Real> edges;
  std::vector<bool> has_barriers;  // by row of cells here

  State(const comm::Communicator& all, const mesh::Layout& boxes, const LatticeConfig& settings, core::Bill& booked)
      : comm(all),
        bill(booked),
        config(settings),
        lattice(lattice_of(boxes.domain())),
        table(table_of(lattice)),
        layout(with_periodicity(boxes, periodic_axes(settings))),
        ghosts(mesh::ghosts_of_active_axes(boxes.domain(), 1)),
        whole(whole_axes(boxes)),
        fill(comm, filled_layout(), filled_ghosts()),
        fill_barriers(comm, layout, ghosts),
        fill_measured(comm, layout, ghosts),
        present(table.directions(), layout, comm.rank()),
        next(table.directions(), layout, comm.rank()),
        barriers(layout, comm.rank(), 1, ghosts) {}

  mesh::Layout filled_layout() const {
    mesh::Periodicity periodic = layout.periodic();
    for (std::size_t axis = 0; axis < 3; ++axis) periodic[axis] = periodic[axis] && !whole[axis];
    return with_periodicity(layout, periodic);
  }
  mesh::Ghosts filled_ghosts() const {
    mesh::Int3 layers = ghosts.layers;
    for (int axis = 0; axis < 3; ++axis)
      if (whole[static_cast<std::size_t>(axis)]) layers[axis] = 0;
    return mesh::Ghosts(layers);
  }
  std::array<bool, 3> wraps() const {
    std::array<bool, 3> all{};
    for (std::size_t axis = 0; axis < 3; ++axis) all[axis] = whole[axis] && layout.periodic()[axis];
    return all;
  }

  mesh::FieldView<Real> view_of(Populations<Real>& of) const {
    std::vector<core::View4<Real>> blocks;
    if (!of.is_empty()) blocks.push_back(of.view());
    return {layout, comm.rank(), blocks, nullptr, ghosts};
  }

  CollisionStep<Real> step() const {
    return {lattice, config.collision, numbers_of<Real>(config), present.size_bytes() >= least_streamed_bytes, wraps()};
  }

  void sweep(const MeasuredRows& rows) {
    const CollisionStep<Real> how = step();
    const PopulationRows<Real> to = next.rows();
    const mesh::Int3 n = present.box().extent();
    advance_box(how, present.rows(), to, rows, {n.x, n.y, n.z});
    const PopulationRows<const Real> from = std::as_const(present).rows();
    for (const auto& list : edges.lists()) advance_cells(how, list.cells(), from, to);
    for (const auto& held : edges.held())
      for (int q = 0; q < table.directions(); ++q)
        to.first[q * to.stride + held.at] = (*held.populations)[static_cast<std::size_t>(q)];
    if (rows.is_empty()) return;
    for (const auto& list : edges.lists())
      for (const std::int64_t at : list.at) measure_cells(next, at, 1, rows);
    for (const auto& held : edges.held())
      if (!held.is_solid) measure_cells(next, held.at, 1, rows);
    measure_solid(rows);
  }

  void measure_cells(const Populations<Real>& of, std::int64_t at, int cells, const MeasuredRows& rows) const {
    PopulationRows<const Real> row = of.rows();
    row.first += at;
    measure_row(step(), row, cells, rows.from(at));
  }
  void measure_solid(const MeasuredRows& rows) const {
    for (const auto& held : edges.held())
      for (std::size_t c = 0; c < rows.first.size() && held.is_solid; ++c)
        if (rows.first[c] != nullptr) rows.first[c][held.at] = c == 0 ? 1.0 : 0.0;
  }

  // Room for what is wanted of the state after a step, or of the present one beside what is there.
  MeasuredRows room_for(const LatticeComponents& wanted) {
    if (present.is_empty()) return {};
    const bool has_any = has != LatticeComponents{};
    if (measured == nullptr || (!has_any && measured.use_count() > 1))
      measured = std::make_shared<Populations<double>>(4, layout, comm.rank(), 64 / sizeof(Real));
    MeasuredRows rows;
    for (std::size_t c = 0; c < wanted.size(); ++c)
      if (wanted[c]) rows.first[c] = measured->rows().first + static_cast<std::ptrdiff_t>(c) * measured->rows().stride;
    return rows;
  }
  mesh::FieldView<double> measured_view() const {
    std::vector<core::View4<double>> blocks;
    if (measured != nullptr) blocks.push_back(measured->view());
    return {layout, comm.rank(), blocks, measured, ghosts};
  }
  void measure(const LatticeComponents& wanted);
  void forget_measured() { has = has_ghosts = {}; }

  void build_edges() { edges = EdgeLists<Real>(layout.domain(), lattice, config, wraps(), present, barriers); }

  // What cells are held at.
  void set_held() {
    const PopulationRows<Real> rows = present.rows();
    for (const auto& held : edges.held())
      for (int q = 0; q < table.directions(); ++q)
        rows.first[q * rows.stride + held.at] = (*held.populations)[static_cast<std::size_t>(q)];
  }

  std::size_t row_of(int k, int j) const {
    const mesh::Box& box = present.box();
    return static_cast<std::size_t>(k - box.lo.z) * static_cast<std::size_t>(box.extent().y) +
           static_cast<std::size_t>(j - box.lo.y);
  }
  void note_rows_with_barriers() {
    const mesh::Int3 n = present.box().extent();
    has_barriers.assign(static_cast<std::size_t>(n.y) * static_cast<std::size_t>(n.z), false);
    for (int b = 0; b < barriers.blocks(); ++b)
      core::for_each_cell(barriers.box(b), [&, mask = barriers.view(b)](int k, int j, int i) {
        if (mask(k, j, i) > 0) has_barriers[row_of(k, j)] = true;
      });
  }

  void set_cell(mesh::Int3 cell, const LatticeCell& flow);
  void extend(int component) const;
};

// As a collision would leave it: what is not in equilibrium once relaxed (Krueger et al. 2017, eq. 4.35), and the half
// of a force by which populations have more than the velocity says.
template <typename Real>
void LatticeFlow<Real>::State::set_cell(mesh::Int3 cell, const LatticeCell& flow) {
  const double omega = 1.0 / (3.0 * config.viscosity + 0.5);
  const std::vector<double> equilibrium = equilibrium_deviations(table, flow.density, flow.velocity);
  const std::array<double, 6>& s = flow.strain;
  const double trace = (s[0] + s[1] + s[2]) / 3.0;
  for (int q = 0; q < table.directions(); ++q) {
    const auto n = static_cast<std::size_t>(q);
    const mesh::Int3 c = table.velocity[n];
    const double contracted = c.x * c.x * s[0] + c.y * c.y * s[1] + c.z * c.z * s[2] +
                              2.0 * (c.x * c.y * s[3] + c.x * c.z * s[4] + c.y * c.z * s[5]) - trace;
    const double pushed = c.x * config.force[0] + c.y * config.force[1] + c.z * config.force[2];
    present.view()(q, cell.z, cell.y, cell.x) =
        static_cast<Real>(equilibrium[n] - 3.0 * table.weight[n] * flow.density * ((1.0 - omega) / omega) * contracted +
                          1.5 * table.weight[n] * pushed);
  }
}

// One axis after another, so that corners go on along the last.
template <typename Real>
void LatticeFlow<Real>::State::extend(int component) const {
  if (present.is_empty()) return;
  const mesh::Box& domain = layout.domain();
  const mesh::Box grown = present.box().grown(ghosts.layers);
  const core::View4<double> u = measured->view();
  for (int axis = 0; axis < 3; ++axis)
    for (const bool high : {false, true}) {
      if (ghosts.layers[axis] == 0 || layout.periodic()[static_cast<std::size_t>(axis)]) continue;
      if ((high ? grown.hi[axis] <= domain.hi[axis] : grown.lo[axis] >= domain.lo[axis])) continue;
      mesh::Box outside = grown;
      (high ? outside.lo : outside.hi)[axis] = high ? domain.hi[axis] : domain.lo[axis];
      const LatticeEdge& edge = config.edges[static_cast<std::size_t>(axis)][high];
      const int inward = high ? -1 : 1;
      core::for_each_cell(outside, [&](int k, int j, int i) {
        mesh::Int3 last{i, j, k};
        last[axis] += inward;
        mesh::Int3 before = last;
        if (domain.extent()[axis] > 1 && grown.contains(mesh::Int3(before))) before[axis] += inward;
        const int c = component;
        const bool is_wall = c > 0 && edge.kind == EdgeKind::wall;
        const double wall = c > 0 ? edge.velocity[static_cast<std::size_t>(c - 1)] : 0.0;
        u(c, k, j, i) = beyond(u(c, last.z, last.y, last.x), u(c, before.z, before.y, before.x), is_wall, wall);
      });
    }
}

// What of it is not there yet.
template <typename Real>
void LatticeFlow<Real>::State::measure(const LatticeComponents& wanted) {
  LatticeComponents missing{};
  for (std::size_t c = 0; c < wanted.size(); ++c) missing[c] = wanted[c] && !has[c];
  if (const MeasuredRows rows = room_for(missing); !rows.is_empty()) {
    const mesh::Box& box = present.box();
    core::for_each_row(box, [&](int k, int j) {
      measure_cells(present, present.place_of({box.lo.x, j, k}), box.extent().x, rows);
    });
    measure_solid(rows);
  }
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    if (!wanted[c] || has_ghosts[c]) continue;
    const mesh::FieldView<double> all = measured_view();
    fill_measured.fill(present.is_empty() ? all : all.component(static_cast<int>(c)));
    extend(static_cast<int>(c));
    has[c] = has_ghosts[c] = true;
  }
}

template <typename Real>
LatticeFlow<Real>::LatticeFlow(const comm::Communicator& comm, const mesh::Layout& layout, const LatticeConfig& config,
                               core::Bill& bill)
    : state_(std::make_unique<State>(comm, layout, config, bill)) {
  set_barriers([](mesh::Int3) { return 0; });
}
template <typename Real>
LatticeFlow<Real>::~LatticeFlow() = default;

template <typename Real>
LatticeKind LatticeFlow<Real>::lattice() const {
  return state_->lattice;
}
template <typename Real>
const mesh::Layout& LatticeFlow<Real>::layout() const {
  return state_->layout;
}
template <typename Real>
const mesh::Field<std::int32_t>& LatticeFlow<Real>::barriers() const {
  return state_->barriers;
}
template <typename Real>
mesh::FieldView<const Real> LatticeFlow<Real>::populations() const {
  return state_->view_of(state_->present);
}
template <typename Real>
mesh::FieldView<Real> LatticeFlow<Real>::populations() {
  state_->forget_measured();
  return state_->view_of(state_->present);
}

template <typename Real>
void LatticeFlow<Real>::set(const LatticeConfig& config) {
  State& state = *state_;
  const bool has_same_edges = [&] {
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t side = 0; side < 2; ++side) {
        const LatticeEdge &a = state.config.edges[axis][side], &b = config.edges[axis][side];
        if (a.velocity != b.velocity || a.density != b.density || a.is_parabolic != b.is_parabolic) return false;
      }
    return true;
  }();
  state.config = config;
  state.forget_measured();
  if (has_same_edges) return;
  state.build_edges();
  state.set_held();
}

template <typename Real>
void LatticeFlow<Real>::set_barriers(const std::function<std::int32_t(mesh::Int3)>& barrier) {
  State& state = *state_;
  state.forget_measured();
  for (int b = 0; b < state.barriers.blocks(); ++b)
    core::for_each_cell(state.barriers.box(b), [&, mask = state.barriers.view(b)](int k, int j, int i) {
      std::int32_t& present = mask(k, j, i);
      const std::int32_t wanted = barrier({i, j, k});
      if (present > 0 && wanted == 0) state.set_cell({i, j, k}, {});
      present = wanted;
    });
  state.note_rows_with_barriers();
  state.fill_barriers.fill(state.barriers);
  state.build_edges();
  state.set_held();
}

template <typename Real>
void LatticeFlow<Real>::set_flow(const std::function<LatticeCell(mesh::Int3)>& flow) {
  State& state = *state_;
  state.forget_measured();
  if (!state.present.is_empty())
    core::for_each_cell(state.present.box(), [&](int k, int j, int i) { state.set_cell({i, j, k}, flow({i, j, k})); });
  state.set_held();
}

template <typename Real>
void LatticeFlow<Real>::advance(const LatticeComponents& foreseen) {
  State& state = *state_;
  core::timed(state.bill, "ghost cells", [&] { state.fill.fill(state.view_of(state.present)); });
  state.forget_measured();
  if (!state.present.is_empty()) core::timed(state.bill, "lattice", [&] { state.sweep(state.room_for(foreseen)); });
  state.has = foreseen;
  std::swap(state.present, state.next);
}

template <typename Real>
mesh::FieldView<const double> LatticeFlow<Real>::measure(const LatticeComponents& wanted) const {
  state_->measure(wanted);
  return state_->measured_view();
}

template <typename Real>
void LatticeFlow<Real>::differentiate(const mesh::FieldView<const double>& measured, OfGradient what,
                                      const mesh::Box& box, const core::View4<double>& to) const {
  const State& state = *state_;
  const core::View4<const double> u = measured.view(0);
  const auto mask = state.barriers.view(0);
  const mesh::Int3 layers = measured.ghosts().layers;
  VelocityRow row{nullptr, u.stride_component(), {layers.x, layers.y * u.stride_y(), layers.z * u.stride_z()}};
  const bool streams = static_cast<std::size_t>(state.present.box().volume()) * sizeof(double) >= least_streamed_bytes;
  core::for_each_row(box, [&](int k, int j) {
    row.first = &u(first_of_velocity, k, j, box.lo.x);
    const std::int32_t* const barriers = state.has_barriers[state.row_of(k, j)] ? &mask(k, j, box.lo.x) : nullptr;
    write_gradients(what, row, box.extent().x, barriers, &to(k, j, box.lo.x), streams);
  });
  finish_gradients();
}

template <typename Real>
std::vector<std::array<double, 3>> LatticeFlow<Real>::forces(int count) const {
  const State& state = *state_;
  std::vector<std::array<double, 3>> all(static_cast<std::size_t>(count));
  std::vector<core::ExactSum> sums(3 * all.size());
  const auto rows = state.present.rows();
  for (const auto& link : state.edges.links()) {
    if (link.barrier > count) continue;
    const double twice = 2.0 * static_cast<double>(rows.first[link.place]);
    const mesh::Int3 c = state.table.velocity[static_cast<std::size_t>(link.direction)];
    for (int axis = 0; axis < 3; ++axis)
      if (c[axis] != 0) sums[static_cast<std::size_t>(3 * (link.barrier - 1) + axis)].add(c[axis] * twice);
  }
  state.comm.sum(std::span(sums));
  for (std::size_t n = 0; n < sums.size(); ++n) all[n / 3][n % 3] = sums[n].value();
  return all;
}

template <typename Real>
double LatticeFlow<Real>::mass() const {
  const State& state = *state_;
  core::ExactSum sum;
  if (!state.present.is_empty())
    core::for_each_cell(state.present.box(),
                        [&, g = state.present.view(), mask = state.barriers.view(0)](int k, int j, int i) {
                          if (mask(k, j, i) > 0) return;
                          sum.add(1.0);
                          for (int q = 0; q < state.table.directions(); ++q)
                            sum.add(static_cast<double>(g(q, k, j, i)));
                        });
  return state.comm.sum(sum);
}

template <typename Real>
auto LatticeFlow<Real>::look() const -> Look {
  const State& state = *state_;
  Look seen;
  if (state.present.is_empty()) return seen;
  const mesh::Box& box = state.present.box();
  const auto cells = static_cast<std::size_t>(box.extent().x);
  const CollisionStep<Real> how = state.step();
  std::array<std::vector<double>, 4> row;  // in a plane nothing comes along z
  row.fill(std::vector<double>(cells));
  for (int k = box.lo.z; k < box.hi.z; ++k)
    for (int j = box.lo.y; j < box.hi.y; ++j) {
      PopulationRows<const Real> populations = state.present.rows();
      populations.first += state.present.place_of({box.lo.x, j, k});
      measure_row(how, populations, box.extent().x, {{row[0].data(), row[1].data(), row[2].data(), row[3].data()}});
      for (std::size_t i = 0; i < cells; ++i) {
        const double density = row[0][i];
        const double speed = std::sqrt(row[1][i] * row[1][i] + row[2][i] * row[2][i] + row[3][i] * row[3][i]);
        seen.fastest = std::max(seen.fastest, speed);
        const bool is_sound = density > least_density && density < most_density && speed < speed_of_sound;
        if (is_sound || !seen.problem.empty()) continue;
        seen.problem = fmt::format("the density is {:.4g} and the speed {:.4g} in the cell ({}, {}, {})", density,
                                   speed, box.lo.x + static_cast<int>(i), j, k);
      }
    }
  return seen;
}

template class LatticeFlow<float>;
template class LatticeFlow<double>;

}  // namespace sidestream::solvers
