#include "solvers/spectral/flow_rows.hpp"

#include <cmath>

namespace sidestream::solvers {

namespace {

// A complex number as two doubles: arithmetic of std::complex looks after infinities.
struct Pair {
  double re, im;
};
[[gnu::always_inline]] inline Pair operator+(Pair a, Pair b) {
  return {a.re + b.re, a.im + b.im};
}
[[gnu::always_inline]] inline Pair operator*(double factor, Pair a) {
  return {factor * a.re, factor * a.im};
}
// Of a product in a sum. In vectors, GCC (12) fuses products with differences and sums by turns, whatever
// -ffp-contract says; not across this.
[[gnu::always_inline]] inline double rounded(double product) {
#if __has_builtin(__builtin_assoc_barrier)
  return __builtin_assoc_barrier(product);
#else
  return product;
#endif
}
[[gnu::always_inline]] inline Pair operator*(Pair a, Pair b) {
  return {rounded(a.re * b.re) - rounded(a.im * b.im), rounded(a.re * b.im) + rounded(a.im * b.re)};
}
[[gnu::always_inline]] inline Pair minus_i_times(Pair a) {
  return {a.im, -a.re};
}

template <typename Real>
[[gnu::always_inline]] inline Real* numbers(std::complex<Real>* row) {
  return reinterpret_cast<Real*>(row);
}
template <typename Real>
[[gnu::always_inline]] inline const Real* numbers(const std::complex<Real>* row) {
  return reinterpret_cast<const Real*>(row);
}
template <typename Real>
[[gnu::always_inline]] inline Pair load(const Real* row, int i) {
  return {row[2 * i], row[2 * i + 1]};
}
template <typename Real>
[[gnu::always_inline]] inline void store(Real* row, int i, Pair value) {
  row[2 * i] = static_cast<Real>(value.re);
  row[2 * i + 1] = static_cast<Real>(value.im);
}

// `to_next` and `to_sum`: the nonlinear term times the weights.
template <StageKind kind, typename Real>
[[gnu::always_inline]] inline void advance(int i, double decay, Pair to_next, Pair to_sum, Real* base, Real* sum,
                                           Real* next) {
  if constexpr (kind == StageKind::last) {
    const Pair state = load(sum, i) + to_sum;
    store(base, i, state);
    store(next, i, state);
    return;
  }
  const double factor = kind == StageKind::middle ? 1.0 : decay;
  const Pair begin = load(base, i);
  store(sum, i, factor * ((kind == StageKind::first ? begin : load(sum, i)) + to_sum));
  store(next, i, factor * (begin + to_next));
  if constexpr (kind == StageKind::first) store(base, i, factor * begin);
}

template <StageKind kind, typename Real>
void advance_velocity_by(const ModeRow& row, const StageWeights& weights, const std::array<ComplexRow<Real>, 5>& tensor,
                         const std::array<ComplexRow<Real>, 3>& base, const std::array<ComplexRow<Real>, 3>& sum) {
  Real *const a0 = numbers(tensor[0]), *const a1 = numbers(tensor[1]), *const a2 = numbers(tensor[2]);
  const Real *const a3 = numbers(tensor[3]), *const a4 = numbers(tensor[4]);
  Real *const u = numbers(base[0]), *const v = numbers(base[1]), *const w = numbers(base[2]);
  Real *const su = numbers(sum[0]), *const sv = numbers(sum[1]), *const sw = numbers(sum[2]);
  const double ky = row.ky, kz = row.kz, kyz_squared = ky * ky + kz * kz, decay_yz = row.decay_yz;
  const double *const waves = row.kx, *const decays = row.decay_x;
  const double to_next = weights.next, to_sum = weights.sum;
#pragma GCC ivdep
  for (int i = 0; i < row.modes; ++i) {
    const double kx = waves[i], decay = decays[i] * decay_yz, k_squared = kx * kx + kyz_squared;
    const Pair xx = load(a0, i), yy = load(a1, i), xy = load(a2, i), xz = load(a3, i), yz = load(a4, i);
    const Pair x = kx * xx + ky * xy + kz * xz, y = kx * xy + ky * yy + kz * yz, z = kx * xz + ky * yz;
    const Pair along = (k_squared > 0.0 ? -1.0 / k_squared : 0.0) * (kx * x + ky * y + kz * z);
    const Pair nx = minus_i_times(x + kx * along), ny = minus_i_times(y + ky * along),
               nz = minus_i_times(z + kz * along);
    advance<kind>(i, decay, to_next * nx, to_sum * nx, u, su, a0);
    advance<kind>(i, decay, to_next * ny, to_sum * ny, v, sv, a1);
    advance<kind>(i, decay, to_next * nz, to_sum * nz, w, sw, a2);
  }
}

template <StageKind kind, typename Real>
void advance_scalar_by(const ModeRow& row, const StageWeights& weights, const std::array<ComplexRow<Real>, 3>& flux,
                       const Real* source, const StageWeights& source_weights, Real* base, Real* sum, Real* next) {
  const Real *const fx = numbers(flux[0]), *const fy = numbers(flux[1]), *const fz = numbers(flux[2]);
#pragma GCC ivdep
  for (int i = 0; i < row.modes; ++i) {
    const Pair n = minus_i_times(row.kx[i] * load(fx, i) + row.ky * load(fy, i) + row.kz * load(fz, i));
    const Pair rate = source == nullptr ? Pair{0.0, 0.0} : load(source, i);
    advance<kind>(i, row.decay_x[i] * row.decay_yz, weights.next * n + source_weights.next * rate,
                  weights.sum * n + source_weights.sum * rate, base, sum, next);
  }
}

// Calls `f` with the kind as a constant.
template <typename F>
void with_kind(StageKind kind, F f) {
  switch (kind) {
    case StageKind::first:
      return f.template operator()<StageKind::first>();
    case StageKind::middle:
      return f.template operator()<StageKind::middle>();
    case StageKind::decaying:
      return f.template operator()<StageKind::decaying>();
    case StageKind::last:
      return f.template operator()<StageKind::last>();
  }
}

}  // namespace

inline namespace kernels {

template <typename Real>
void find_fastest_flow(int cells, const std::array<double, 3>& over_dx, const std::array<const Real*, 3>& velocity,
                       core::LargestMagnitude& rate) {
  const auto [u, v, w] = velocity;
  const auto [over_x, over_y, over_z] = over_dx;
  core::LargestMagnitude largest = rate;
  for (int i = 0; i < cells; ++i)
    largest.add(std::fabs(u[i]) * over_x + std::fabs(v[i]) * over_y + std::fabs(w[i]) * over_z);
  rate = largest;
}

template <typename Real>
void multiply_velocities(int cells, const std::array<Real*, 5>& fields) {
  const auto [a, b, c, d, e] = fields;
#pragma GCC ivdep
  for (int i = 0; i < cells; ++i) {
    const Real u = a[i], v = b[i], w = c[i];
    a[i] = u * u - w * w;
    b[i] = v * v - w * w;
    c[i] = u * v;
    d[i] = u * w;
    e[i] = v * w;
  }
}

template <typename Real>
void multiply_scalar(int cells, const std::array<const Real*, 3>& velocity, const Real* scalar,
                     const std::array<Real*, 3>& flux) {
  for (std::size_t axis = 0; axis < 3; ++axis)
#pragma GCC ivdep
    for (int i = 0; i < cells; ++i) flux[axis][i] = velocity[axis][i] * scalar[i];
}

template <typename Real>
void advance_velocity(const ModeRow& row, const StageWeights& weights, const std::array<ComplexRow<Real>, 5>& tensor,
                      const std::array<ComplexRow<Real>, 3>& base, const std::array<ComplexRow<Real>, 3>& sum) {
  with_kind(weights.kind, [&]<StageKind kind>() { advance_velocity_by<kind>(row, weights, tensor, base, sum); });
}

template <typename Real>
void advance_scalar(const ModeRow& row, const StageWeights& weights, const std::array<ComplexRow<Real>, 3>& flux,
                    const std::complex<Real>* source, const StageWeights& source_weights, ComplexRow<Real> base,
                    ComplexRow<Real> sum, ComplexRow<Real> next) {
  with_kind(weights.kind, [&]<StageKind kind>() {
    advance_scalar_by<kind>(row, weights, flux, numbers(source), source_weights, numbers(base), numbers(sum),
                            numbers(next));
  });
}

template <typename Real>
void remove_divergence(const ModeRow& row, const std::array<ComplexRow<Real>, 3>& velocity) {
  Real *const u = numbers(velocity[0]), *const v = numbers(velocity[1]), *const w = numbers(velocity[2]);
  const double ky = row.ky, kz = row.kz;
#pragma GCC ivdep
  for (int i = 0; i < row.modes; ++i) {
    const double kx = row.kx[i], k_squared = kx * kx + ky * ky + kz * kz;
    const Pair x = load(u, i), y = load(v, i), z = load(w, i), sum = kx * x + ky * y + kz * z;
    const Pair along{k_squared > 0.0 ? sum.re / k_squared : 0.0, k_squared > 0.0 ? sum.im / k_squared : 0.0};
    store(u, i, x + -kx * along);
    store(v, i, y + -ky * along);
    store(w, i, z + -kz * along);
  }
}

template <typename Real>
void displace(int modes, const std::complex<double>* phase_x, std::complex<double> phase_yz, ComplexRow<Real> row) {
  const double* const phases = numbers(phase_x);
  Real* const values = numbers(row);
  const Pair yz{phase_yz.real(), phase_yz.imag()};
#pragma GCC ivdep
  for (int i = 0; i < modes; ++i) store(values, i, load(values, i) * (load(phases, i) * yz));
}

template <typename Real>
void square_modes(const ModeRow& row, const std::array<const std::complex<Real>*, 3>& velocity, double* square,
                  double* steepness) {
  const Real *const u = numbers(velocity[0]), *const v = numbers(velocity[1]), *const w = numbers(velocity[2]);
  const auto norm = [](Pair a) { return a.re * a.re + a.im * a.im; };
  const double kyz_squared = row.ky * row.ky + row.kz * row.kz;
#pragma GCC ivdep
  for (int i = 0; i < row.modes; ++i) {
    square[i] = norm(load(u, i)) + norm(load(v, i)) + norm(load(w, i));
    steepness[i] = square[i] * (row.kx[i] * row.kx[i] + kyz_squared);
  }
}

template void find_fastest_flow<float>(int, const std::array<double, 3>&, const std::array<const float*, 3>&,
                                       core::LargestMagnitude&);
template void multiply_velocities<float>(int, const std::array<float*, 5>&);
template void multiply_scalar<float>(int, const std::array<const float*, 3>&, const float*,
                                     const std::array<float*, 3>&);
template void advance_velocity<float>(const ModeRow&, const StageWeights&, const std::array<ComplexRow<float>, 5>&,
                                      const std::array<ComplexRow<float>, 3>&, const std::array<ComplexRow<float>, 3>&);
template void advance_scalar<float>(const ModeRow&, const StageWeights&, const std::array<ComplexRow<float>, 3>&,
                                    const std::complex<float>*, const StageWeights&, ComplexRow<float>,
                                    ComplexRow<float>, ComplexRow<float>);
template void remove_divergence<float>(const ModeRow&, const std::array<ComplexRow<float>, 3>&);
template void displace<float>(int, const std::complex<double>*, std::complex<double>, ComplexRow<float>);
template void square_modes<float>(const ModeRow&, const std::array<const std::complex<float>*, 3>&, double*, double*);
template void find_fastest_flow<double>(int, const std::array<double, 3>&, const std::array<const double*, 3>&,
                                        core::LargestMagnitude&);
template void multiply_velocities<double>(int, const std::array<double*, 5>&);
template void multiply_scalar<double>(int, const std::array<const double*, 3>&, const double*,
                                      const std::array<double*, 3>&);
template void advance_velocity<double>(const ModeRow&, const StageWeights&, const std::array<ComplexRow<double>, 5>&,
                                       const std::array<ComplexRow<double>, 3>&,
                                       const std::array<ComplexRow<double>, 3>&);
template void advance_scalar<double>(const ModeRow&, const StageWeights&, const std::array<ComplexRow<double>, 3>&,
                                     const std::complex<double>*, const StageWeights&, ComplexRow<double>,
                                     ComplexRow<double>, ComplexRow<double>);
template void remove_divergence<double>(const ModeRow&, const std::array<ComplexRow<double>, 3>&);
template void displace<double>(int, const std::complex<double>*, std::complex<double>, ComplexRow<double>);
template void square_modes<double>(const ModeRow&, const std::array<const std::complex<double>*, 3>&, double*, double*);

}  // namespace kernels

}  // namespace sidestream::solvers
