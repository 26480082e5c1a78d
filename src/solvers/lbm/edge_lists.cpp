#include "solvers/lbm/edge_lists.hpp"

#include <algorithm>
#include <memory>
#include <numbers>

#include "sidestream/core/for_each.hpp"

namespace sidestream::solvers {

namespace {

const LatticeEdge& edge_at(const LatticeConfig& config, int axis, bool high) {
  return config.edges[static_cast<std::size_t>(axis)][high];
}

double dot(mesh::Int3 c, const std::array<double, 3>& u) {
  return c.x * u[0] + c.y * u[1] + c.z * u[2];
}

bool is_inflow(const LatticeEdge& edge) {
  return edge.kind == EdgeKind::inflow;
}
bool has_density(const LatticeEdge& edge) {
  return edge.kind == EdgeKind::outflow && edge.density;
}

// Of the density at an outflow: the time in which sound crosses the domain, times four.
double stiffness_of(const mesh::Box& domain, int axis) {
  return 0.25 / (std::numbers::sqrt3 * domain.extent()[axis]);
}

}  // namespace

std::array<double, 3> edge_velocity(const mesh::Box& domain, const LatticeConfig& config, int axis, bool high,
                                    mesh::Int3 cell) {
  const LatticeEdge& edge = edge_at(config, axis, high);
  std::array<double, 3> velocity = edge.velocity;
  if (!edge.is_parabolic) return velocity;
  for (int other = 0; other < 3; ++other) {
    const bool is_between =
        edge_at(config, other, false).kind == EdgeKind::wall && edge_at(config, other, true).kind == EdgeKind::wall;
    if (other == axis || !is_between) continue;
    const double n = domain.extent()[other], at = cell[other] + 0.5;
    for (double& component : velocity) component *= 4.0 * at * (n - at) / (n * n);
  }
  return velocity;
}

std::vector<double> equilibrium_deviations(const LatticeTable& table, double density,
                                           const std::array<double, 3>& velocity) {
  const double square = velocity[0] * velocity[0] + velocity[1] * velocity[1] + velocity[2] * velocity[2];
  std::vector<double> all;
  for (int q = 0; q < table.directions(); ++q) {
    const auto n = static_cast<std::size_t>(q);
    const double along = dot(table.velocity[n], velocity);
    all.push_back(table.weight[n] * ((density - 1.0) + density * (3.0 * along + 4.5 * along * along - 1.5 * square)));
  }
  return all;
}

template <typename Real>
EdgeCells<Real> EdgeLists<Real>::List::cells() const {
  return {at.size(),
          at.data(),
          sources.data(),
          added.data(),
          axis,
          inward,
          has_velocity ? velocity.data() : nullptr,
          static_cast<Real>(density - 1.0),
          static_cast<Real>(stiffness)};
}

template <typename Real>
struct EdgeLists<Real>::Builder {
  const mesh::Box& domain;
  const LatticeTable& table;
  const LatticeConfig& config;
  const std::array<bool, 3>& wraps;
  const Populations<Real>& populations;
  const core::View4<const std::int32_t> barriers;
  EdgeLists& lists;

  bool is_on(int axis, bool high, mesh::Int3 cell) const {
    return cell[axis] == (high ? domain.hi[axis] - 1 : domain.lo[axis]);
  }
  template <typename F>
  bool find_face(mesh::Int3 cell, F is_wanted, int& axis, bool& high) const {
    for (axis = 0; axis < 3; ++axis)
      for (const bool side : {false, true}) {
        high = side;
        if (is_on(axis, side, cell) && is_wanted(edge_at(config, axis, side))) return true;
      }
    return false;
  }

  void hold(mesh::Int3 cell, const std::vector<double>& populations_of, bool is_solid) {
    std::vector<Real> values(populations_of.begin(), populations_of.end());
    if (lists.kept_.empty() || *lists.kept_.back() != values)
      lists.kept_.push_back(std::make_unique<std::vector<Real>>(std::move(values)));
    lists.held_.push_back({populations.place_of(cell), lists.kept_.back().get(), is_solid});
  }

  /// Where a population comes from, and what is added to it.
  struct Origin {
    std::int64_t place = 0;
    double added = 0.0;
    bool is_plain = true;
    int barrier = 0;
  };

  std::int64_t place(int direction, mesh::Int3 cell) const {
    return direction * populations.rows().stride + populations.place_of(cell);
  }
  Origin turned_back(int direction, mesh::Int3 cell, double added, int barrier) const {
    return {place(opposite_of(direction), cell), added, false, barrier};
  }

  // The sum over the walls that it would come through: each takes from one of its diagonals what it gives to the other,
  // so nothing is lost where two walls that move meet.
  std::array<double, 3> wall_velocity(mesh::Int3 upstream) const {
    std::array<double, 3> sum{};
    for (int axis = 0; axis < 3; ++axis) {
      if (upstream[axis] >= domain.lo[axis] && upstream[axis] < domain.hi[axis]) continue;
      const LatticeEdge& edge = edge_at(config, axis, upstream[axis] >= domain.hi[axis]);
      if (edge.kind != EdgeKind::wall) continue;
      for (std::size_t a = 0; a < 3; ++a) sum[a] += edge.velocity[a];
    }
    return sum;
  }

