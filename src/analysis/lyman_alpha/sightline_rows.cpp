#include "analysis/lyman_alpha/sightline_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

namespace sidestream::analysis {

namespace {

// So many neighbouring edges of pixels side by side as a register holds. Bits do not depend on it.
#if defined(__AVX512F__)
constexpr int lanes = 8;
#elif defined(__AVX2__)
constexpr int lanes = 4;
#else
constexpr int lanes = 2;
#endif
using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));
using Bits = std::int64_t __attribute__((vector_size(lanes * sizeof(std::int64_t))));

constexpr double inverse_pi = std::numbers::inv_pi;

// The functions of the profile at nodes: erf(r) / 2, its derivative exp(-r^2) / sqrt(pi), and Dawson's integral.
struct Node {
  double half_erf, gaussian, dawson;
};
constexpr int nodes_a_unit = 128, nodes = static_cast<int>(profile_reach * nodes_a_unit) + 1;

// From node to node by Taylor series in 64 bits: with g' = -2 x g and D' = 1 - 2 x D, the coefficients of each follow
// from the two before.
consteval std::array<Node, nodes> make_nodes() {
  constexpr int terms = 12;
  constexpr long double step = 1.0L / nodes_a_unit;
  std::array<Node, nodes> table{};
  long double half_erf = 0.0L, gaussian = 0.564189583547756286948079451560772586L, dawson = 0.0L;
  for (int n = 0; n < nodes; ++n) {
    table[static_cast<std::size_t>(n)] = {static_cast<double>(half_erf), static_cast<double>(gaussian),
                                          static_cast<double>(dawson)};
    const long double twice_r = 2 * n * step;
    long double g = gaussian, g_before = 0.0L, d = dawson, d_before = 0.0L, power = 1.0L;
    for (int k = 1; k <= terms; ++k) {
      power *= step;
      half_erf += g * power / k;
      const long double g_next = -(twice_r * g + 2 * g_before) / k;
      const long double d_next = ((k == 1 ? 1.0L : 0.0L) - twice_r * d - 2 * d_before) / k;
      gaussian += g_next * power;
      dawson += d_next * power;
      g_before = g;
      g = g_next;
      d_before = d;
      d = d_next;
    }
  }
  table.back().half_erf = 0.5;
  table.back().gaussian = 0.0;
  return table;
}
constexpr std::array<Node, nodes> node_table = make_nodes();

// 1.5 * 2^52: what is added to it is rounded to a whole number, which the last bits hold.
constexpr double rounder = 0x1.8p52;

// Arguments by the nearest node and the way from there.
struct Place {
  Lanes r, d;
  Bits node, sign;
};

[[gnu::always_inline]] inline Place place_of(Lanes x) {
  const Bits sign = std::bit_cast<Bits>(x) & std::numeric_limits<std::int64_t>::min();
  Lanes size = std::bit_cast<Lanes>(std::bit_cast<Bits>(x) ^ sign);
  size = size < profile_reach ? size : Lanes{} + profile_reach;
  const Lanes rounded = size * nodes_a_unit + rounder;
  const Lanes r = (rounded - rounder) * (1.0 / nodes_a_unit);
  return {r, size - r, std::bit_cast<Bits>(rounded) & 0xffff, sign};
}

// `f(0), f(1), ...`, and the lanes of `b` with the last one of `a` before them.
template <typename F>
[[gnu::always_inline]] inline Lanes each_lane(F f) {
  return [&]<int... lane>(std::integer_sequence<int, lane...>) {
    return Lanes{f(lane)...};
  }
  (std::make_integer_sequence<int, lanes>());
}
[[gnu::always_inline]] inline Lanes behind_last(Lanes a, Lanes b) {
  return [&]<int... lane>(std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(a, b, (lanes - 1 + lane)...);
  }
  (std::make_integer_sequence<int, lanes>());
}

template <typename F>
[[gnu::always_inline]] inline Lanes looked_up(const Bits& node, F f) {
  return each_lane([&](int lane) { return f(node_table[static_cast<std::size_t>(node[lane])]); });
}

