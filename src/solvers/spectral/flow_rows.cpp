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
[[gnu::always_inline]] inline Pair operator*(Pair a, Pair b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
[[gnu::always_inline]] inline Pair minus_i_times(Pair a) {
  return {a.im, -a.re};
}

[[gnu::always_inline]] inline double* doubles(std::complex<double>* row) {
  return reinterpret_cast<double*>(row);
}
[[gnu::always_inline]] inline const double* doubles(const std::complex<double>* row) {
  return reinterpret_cast<const double*>(row);
}
[[gnu::always_inline]] inline Pair load(const double* row, int i) {
  return {row[2 * i], row[2 * i + 1]};
}
[[gnu::always_inline]] inline void store(double* row, int i, Pair value) {
  row[2 * i] = value.re;
  row[2 * i + 1] = value.im;
}

// `to_next` and `to_sum`: the nonlinear term times the weights.
template <StageKind kind>
[[gnu::always_inline]] inline void advance(int i, double decay, Pair to_next, Pair to_sum, double* base, double* sum,
                                           double* next) {
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

template <StageKind kind>
void advance_velocity_by(const ModeRow& row, const StageWeights& weights, const std::array<ComplexRow, 5>& tensor,
                         const std::array<ComplexRow, 3>& base, const std::array<ComplexRow, 3>& sum) {
  double *const a0 = doubles(tensor[0]), *const a1 = doubles(tensor[1]), *const a2 = doubles(tensor[2]);
  const double *const a3 = doubles(tensor[3]), *const a4 = doubles(tensor[4]);
  double *const u = doubles(base[0]), *const v = doubles(base[1]), *const w = doubles(base[2]);
  double *const su = doubles(sum[0]), *const sv = doubles(sum[1]), *const sw = doubles(sum[2]);
  const double ky = row.ky, kz = row.kz, kyz_squared = ky * ky + kz * kz, decay_yz = row.decay_yz;
  const double *const waves = row.kx, *const decays = row.decay_x;
  const double to_next = weights.next, to_sum = weights.sum;
#pragma GCC ivdep
  for (int i = 0; i < row.modes; ++i) {
    const double kx = waves[i], decay = decays[i] * decay_yz, k_squared = kx * kx + kyz_squared;
    const Pair xx = load(a0, i), yy = load(a1, i), xy = load(a2, i), xz = load(a3, i), yz = load(a4, i);
    const Pair x = kx * xx + ky * xy + kz * xz, y = kx * xy + ky * yy + kz * yz, z = kx * xz + ky * yz;
    const Pair along = (k_squared > 0.0 ? -1.0 / k_squared : 0.0) * (kx * x + ky * y + kz * z);
    const Pair nx = minus_i_times(x + kx * along), ny = minus_i_times(y + ky * along), nz = minus_i_times(z + kz * along);
    advance<kind>(i, decay, to_next * nx, to_sum * nx, u, su, a0);
    advance<kind>(i, decay, to_next * ny, to_sum * ny, v, sv, a1);
    advance<kind>(i, decay, to_next * nz, to_sum * nz, w, sw, a2);
  }
}

template <StageKind kind>
void advance_scalar_by(const ModeRow& row, const StageWeights& weights, const std::array<ComplexRow, 3>& flux,
                       const double* source, const StageWeights& source_weights, double* base, double* sum,
                       double* next) {
  const double *const fx = doubles(flux[0]), *const fy = doubles(flux[1]), *const fz = doubles(flux[2]);
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

void find_fastest_flow(int cells, const std::array<double, 3>& over_dx, const std::array<const double*, 3>& velocity,
                       core::LargestMagnitude& rate) {
  const auto [u, v, w] = velocity;
  const auto [over_x, over_y, over_z] = over_dx;
  core::LargestMagnitude largest = rate;
  for (int i = 0; i < cells; ++i)
    largest.add(std::fabs(u[i]) * over_x + std::fabs(v[i]) * over_y + std::fabs(w[i]) * over_z);
  rate = largest;
}

void multiply_velocities(int cells, const std::array<double*, 5>& fields) {
  const auto [a, b, c, d, e] = fields;
#pragma GCC ivdep
  for (int i = 0; i < cells; ++i) {
    const double u = a[i], v = b[i], w = c[i];
    a[i] = u * u - w * w;
    b[i] = v * v - w * w;
    c[i] = u * v;
    d[i] = u * w;
    e[i] = v * w;
  }
}

void multiply_scalar(int cells, const std::array<const double*, 3>& velocity, const double* scalar,
                     const std::array<double*, 3>& flux) {
  for (std::size_t axis = 0; axis < 3; ++axis)
#pragma GCC ivdep
    for (int i = 0; i < cells; ++i) flux[axis][i] = velocity[axis][i] * scalar[i];
}

void advance_velocity(const ModeRow& row, const StageWeights& weights, const std::array<ComplexRow, 5>& tensor,
                      const std::array<ComplexRow, 3>& base, const std::array<ComplexRow, 3>& sum) {
  with_kind(weights.kind, [&]<StageKind kind>() { advance_velocity_by<kind>(row, weights, tensor, base, sum); });
}

void advance_scalar(const ModeRow& row, const StageWeights& weights, const std::array<ComplexRow, 3>& flux,
                    const std::complex<double>* source, const StageWeights& source_weights, ComplexRow base,
                    ComplexRow sum, ComplexRow next) {
  with_kind(weights.kind, [&]<StageKind kind>() {
    advance_scalar_by<kind>(row, weights, flux, doubles(source), source_weights, doubles(base), doubles(sum),
                            doubles(next));
  });
}

void displace(int modes, const std::complex<double>* phase_x, std::complex<double> phase_yz, ComplexRow row) {
  const double* const phases = doubles(phase_x);
  double* const values = doubles(row);
  const Pair yz{phase_yz.real(), phase_yz.imag()};
#pragma GCC ivdep
  for (int i = 0; i < modes; ++i) store(values, i, load(values, i) * (load(phases, i) * yz));
}

void square_modes(const ModeRow& row, const std::array<const std::complex<double>*, 3>& velocity, double* square,
                  double* steepness) {
  const double *const u = doubles(velocity[0]), *const v = doubles(velocity[1]), *const w = doubles(velocity[2]);
  const auto norm = [](Pair a) { return a.re * a.re + a.im * a.im; };
  const double kyz_squared = row.ky * row.ky + row.kz * row.kz;
#pragma GCC ivdep
  for (int i = 0; i < row.modes; ++i) {
    square[i] = norm(load(u, i)) + norm(load(v, i)) + norm(load(w, i));
    steepness[i] = square[i] * (row.kx[i] * row.kx[i] + kyz_squared);
  }
}

}  // namespace kernels

}  // namespace sidestream::solvers
