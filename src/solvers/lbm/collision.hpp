#pragma once

#include <type_traits>

#include "solvers/lbm/lattice.hpp"

/// What collisions do with the populations of a few cells side by side, for one file of kernels: `V` is a vector of
/// lanes. Populations are deviations g_i = f_i - w_i, so that nothing is lost in floats beside a density of 1. Of each
/// pair of opposite directions there is a sum (even) and a difference (odd). A collision is made from these, and then
/// gives each pair by itself, so that one pair of directions after another can be read again, relaxed and sent away.
namespace sidestream::solvers {

/// The numbers of a collision.
template <typename Real>
struct CollisionNumbers {
  Real omega = 1;      ///< rate of what viscosity damps: 1 / (3 nu + 1/2)
  Real omega_odd = 1;  ///< of what has the other parity (two relaxation times)
  Real force[3] = {0, 0, 0}, half_force[3] = {0, 0, 0};
};

/// Density (as its deviation from 1), momentum and velocity; the latter two with half of the force (Guo, Zheng & Shi
/// 2002, Phys. Rev. E 65, 046308).
template <typename L, typename V>
struct Flow {
  V excess, density, momentum[3], u[3];
};

template <typename L, typename V>
[[gnu::always_inline]] inline void take_pairs(const V* g, V* even, V* odd) {
#pragma GCC unroll 19
  for (int p = 0; p < L::pairs; ++p) {
    even[p] = g[2 * p + 1] + g[2 * p + 2];
    odd[p] = g[2 * p + 1] - g[2 * p + 2];
  }
}

template <typename L, bool forced, typename V, typename Real>
[[gnu::always_inline]] inline Flow<L, V> flow_of(const V& rest, const V* even, const V* odd,
                                                 const CollisionNumbers<Real>& numbers) {
  Flow<L, V> flow;
  flow.excess = rest + L::sum(even);
  flow.density = flow.excess + Real{1};
  L::first(odd, flow.momentum);
  if constexpr (forced)
#pragma GCC unroll 19
    for (int a = 0; a < L::axes; ++a) flow.momentum[a] += numbers.half_force[a];
  const V inverse = Real{1} / flow.density;
#pragma GCC unroll 19
  for (int a = 0; a < L::axes; ++a) flow.u[a] = flow.momentum[a] * inverse;
  return flow;
}

/// The part of each pair in the equilibrium, of second order in the velocity: half of its sum and half of its
/// difference, over the weight.
template <typename L, typename V, typename Real>
struct Equilibrium {
  V rest, even[L::pairs], odd[L::pairs];

  [[gnu::always_inline]] explicit Equilibrium(const Flow<L, V>& flow) {
    const V half_square = Real{1.5} * L::square(flow.u);
    rest = flow.excess - flow.density * half_square;
    for_each_pair<L>([&](auto p) __attribute__((always_inline)) {
      const V cu = along<L, p>(flow.u);
      even[p] = flow.excess + flow.density * (Real{4.5} * (cu * cu) - half_square);
      odd[p] = Real{3} * along<L, p>(flow.momentum);
    });
  }
};

/// The same of the source that a force is (Guo et al. 2002, eq. 20).
template <typename L, typename V, typename Real>
struct Source {
  V rest, u[3], force[3];

  [[gnu::always_inline]] Source(const Flow<L, V>& flow, const CollisionNumbers<Real>& numbers) {
    V work = flow.u[0] * numbers.force[0];
#pragma GCC unroll 19
    for (int a = 0; a < L::axes; ++a) u[a] = flow.u[a], force[a] = V{} + numbers.force[a];
    for (int a = 1; a < L::axes; ++a) work = work + flow.u[a] * numbers.force[a];
    rest = Real{-3} * work;
  }
  template <int pair>
  [[gnu::always_inline]] V even() const {
    return Real{9} * (along<L, pair>(u) * along<L, pair>(force)) + rest;
  }
  template <int pair>
  [[gnu::always_inline]] V odd() const {
    return Real{3} * along<L, pair>(force);
  }
};
struct NoSource {
  template <typename Flow, typename Numbers>
  NoSource(const Flow&, const Numbers&) {}
};
template <typename L, bool forced, typename V, typename Real>
using SourceOf = std::conditional_t<forced, Source<L, V, Real>, NoSource>;

/// Two relaxation times, of what is even and odd in the velocity (Ginzburg, Verhaeghe & d'Humieres 2008, Commun.
/// Comput. Phys. 3, 427). Half of the sum and half of the difference of each pair go on by themselves, in as few
/// operations as it takes: what they tend to, times their rate, and what the rate leaves of them.
template <typename L, bool forced, typename V, typename Real>
class Trt {
 public:
  [[gnu::always_inline]] Trt(const V& rest, const V* even, const V* odd, const CollisionNumbers<Real>& numbers)
      : Trt(flow_of<L, forced>(rest, even, odd, numbers), numbers, numbers.omega_odd) {}