  Origin origin(int direction, mesh::Int3 cell) const {
    const mesh::Int3 c = table.velocity[static_cast<std::size_t>(direction)];
    mesh::Int3 upstream = cell - c;
    bool crosses_wall = false, crosses_inflow = false, crosses_open = false;
    for (int axis = 0; axis < 3; ++axis) {
      const bool high = upstream[axis] >= domain.hi[axis];
      if (!high && upstream[axis] >= domain.lo[axis]) continue;
      const LatticeEdge& edge = edge_at(config, axis, high);
      crosses_wall = crosses_wall || edge.kind == EdgeKind::wall;
      crosses_inflow = crosses_inflow || is_inflow(edge);
      crosses_open = crosses_open || edge.kind == EdgeKind::outflow;
    }
    if (crosses_wall) {
      const double weight = table.weight[static_cast<std::size_t>(direction)];
      return turned_back(direction, cell, 6.0 * weight * dot(c, wall_velocity(upstream)), 0);
    }
    if (crosses_inflow) return turned_back(direction, cell, 0.0, 0);  // follows from the others
    if (crosses_open)
      for (int axis = 0; axis < 3; ++axis)
        if (edge_at(config, axis, upstream[axis] >= domain.hi[axis]).kind == EdgeKind::outflow)
          upstream[axis] = std::clamp(upstream[axis], domain.lo[axis], domain.hi[axis] - 1);
    if (const std::int32_t barrier = barriers(upstream.z, upstream.y, upstream.x); barrier > 0)
      return turned_back(direction, cell, 0.0, barrier);
    for (int axis = 0; axis < 3; ++axis)
      if (wraps[static_cast<std::size_t>(axis)]) upstream[axis] = mesh::wrapped(upstream[axis], domain.extent()[axis]);
    return {place(direction, upstream), 0.0, !crosses_open, 0};
  }

  List& list_of(mesh::Int3 cell) {
    int axis = -1;
    bool high = false;
    const bool is_on_face = find_face(cell, is_inflow, axis, high) || find_face(cell, has_density, axis, high);
    const int wanted = is_on_face ? axis : -1, inward = is_on_face ? (high ? -1 : 1) : 0;
    for (List& list : lists.lists_)
      if (list.axis == wanted && list.inward == inward) return list;
    List list;
    list.axis = wanted;
    list.inward = inward;
    if (is_on_face) {
      const LatticeEdge& edge = edge_at(config, axis, high);
      list.has_velocity = is_inflow(edge);
      list.density = edge.density.value_or(1.0);
      list.stiffness = stiffness_of(domain, axis);
    }
    return lists.lists_.emplace_back(std::move(list));
  }

  void add_cell(mesh::Int3 cell, const std::vector<Origin>& origins) {
    List& list = list_of(cell);
    list.at.push_back(populations.place_of(cell));
    for (int q = 0; q < table.directions(); ++q) {
      const Origin& from = origins[static_cast<std::size_t>(q)];
      list.sources.push_back(from.place);
      list.added.push_back(static_cast<Real>(from.added));
      if (from.barrier > 0) lists.links_.push_back({from.place, opposite_of(q), from.barrier});
    }
    if (!list.has_velocity) return;
    for (const double component : edge_velocity(domain, config, list.axis, list.inward < 0, cell))
      list.velocity.push_back(static_cast<Real>(component));
  }

  void visit(mesh::Int3 cell) {
    if (barriers(cell.z, cell.y, cell.x) > 0)
      return hold(cell, std::vector<double>(static_cast<std::size_t>(table.directions()), 0.0), true);
    int axis = 0;
    bool high = false;
    if (find_face(
            cell, [](const LatticeEdge& edge) { return edge.kind == EdgeKind::equilibrium; }, axis, high))
      return hold(cell, equilibrium_deviations(table, 1.0, edge_velocity(domain, config, axis, high, cell)), false);
    std::vector<Origin> origins;
    bool is_plain = true;
    for (int q = 0; q < table.directions(); ++q) {
      origins.push_back(origin(q, cell));
      is_plain = is_plain && origins.back().is_plain;
    }
    if (!is_plain) add_cell(cell, origins);
  }
};

template <typename Real>
EdgeLists<Real>::EdgeLists(const mesh::Box& domain, LatticeKind lattice, const LatticeConfig& config,
                           const std::array<bool, 3>& wraps, const Populations<Real>& populations,
                           const mesh::Field<std::int32_t>& barriers) {
  if (populations.is_empty()) return;
  Builder builder{domain, table_of(lattice), config, wraps, populations, barriers.view(0), *this};
  const mesh::Int3 reach{1, 1, lattice == LatticeKind::d2q9 ? 0 : 1};
  const mesh::Box inner{domain.lo + reach, domain.hi - reach};
  const auto view = barriers.view(0);
  core::for_each_cell(populations.box(), [&](int k, int j, int i) {
    const mesh::Int3 cell{i, j, k};
    bool is_near = !inner.contains(cell);
    for (int z = k - reach.z; z <= k + reach.z && !is_near; ++z)
      for (int y = j - 1; y <= j + 1; ++y)
        for (int x = i - 1; x <= i + 1; ++x) is_near = is_near || view(z, y, x) > 0;
    if (is_near) builder.visit(cell);
  });
}

template class EdgeLists<float>;
template class EdgeLists<double>;

}  // namespace sidestream::solvers
