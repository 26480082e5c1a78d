#include "solvers/lbm/lattice_rows.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "solvers/lbm/row_vectors.hpp"

namespace sidestream::solvers {

namespace {

// Whole lines of a direction one after another, so that each is written at once.
template <typename L, typename Real>
[[gnu::always_inline]] inline void store_line(const Vector<Real> (&line)[VectorOf<Real>::parts][L::directions],
                                              Real* const (&to)[L::directions], int i, bool streams) {
  constexpr int lanes = VectorOf<Real>::lanes;
  if (streams) {
#pragma GCC unroll 19
    for (int q = 0; q < L::directions; ++q)
      for (int part = 0; part < VectorOf<Real>::parts; ++part) stream(to[q] + i + part * lanes, line[part][q]);
  } else {
#pragma GCC unroll 19
    for (int q = 0; q < L::directions; ++q)
      for (int part = 0; part < VectorOf<Real>::parts; ++part)
        std::memcpy(to[q] + i + part * lanes, &line[part][q], sizeof(Vector<Real>));
  }
}

// What leaves one end of a whole row comes in at the other. `g` begins with the cell `first`.
template <typename L, typename Real>
[[gnu::always_inline]] inline void close_row(Vector<Real> (&g)[L::directions], const Real* const (&from)[L::directions],
                                             int first, int cells) {
  using Mask = decltype(g[0] == g[0]);
  using Index = std::remove_cvref_t<decltype(Mask{}[0])>;
  Mask lane{};
  for (int l = 0; l < VectorOf<Real>::lanes; ++l) lane[l] = static_cast<Index>(l);
  const Mask is_first = (lane + static_cast<Index>(first)) == Index{0},
             is_last = (lane + static_cast<Index>(first)) == static_cast<Index>(cells - 1);
#pragma GCC unroll 19
  for (int q = 0; q < L::directions; ++q) {
    const int c = velocity_of<L>(q)[0];
    if (c > 0) g[q] = is_first ? Vector<Real>{} + from[q][cells] : g[q];
    if (c < 0) g[q] = is_last ? Vector<Real>{} + from[q][-1] : g[q];
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

template <typename L, bool forced, typename Real>
[[gnu::noinline]] void measure_line(const Vector<Real> (&line)[VectorOf<Real>::parts][L::directions], int place,
                                    MeasuredPiece<L>& piece) {
  constexpr int lanes = VectorOf<Real>::lanes;
  for (int first = 0; first < VectorOf<Real>::in_a_line; first += VectorOf<double>::lanes) {
    Vector<double> g[L::directions];
#pragma GCC unroll 19
    for (int q = 0; q < L::directions; ++q)
      g[q] = widened(reinterpret_cast<const Real*>(&line[first / lanes][q]) + first % lanes);
    piece.template take<forced>(g, place + first);
  }
}

template <typename L, typename Model, bool forced, typename Real>
void advance_row(const CollisionStep<Real>& step, const Real* const (&from)[L::directions],
                 Real* const (&to)[L::directions], const MeasuredRows& measured, int cells) {
  const bool measures = !measured.is_empty();
  MeasuredPiece<L> piece(step.numbers);
  using Of = VectorOf<Real>;
  for (int i = 0; i < cells; i += Of::in_a_line) {
    Vector<Real> line[Of::parts][L::directions];
    for (int part = 0; part < Of::parts; ++part) {
      Vector<Real> g[L::directions];
#pragma GCC unroll 19
      for (int q = 0; q < L::directions; ++q) {
        g[q] = load(from[q] + i + part * Of::lanes);
        if (part == 0) __builtin_prefetch(from[q] + i + lines_ahead * Of::in_a_line);
      }
      const int first = i + part * Of::lanes;
      if (step.wraps[0] && (first == 0 || first + Of::lanes >= cells)) close_row<L>(g, from, first, cells);
      Model::template collide<L, forced>(g, step.numbers);
#pragma GCC unroll 19
      for (int q = 0; q < L::directions; ++q) line[part][q] = g[q];
    }
    if (measures) {
      const int place = i % piece.cells, end = place + Of::in_a_line;
      measure_line<L, forced, Real>(line, place, piece);
      if (end == piece.cells || i + Of::in_a_line >= cells)
        piece.put(measured, i - place, std::min(end, place + cells - i), step.streams);
    }
    if (i + Of::in_a_line <= cells) {
      store_line<L, Real>(line, to, i, step.streams);
      continue;
    }
#pragma GCC unroll 19
    for (int q = 0; q < L::directions; ++q)
      for (int l = 0; l < cells - i; ++l) to[q][i + l] = line[l / Of::lanes][q][l % Of::lanes];
  }
}

constexpr int wrapped(int index, int cells, bool wraps) {
  return !wraps ? index : index < 0 ? index + cells : index >= cells ? index - cells : index;
}

template <typename L, typename Model, bool forced, typename Real>
void advance_all_rows(const CollisionStep<Real>& step, const PopulationRows<const Real>& from,
                      const PopulationRows<Real>& to, const MeasuredRows& measured, const std::array<int, 3>& extent) {
  for (int k = 0; k < extent[2]; ++k)
    for (int j = 0; j < extent[1]; ++j) {
      const Real* sources[L::directions];
      Real* targets[L::directions];
#pragma GCC unroll 19
      for (int q = 0; q < L::directions; ++q) {
        const std::array<int, 3> c = velocity_of<L>(q);
        const std::ptrdiff_t y = wrapped(j - c[1], extent[1], step.wraps[1]),
                             z = wrapped(k - c[2], extent[2], step.wraps[2]);
        sources[q] = from.first + q * from.stride + z * from.stride_z + y * from.stride_y - c[0];
        targets[q] = to.first + q * to.stride + k * to.stride_z + j * to.stride_y;
      }
      advance_row<L, Model, forced>(step, sources, targets, measured.from(k * to.stride_z + j * to.stride_y),
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
  V even[L::pairs], odd[L::pairs], stress[L::moments], of_pair[L::pairs];
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
  L::along(flow.momentum, odd);
  g[0] = static_cast<Real>(L::rest) * (equilibrium.rest - isotropic);
#pragma GCC unroll 19
  for (int p = 0; p < L::pairs; ++p) {
    const Real weight = static_cast<Real>(L::weight[static_cast<unsigned>(p)]);
    const V both = equilibrium.even[p] + (Real{4.5} * of_pair[p] - isotropic), one = Real{3} * odd[p];
    g[2 * p + 1] = weight * (both + one);
    g[2 * p + 2] = weight * (both - one);
  }
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

template <typename L, typename Model, bool forced, typename Real>
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
    Model::template collide<L, forced>(g, step.numbers);
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
  const auto with_force = [&]<typename L, typename Model>() {
    const auto& force = step.numbers.force;
    if (force[0] != 0 || force[1] != 0 || force[2] != 0)
      f.template operator()<L, Model, true>();
    else
      f.template operator()<L, Model, false>();
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
void advance_box(const CollisionStep<Real>& step, const PopulationRows<const Real>& from,
                 const PopulationRows<Real>& to, const MeasuredRows& measured, const std::array<int, 3>& extent) {
  with_types(step, [&]<typename L, typename Model, bool forced>() {
    advance_all_rows<L, Model, forced>(step, from, to, measured, extent);
  });
}

template <typename Real>
void advance_cells(const CollisionStep<Real>& step, const EdgeCells<Real>& edge, const PopulationRows<const Real>& from,
                   const PopulationRows<Real>& to) {
  with_types(step, [&]<typename L, typename Model, bool forced>() {
    advance_all_cells<L, Model, forced>(step, edge, from, to);
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

template void advance_box(const CollisionStep<float>&, const PopulationRows<const float>&, const PopulationRows<float>&,
                          const MeasuredRows&, const std::array<int, 3>&);
template void advance_box(const CollisionStep<double>&, const PopulationRows<const double>&,
                          const PopulationRows<double>&, const MeasuredRows&, const std::array<int, 3>&);
template void advance_cells(const CollisionStep<float>&, const EdgeCells<float>&, const PopulationRows<const float>&,
                            const PopulationRows<float>&);
template void advance_cells(const CollisionStep<double>&, const EdgeCells<double>&, const PopulationRows<const double>&,
                            const PopulationRows<double>&);
template void measure_row(const CollisionStep<float>&, const PopulationRows<const float>&, int, const MeasuredRows&);
template void measure_row(const CollisionStep<double>&, const PopulationRows<const double>&, int, const MeasuredRows&);

}  // namespace kernels

}  // namespace sidestream::solvers