  [[gnu::always_inline]] void relax_rest(V& g) const {
    constexpr Real rest = static_cast<Real>(L::rest);
    g += omega_ * (rest * isotropic_ - g);
    if constexpr (forced) g += (Real{1} - half * omega_) * rest * source_.rest;
  }
  template <int pair>
  [[gnu::always_inline]] void relax(V& forward, V& backward) const {
    constexpr Real weight = static_cast<Real>(L::weight[pair]);
    const Real rate = omega_ * weight, rate_odd = Real{3} * (omega_odd_ * weight);
    const Real left = half - half * omega_, left_odd = half - half * omega_odd_;
    const V cu = along<L, pair>(u_);
    V even = left * (forward + backward) + (rate * isotropic_ + ((Real{4.5} * rate) * density_) * (cu * cu));
    V odd = left_odd * (forward - backward) + rate_odd * along<L, pair>(momentum_);
    if constexpr (forced) {
      even += (Real{1} - half * omega_) * weight * source_.template even<pair>();
      odd += (Real{1} - half * omega_odd_) * weight * source_.template odd<pair>();
    }
    forward = even + odd;
    backward = even - odd;
  }

 protected:
  [[gnu::always_inline]] Trt(const Flow<L, V>& flow, const CollisionNumbers<Real>& numbers, Real omega_odd)
      : omega_(numbers.omega),
        omega_odd_(omega_odd),
        density_(flow.density),
        isotropic_(flow.excess - flow.density * (Real{1.5} * L::square(flow.u))),
        source_(flow, numbers) {
#pragma GCC unroll 19
    for (int a = 0; a < L::axes; ++a) u_[a] = flow.u[a], momentum_[a] = flow.momentum[a];
  }

 private:
  static constexpr Real half = 0.5;
  Real omega_, omega_odd_;
  V density_, isotropic_, u_[3], momentum_[3];
  [[no_unique_address]] SourceOf<L, forced, V, Real> source_;
};

/// One relaxation time (Bhatnagar, Gross & Krook 1954).
template <typename L, bool forced, typename V, typename Real>
class Bgk : public Trt<L, forced, V, Real> {
 public:
  [[gnu::always_inline]] Bgk(const V& rest, const V* even, const V* odd, const CollisionNumbers<Real>& numbers)
      : Trt<L, forced, V, Real>(flow_of<L, forced>(rest, even, odd, numbers), numbers, numbers.omega) {}
};

/// Moments of third order of what a collision leaves, a_abb = rho u_a u_b^2 + keep (2 u_b s_ab + u_a s_bb) of the part
/// `s` of the stress that is not in equilibrium, and of fourth order where the lattice has one.
template <typename L, typename V, typename Real>
struct HigherMoments {
  const Flow<L, V>& flow;
  const V* stress;
  Real keep;

