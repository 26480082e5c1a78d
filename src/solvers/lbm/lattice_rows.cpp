#include "solvers/lbm/lattice_rows.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "solvers/lbm/row_vectors.hpp"

namespace sidestream::solvers {

namespace {

// What leaves one end of whole rows comes in at the other: it is put behind the end of the row that a direction comes
// from, just before it is read. The far ends of the next rows are asked for.
template <typename L, typename Real>
void close_rows(Real* const (&from)[L::directions], int cells, std::ptrdiff_t to_next) {
#pragma GCC unroll 19
  for (int q = 0; q < L::directions; ++q) {
    const int c = velocity_of<L>(q)[0];
    if (c > 0) {
      from[q][0] = from[q][cells];
      __builtin_prefetch(from[q] + to_next + cells);
    } else if (c < 0) {
      from[q][cells - 1] = from[q][-1];
    }
  }
}

/// Density and velocity of a piece of a row, from what a collision leaves, which has half of the force too much. They
/// go out one after another: past the caches, beside all directions at once, lines would be sent before they are whole.
template <typename L>
class MeasuredPiece {
 public:
  static constexpr int cells = 256;  // what fits the nearest cache

  template <typename Real>
  explicit MeasuredPiece(const CollisionNumbers<Real>& of) {
    for (int a = 0; a < 3; ++a) numbers_.half_force[a] = -static_cast<double>(of.half_force[a]);
  }
  // Of a few cells from `place` of the piece on, of which `g[q]` are the populations.
  template <bool forced>
  [[gnu::always_inline]] void take(const Vector<double> (&g)[L::directions], int place) {
    Vector<double> even[L::pairs], odd[L::pairs];
    take_pairs<L>(g, even, odd);
    const Flow<L, Vector<double>> flow = flow_of<L, forced>(g[0], even, odd, numbers_);
    std::memcpy(found_[0] + place, &flow.density, sizeof flow.density);
#pragma GCC unroll 3
    for (int a = 0; a < L::axes; ++a) std::memcpy(found_[a + 1] + place, &flow.u[a], sizeof flow.u[a]);
  }
  // The first `count` cells of the piece, to the cell `place` of rows.
  void put(const MeasuredRows& to, std::ptrdiff_t place, int count, bool streams) const {
    constexpr int in_a_line = VectorOf<double>::in_a_line;
    for (std::size_t c = 0; c <= L::axes; ++c) {
      if (to.first[c] == nullptr) continue;
      double* const out = to.first[c] + place;
      const int whole = streams ? count / in_a_line * in_a_line : 0;
      for (int i = 0; i < whole; i += VectorOf<double>::lanes) stream(out + i, load(found_[c] + i));
      std::copy(found_[c] + whole, found_[c] + count, out + whole);
    }
  }

 private:
  CollisionNumbers<double> numbers_;
  alignas(line_bytes) double found_[L::axes + 1][cells];
};

/// A cache line of cells, one direction after another.
template <typename L, typename Real>
struct Line {
  static constexpr int lanes = VectorOf<Real>::lanes, parts = VectorOf<Real>::parts, cells = VectorOf<Real>::in_a_line;
  alignas(line_bytes) Real of[L::directions][cells];