// erf(r + d) / 2, from that at r by five terms of the Taylor series.
[[gnu::always_inline]] inline Lanes half_erf(const Place& at) {
  const Lanes value = looked_up(at.node, [](const Node& node) { return node.half_erf; });
  const Lanes slope = looked_up(at.node, [](const Node& node) { return node.gaussian; });
  const Lanes r = at.r, d = at.d, rr = r * r;
  const Lanes third = rr * (2.0 / 3.0) - 1.0 / 3.0, fourth = r * (0.5 - rr * (1.0 / 3.0)),
              fifth = rr * (rr * (2.0 / 15.0) - 0.4) + 0.1;
  const Lanes series = d - d * d * (r - d * (third + d * (fourth + d * fifth)));
  return std::bit_cast<Lanes>(std::bit_cast<Bits>(value + slope * series) ^ at.sign);
}

// Dawson's integral: likewise below `profile_reach`, and by its asymptotic series beyond.
[[gnu::always_inline]] inline Lanes dawson_near(const Place& at) {
  const Lanes value = looked_up(at.node, [](const Node& node) { return node.dawson; });
  const Lanes r = at.r, d = at.d;
  const Lanes first = 1.0 - 2.0 * r * value, second = -r * first - value, third = (-2.0 / 3.0) * (r * second + first),
              fourth = -0.5 * (r * third + second), fifth = -0.4 * (r * fourth + third);
  const Lanes near = value + d * (first + d * (second + d * (third + d * (fourth + d * fifth))));
  return std::bit_cast<Lanes>(std::bit_cast<Bits>(near) ^ at.sign);
}
[[gnu::always_inline]] inline Lanes dawson_beyond(Lanes x) {
  const Lanes inverse = 1.0 / x, y = 0.5 * inverse * inverse;
  Lanes series = Lanes{} + 1.0;
  for (int odd = 13; odd > 0; odd -= 2) series = 1.0 + odd * y * series;
  return 0.5 * inverse * series;
}
[[gnu::always_inline]] inline Lanes dawson(const Place& at, Lanes x) {
  const Bits is_beyond = (x >= profile_reach) | (x <= -profile_reach);
  return is_beyond ? dawson_beyond(x) : dawson_near(at);
}

// A cell in the frame of pixels: edge j of the pixels is at j.
struct Absorber {
  double depth, centre, inverse_width, dawson_share;
};

// The integral of the profile from its centre to the edge `first` and those after it.
template <bool has_wings>
[[gnu::always_inline]] inline Lanes profile_integral(const Absorber& cell, double first) {
  const Lanes edges = first + each_lane([](int lane) { return static_cast<double>(lane); });
  const Lanes x = (edges - cell.centre) * cell.inverse_width;
  if constexpr (has_wings) {
    if (x[0] >= profile_reach) return 0.5 - cell.dawson_share * dawson_beyond(x);
    if (x[lanes - 1] <= -profile_reach) return -0.5 - cell.dawson_share * dawson_beyond(x);
  }
  const Place at = place_of(x);
  if constexpr (has_wings) return half_erf(at) - cell.dawson_share * dawson(at, x);
  return half_erf(at);
}

// Adds a cell to the pixels from `first` on: neighbouring pixels share the integral up to the edge between them.
template <bool has_wings>
[[gnu::always_inline]] inline void add_absorber(const Absorber& cell, double first, std::int64_t pixels,
                                                double* depth) {
  Lanes before = has_wings ? profile_integral<has_wings>(cell, first - (lanes - 1)) : Lanes{} - 0.5;
  for (std::int64_t p = 0; p < pixels; p += lanes) {
    const Lanes upper = profile_integral<has_wings>(cell, first + static_cast<double>(p + 1));
    const Lanes added = cell.depth * (upper - behind_last(before, upper));
    const std::int64_t here = has_wings ? std::min<std::int64_t>(lanes, pixels - p) : lanes;
    for (int lane = 0; lane < here; ++lane) depth[p + lane] += added[lane];
    before = upper;
  }
}

constexpr double least_width = 1e-3;  // [pixels]

double width_of(double temperature, const LineScales& scales) {
  return std::max(least_width, scales.width_per_root_kelvin * std::sqrt(temperature));
}

// What of a line lies beyond its end comes in again at its beginning.
void fold(std::span<const double> unfolded, std::span<double> depth) {
  std::copy_n(unfolded.begin(), depth.size(), depth.begin());
  for (std::size_t p = depth.size(), to = 0; p < unfolded.size(); ++p, to = to + 1 == depth.size() ? 0 : to + 1)
    depth[to] += unfolded[p];
}

// The pixels that a cell adds to: from `first` on, so many.
struct Window {
  double first;
  std::int64_t pixels;
};