  [[gnu::always_inline]] V third(int a, int b) const {
    const V &ua = flow.u[a], &ub = flow.u[b], &mixed = stress[a < b ? L::place(a, b) : L::place(b, a)];
    return flow.momentum[a] * (ub * ub) + keep * ((ub + ub) * mixed + ua * stress[b]);
  }
  [[gnu::always_inline]] V fourth() const {
    const V x = flow.u[0], y = flow.u[1], xx = x * x, yy = y * y;
    return flow.density * (xx * yy) + keep * (Real{4} * ((x * y) * stress[2]) + (yy * stress[0] + xx * stress[1]));
  }
};

/// What these add to the pairs: projections on the Hermite polynomials that a lattice has.
template <typename V, typename Real>
[[gnu::always_inline]] inline void add_higher(const HigherMoments<D2Q9, V, Real>& of, V& rest, V* even, V* odd) {
  const V x = of.third(0, 1), y = of.third(1, 0), fourth = of.fourth();
  rest += Real{2.25} * fourth;
  for (int axis = 0; axis < 2; ++axis) {
    even[axis] -= Real{4.5} * fourth;
    even[2 + axis] += Real{9} * fourth;
  }
  odd[0] -= Real{4.5} * x;
  odd[1] -= Real{4.5} * y;
  odd[2] += Real{9} * (x + y);
  odd[3] += Real{9} * (x - y);
}
/// On D3Q19 only sums and differences of two are orthogonal (Jacob, Malaspinas & Sagaut 2018, J. Turbul. 19, 1051).
template <typename V, typename Real>
[[gnu::always_inline]] inline void add_higher(const HigherMoments<D3Q19, V, Real>& of, V&, V*, V* odd) {
  V sum[3] = {V{}, V{}, V{}};
  for (int a = 0, pair = 3; a < 3; ++a)
    for (int b = a + 1; b < 3; ++b) {
      const V first = of.third(a, b), second = of.third(b, a);
      sum[a] += first;
      sum[b] += second;
      odd[pair++] += Real{9} * (first + second);
      odd[pair++] += Real{9} * (first - second);
    }
  for (int axis = 0; axis < 3; ++axis) odd[axis] -= Real{9} * sum[axis];
}

/// Recursive regularisation: of what is not in equilibrium only the stress is kept, and what follows from it in higher
/// orders (Malaspinas 2015, arXiv:1505.06900).
template <typename L, bool forced, typename V, typename Real>
class Regularised {
 public:
  [[gnu::always_inline]] Regularised(const V& rest, const V* even, const V* odd,
                                     const CollisionNumbers<Real>& numbers) {
    V stress[L::moments], tensor[L::moments];
    const Flow<L, V> flow = flow_of<L, forced>(rest, even, odd, numbers);
    const Real keep = Real{1} - numbers.omega;
    L::second(even, stress);
#pragma GCC unroll 19
    for (int a = 0; a < L::axes; ++a) {
      const V own = flow.momentum[a] * flow.u[a];
      stress[a] = (stress[a] - flow.excess * static_cast<Real>(1.0 / 3.0)) - own;
      if constexpr (forced) stress[a] += flow.u[a] * numbers.force[a];
      tensor[a] = own + keep * stress[a];
    }
#pragma GCC unroll 19
    for (int a = 0; a < L::axes; ++a)
      for (int b = a + 1; b < L::axes; ++b) {
        V& one = stress[L::place(a, b)];
        const V own = flow.momentum[a] * flow.u[b];
        one = one - own;
        if constexpr (forced) one += numbers.half_force[a] * flow.u[b] + numbers.half_force[b] * flow.u[a];
        tensor[L::place(a, b)] = own + keep * one;
      }
    L::contract(tensor, even_);
    const V isotropic = flow.excess - Real{1.5} * L::trace(tensor);
    rest_ = isotropic;
    for_each_pair<L>([&](auto p) __attribute__((always_inline)) {
      even_[p] = Real{4.5} * even_[p] + isotropic;
      odd_[p] = Real{3} * along<L, p>(flow.momentum);
    });
    add_higher(HigherMoments<L, V, Real>{flow, stress, keep}, rest_, even_, odd_);
    if constexpr (forced) {
      const Source<L, V, Real> source(flow, numbers);
      rest_ += Real{0.5} * source.rest;
      for_each_pair<L>([&](auto p) __attribute__((always_inline)) {
        even_[p] += Real{0.5} * source.template even<p>();
        odd_[p] += Real{0.5} * source.template odd<p>();
      });
    }
  }

  [[gnu::always_inline]] void relax_rest(V& g) const {
    g = static_cast<Real>(L::rest) * rest_;
  }
  template <int pair>
  [[gnu::always_inline]] void relax(V& forward, V& backward) const {
    constexpr Real weight = static_cast<Real>(L::weight[pair]);
    forward = weight * (even_[pair] + odd_[pair]);
    backward = weight * (even_[pair] - odd_[pair]);
  }

 private:
  V rest_, even_[L::pairs], odd_[L::pairs];
};

}  // namespace sidestream::solvers