  template <bool forced>
  [[gnu::noinline]] void measure(int place, MeasuredPiece<L>& piece) const {
    for (int first = 0; first < cells; first += VectorOf<double>::lanes) {
      Vector<double> g[L::directions];
#pragma GCC unroll 19
      for (int q = 0; q < L::directions; ++q) g[q] = widened(of[q] + first);
      piece.template take<forced>(g, place + first);
    }
  }
};

// Populations are read twice, of which the second time is out of the nearest cache, rather than kept: there are more of
// them than registers. While one pair is computed the one before is on its way to memory.
template <typename L, typename Model, typename Real, typename Put>
[[gnu::always_inline]] inline void collide_line(const CollisionNumbers<Real>& numbers,
                                                Real* const (&from)[L::directions], int i, Put put) {
  using V = Vector<Real>;
  constexpr int lanes = VectorOf<Real>::lanes, parts = VectorOf<Real>::parts,
                ahead = lines_ahead * VectorOf<Real>::in_a_line;
  const auto met = [&](int part) __attribute__((always_inline)) {
    V g[L::directions], even[L::pairs], odd[L::pairs];
#pragma GCC unroll 19
    for (int q = 0; q < L::directions; ++q) g[q] = load(from[q] + i + part * lanes);
    take_pairs<L>(g, even, odd);
    return Model(g[0], even, odd, numbers);
  };
  const auto model = [&]<int... part>(std::integer_sequence<int, part...>) __attribute__((always_inline)) {
    return std::array<Model, parts>{met(part)...};
  }
  (std::make_integer_sequence<int, parts>{});
  V forward[parts], backward[parts];
  __builtin_prefetch(from[0] + i + ahead);
  for (int part = 0; part < parts; ++part) {
    forward[part] = load(from[0] + i + part * lanes);
    model[part].relax_rest(forward[part]);
  }
  put(0, forward);
  for_each_pair<L>([&](auto p) __attribute__((always_inline)) {
    constexpr int there = 2 * p + 1, back = 2 * p + 2;
    __builtin_prefetch(from[there] + i + ahead);
    __builtin_prefetch(from[back] + i + ahead);
    for (int part = 0; part < parts; ++part) {
      forward[part] = load(from[there] + i + part * lanes);
      backward[part] = load(from[back] + i + part * lanes);
      model[part].template relax<p>(forward[part], backward[part]);
    }
    put(there, forward);
    put(back, backward);
  });
}

template <typename L, template <typename, bool, typename, typename> typename Collision, bool forced, typename Real>
void advance_row(const CollisionStep<Real>& step, Real* const (&from)[L::directions], Real* const (&to)[L::directions],
                 const MeasuredRows& measured, int cells) {
  using Of = VectorOf<Real>;
  using Model = Collision<L, forced, Vector<Real>, Real>;
  const bool measures = !measured.is_empty();
  MeasuredPiece<L> piece(step.numbers);
  Line<L, Real> line;
  for (int i = 0; i < cells; i += Of::in_a_line) {
    const bool is_whole = i + Of::in_a_line <= cells;
    collide_line<L, Model>(
        step.numbers, from, i, [&](int q, const Vector<Real>* values) __attribute__((always_inline)) {
          if (is_whole) put_line(to[q] + i, values, step.streams);
          if (measures || !is_whole) put_line(line.of[q], values, false);
        });
    if (measures) {
      const int place = i % piece.cells, end = place + Of::in_a_line;
      line.template measure<forced>(place, piece);
      if (end == piece.cells || i + Of::in_a_line >= cells)
        piece.put(measured, i - place, std::min(end, place + cells - i), step.streams);
    }
    for (int q = 0; q < L::directions && !is_whole; ++q) std::copy_n(line.of[q], cells - i, to[q] + i);
  }
}

constexpr int wrapped(int index, int cells, bool wraps) {
  return !wraps ? index : index < 0 ? index + cells : index >= cells ? index - cells : index;
}

template <typename L, template <typename, bool, typename, typename> typename Collision, bool forced, typename Real>
void advance_all_rows(const CollisionStep<Real>& step, const PopulationRows<Real>& from, const PopulationRows<Real>& to,
                      const MeasuredRows& measured, const std::array<int, 3>& extent) {
  for (int k = 0; k < extent[2]; ++k)
    for (int j = 0; j < extent[1]; ++j) {
      Real *sources[L::directions], *targets[L::directions];
#pragma GCC unroll 19
      for (int q = 0; q < L::directions; ++q) {
        const std::array<int, 3> c = velocity_of<L>(q);
        const std::ptrdiff_t y = wrapped(j - c[1], extent[1], step.wraps[1]),
                             z = wrapped(k - c[2], extent[2], step.wraps[2]);
        sources[q] = from.first + q * from.stride + z * from.stride_z + y * from.stride_y - c[0];
        targets[q] = to.first + q * to.stride + k * to.stride_z + j * to.stride_y;
      }
      if (step.wraps[0]) close_rows<L>(sources, extent[0], from.stride_y);
      advance_row<L, Collision, forced>(step, sources, targets, measured.from(k * to.stride_z + j * to.stride_y),
                                        extent[0]);
    }
  finish_streams();
}

// What comes in through a face on which cells have their middle: with the part of what goes out that is not in
// equilibrium (Zou & He 1997, Phys. Fluids 9, 1591), and then all of it from the stress (Latt et al. 2008, Phys. Rev. E
// 77, 056703).
template <typename L, typename Real>
void complete(const EdgeCells<Real>& edge, const CollisionNumbers<Real>& numbers, Vector<Real>* g,
              const Vector<Real>* given) {
  using V = Vector<Real>;
  V flat{}, outgoing{};
#pragma GCC unroll 19
  for (int q = 0; q < L::directions; ++q) {
    const int along = velocity_of<L>(q)[static_cast<unsigned>(edge.axis)] * edge.inward;
    if (along == 0) flat += g[q];
    if (along < 0) outgoing += g[q];
  }
  const Real force = static_cast<Real>(edge.inward) * numbers.half_force[edge.axis];
  const V known = (flat + (outgoing + outgoing)) - force;
  const V normal = static_cast<Real>(edge.inward) * given[edge.axis];
  Flow<L, V> flow;
#pragma GCC unroll 19
  for (int a = 0; a < L::axes; ++a) flow.u[a] = given[a];
  flow.excess = (known + normal) / (Real{1} - normal);
  flow.density = flow.excess + Real{1};
#pragma GCC unroll 19
  for (int a = 0; a < L::axes; ++a) flow.momentum[a] = flow.density * flow.u[a];
  const Equilibrium<L, V, Real> equilibrium(flow);
  V even[L::pairs], stress[L::moments], of_pair[L::pairs];
#pragma GCC unroll 19
  for (int p = 0; p < L::pairs; ++p) {
    const Real weight = static_cast<Real>(L::weight[static_cast<unsigned>(p)]);
    const V first = g[2 * p + 1] - weight * (equilibrium.even[p] + equilibrium.odd[p]),
            second = g[2 * p + 2] - weight * (equilibrium.even[p] - equilibrium.odd[p]);
    const int along = L::forward[static_cast<unsigned>(p)][static_cast<unsigned>(edge.axis)] * edge.inward;
    even[p] = (along > 0 ? second : first) + (along < 0 ? first : second);
  }
  L::second(even, stress);
  L::contract(stress, of_pair);
  const V isotropic = L::trace(stress) * static_cast<Real>(1.5);
#pragma GCC unroll 19
  for (int a = 0; a < L::axes; ++a) flow.momentum[a] -= numbers.half_force[a];
  g[0] = static_cast<Real>(L::rest) * (equilibrium.rest - isotropic);
  for_each_pair<L>([&](auto p) {
    const Real weight = static_cast<Real>(L::weight[static_cast<unsigned>(p)]);
    const V both = equilibrium.even[p] + (Real{4.5} * of_pair[p] - isotropic),
            one = Real{3} * along<L, p>(flow.momentum);
    g[2 * p + 1] = weight * (both + one);
    g[2 * p + 2] = weight * (both - one);
  });
}

// What comes in has a little of what the density lacks: so little that sound leaves (Rudy & Strikwerda 1980, J. Comput.
// Phys. 36, 55).
template <typename L, typename Real>
void tend_to_density(const EdgeCells<Real>& edge, Vector<Real>* g) {
  using V = Vector<Real>;
  V even[L::pairs], odd[L::pairs];
  take_pairs<L>(g, even, odd);
  const V missing = edge.stiffness * (edge.excess - (g[0] + L::sum(even)));
#pragma GCC unroll 19
  for (int q = 0; q < L::directions; ++q)
    if (velocity_of<L>(q)[static_cast<unsigned>(edge.axis)] * edge.inward > 0)
      g[q] += static_cast<Real>(6.0 * weight_of<L>(q)) * missing;
}

template <typename L, template <typename, bool, typename, typename> typename Collision, bool forced, typename Real>
void advance_all_cells(const CollisionStep<Real>& step, const EdgeCells<Real>& edge,
                       const PopulationRows<const Real>& from, const PopulationRows<Real>& to) {
  constexpr std::size_t lanes = static_cast<std::size_t>(VectorOf<Real>::lanes), directions = L::directions;
  for (std::size_t n = 0; n < edge.count; n += lanes) {
    Vector<Real> g[L::directions], velocity[3] = {};
    const std::size_t here = edge.count - n < lanes ? edge.count - n : lanes;
    for (std::size_t l = 0; l < lanes; ++l) {
      const std::size_t cell = n + (l < here ? l : 0);
      for (std::size_t q = 0; q < directions; ++q)
        g[q][l] = from.first[edge.sources[cell * directions + q]] + edge.added[cell * directions + q];
      if (edge.velocity != nullptr)
        for (std::size_t a = 0; a < 3; ++a) velocity[a][l] = edge.velocity[3 * cell + a];
    }
    if (edge.velocity != nullptr)
      complete<L>(edge, step.numbers, g, velocity);
    else if (edge.axis >= 0)
      tend_to_density<L>(edge, g);
    Vector<Real> even[L::pairs], odd[L::pairs];
    take_pairs<L>(g, even, odd);
    const Collision<L, forced, Vector<Real>, Real> model(g[0], even, odd, step.numbers);
    model.relax_rest(g[0]);
    for_each_pair<L>([&](auto p) { model.template relax<p>(g[2 * p + 1], g[2 * p + 2]); });
    for (std::size_t l = 0; l < here; ++l)
#pragma GCC unroll 19
      for (int q = 0; q < L::directions; ++q) to.first[q * to.stride + edge.at[n + l]] = g[q][l];
  }
}

template <typename L, typename Real>
void measure_cells(const CollisionStep<Real>& step, const PopulationRows<const Real>& row, int cells,
                   const MeasuredRows& to) {
  MeasuredPiece<L> piece(step.numbers);
  for (int first = 0; first < cells; first += piece.cells) {
    const int here = std::min(cells - first, piece.cells);
    for (int i = 0; i < here; i += VectorOf<double>::lanes) {
      Vector<double> g[L::directions];
      for (int q = 0; q < L::directions; ++q) g[q] = widened(row.first + q * row.stride + first + i);
      piece.template take<true>(g, i);
    }
    piece.put(to, first, here, false);
  }
}

// Calls `f` with lattice, collision and whether there is a force as types.
template <typename Real, typename F>
void with_types(const CollisionStep<Real>& step, F f) {
  const auto with_force = [&]<typename L, template <typename, bool, typename, typename> typename Collision>() {
    const auto& force = step.numbers.force;
    if (force[0] != 0 || force[1] != 0 || force[2] != 0)
      f.template operator()<L, Collision, true>();
    else
      f.template operator()<L, Collision, false>();
  };
  const auto with_collision = [&]<typename L>() {
    switch (step.kind) {
      case CollisionKind::bgk:
        return with_force.template operator()<L, Bgk>();
      case CollisionKind::trt:
        return with_force.template operator()<L, Trt>();
      case CollisionKind::regularised:
        return with_force.template operator()<L, Regularised>();
    }
  };
  if (step.lattice == LatticeKind::d2q9)
    with_collision.template operator()<D2Q9>();
  else
    with_collision.template operator()<D3Q19>();
}

}  // namespace

inline namespace kernels {

template <typename Real>
void advance_box(const CollisionStep<Real>& step, const PopulationRows<Real>& from, const PopulationRows<Real>& to,
                 const MeasuredRows& measured, const std::array<int, 3>& extent) {
  with_types(step, [&]<typename L, template <typename, bool, typename, typename> typename Collision, bool forced>() {
    advance_all_rows<L, Collision, forced>(step, from, to, measured, extent);
  });
}

template <typename Real>
void advance_cells(const CollisionStep<Real>& step, const EdgeCells<Real>& edge, const PopulationRows<const Real>& from,
                   const PopulationRows<Real>& to) {
  with_types(step, [&]<typename L, template <typename, bool, typename, typename> typename Collision, bool forced>() {
    advance_all_cells<L, Collision, forced>(step, edge, from, to);
  });
}

template <typename Real>
void measure_row(const CollisionStep<Real>& step, const PopulationRows<const Real>& row, int cells,
                 const MeasuredRows& to) {
  if (step.lattice == LatticeKind::d2q9)
    measure_cells<D2Q9>(step, row, cells, to);
  else
    measure_cells<D3Q19>(step, row, cells, to);
}

template void advance_box(const CollisionStep<float>&, const PopulationRows<float>&, const PopulationRows<float>&,
                          const MeasuredRows&, const std::array<int, 3>&);
template void advance_box(const CollisionStep<double>&, const PopulationRows<double>&, const PopulationRows<double>&,
                          const MeasuredRows&, const std::array<int, 3>&);
template void advance_cells(const CollisionStep<float>&, const EdgeCells<float>&, const PopulationRows<const float>&,
                            const PopulationRows<float>&);
template void advance_cells(const CollisionStep<double>&, const EdgeCells<double>&, const PopulationRows<const double>&,
                            const PopulationRows<double>&);
template void measure_row(const CollisionStep<float>&, const PopulationRows<const float>&, int, const MeasuredRows&);
template void measure_row(const CollisionStep<double>&, const PopulationRows<const double>&, int, const MeasuredRows&);

}  // namespace kernels

}  // namespace sidestream::solvers