template <bool has_wings>
Window window_of(double centre, double width, std::int64_t pixels) {
  const double reach = profile_reach * width, first = std::floor(centre - reach);
  const auto thermal = static_cast<std::int64_t>(std::ceil(centre + reach) - first);
  if (!has_wings || thermal >= pixels) return {first, thermal};
  return {std::floor(centre) - static_cast<double>(pixels / 2), pixels};
}

template <bool has_wings>
void broadened_optical_depth(const Sightline& cells, const LineScales& scales, SharedRoom& room,
                             std::span<double> depth) {
  const auto pixels = static_cast<std::int64_t>(depth.size());
  const double widest = width_of(*std::ranges::max_element(cells.temperature), scales);
  const std::int64_t most = window_of<has_wings>(0.5, widest, pixels).pixels + 1 + lanes;
  const std::span<double> work = room.zeros(static_cast<std::size_t>(pixels + most));
  for (std::size_t i = 0; i < depth.size(); ++i) {
    if (cells.density[i] == 0.0) continue;
    const double width = width_of(cells.temperature[i], scales);
    const double centre = static_cast<double>(i) + 0.5 + cells.velocity[i] * scales.pixels_per_velocity;
    const Window window = window_of<has_wings>(centre, width, pixels);
    const std::int64_t first = static_cast<std::int64_t>(window.first) % pixels;
    const Absorber cell{scales.depth_per_density * cells.density[i], centre, 1.0 / width,
                        2.0 * inverse_pi * scales.damping_width / width};
    add_absorber<has_wings>(cell, window.first, window.pixels,
                            &work[static_cast<std::size_t>(first < 0 ? first + pixels : first)]);
  }
  fold(work, depth);
}

}  // namespace

double half_error_function(double x) {
  return half_erf(place_of(Lanes{} + x))[0];
}

double dawson_integral(double x) {
  return dawson(place_of(Lanes{} + x), Lanes{} + x)[0];
}

bool is_physical(const Sightline& cells, const LineScales& scales, double most_pixels) {
  const double most_velocity = most_pixels / scales.pixels_per_velocity,
               root = most_pixels / scales.width_per_root_kelvin, most_temperature = root * root;
  std::int64_t bad = 0;
  for (std::size_t i = 0; i < cells.density.size(); ++i) {
    const double n = cells.density[i], v = cells.velocity[i], t = cells.temperature[i];
    bad += static_cast<std::int64_t>(!((n >= 0.0) & (n <= std::numeric_limits<double>::max()) &
                                       (std::fabs(v) < most_velocity) & (t >= 0.0) & (t < most_temperature)));
  }
  return bad == 0;
}

void local_optical_depth(const Sightline& cells, const LineScales& scales, std::span<double> depth) {
  for (std::size_t i = 0; i < depth.size(); ++i) depth[i] = scales.depth_per_density * cells.density[i];
}

void thermal_optical_depth(const Sightline& cells, const LineScales& scales, SharedRoom& room,
                           std::span<double> depth) {
  broadened_optical_depth<false>(cells, scales, room, depth);
}

void voigt_optical_depth(const Sightline& cells, const LineScales& scales, SharedRoom& room, std::span<double> depth) {
  broadened_optical_depth<true>(cells, scales, room, depth);
}

// 2^k exp(r) with |r| below ln(2) / 2, by the Taylor series of exp.
void transmitted_flux(std::span<const double> depth, double factor, std::span<double> flux) {
  constexpr double lowest = -708.0, ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
  constexpr std::array inverse_factorials{
      1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
      1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};
  constexpr int bias = 1023, mantissa_bits = 52;
  const double* const from = depth.data();
  double* const to = flux.data();
#pragma GCC ivdep
  for (std::size_t i = 0; i < depth.size(); ++i) {
    const double exponent = -factor * from[i], x = exponent > lowest ? exponent : lowest;
    const double rounded = x * std::numbers::log2e + rounder, k = rounded - rounder;
    const double r = (x - k * ln2_high) - k * ln2_low;
    double sum = inverse_factorials[0];
    for (std::size_t n = 1; n < inverse_factorials.size(); ++n) sum = sum * r + inverse_factorials[n];
    const auto power = static_cast<std::uint64_t>(std::bit_cast<std::int64_t>(rounded) + bias) << mantissa_bits;
    to[i] = sum * std::bit_cast<double>(power);
  }
}

}  // namespace sidestream::analysis
