#pragma once

#include <cstddef>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/// The widest vectors of the instruction set that a file of kernels is built for, and how they come from memory and go
/// there.
namespace sidestream::solvers {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif
inline constexpr int line_bytes = 64;
/// More rows are read at once than the processor foresees: lines are asked for so many before they are needed.
inline constexpr int lines_ahead = 6;

template <typename Real>
struct VectorOf {
  using Type [[gnu::vector_size(vector_bytes)]] = Real;
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Real));
  static constexpr int in_a_line = line_bytes / static_cast<int>(sizeof(Real));
  static constexpr int parts = in_a_line / lanes;
};
template <typename Real>
using Vector = typename VectorOf<Real>::Type;

template <typename Real>
[[gnu::always_inline]] inline Vector<Real> load(const Real* from) {
  Vector<Real> values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

/// A few numbers as doubles.
template <typename T>
[[gnu::always_inline]] inline Vector<double> widened(const T* from) {
  using Few [[gnu::vector_size(sizeof(T) * VectorOf<double>::lanes)]] = T;
  Few values;
  std::memcpy(&values, from, sizeof values);
  return __builtin_convertvector(values, Vector<double>);
}

/// Past the caches: memory that is written whole is not read first.
template <typename Real>
[[gnu::always_inline]] inline void stream(Real* to, Vector<Real> values) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(values));
#elif defined(__AVX__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(values));
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(values));
#else
  std::memcpy(to, &values, sizeof values);
#endif
}

/// A whole line, which begins where one does if it goes past the caches.
template <typename Real>
[[gnu::always_inline]] inline void put_line(Real* to, const Vector<Real>* parts, bool streams) {
  for (int part = 0; part < VectorOf<Real>::parts; ++part)
    if (streams)
      stream(to + part * VectorOf<Real>::lanes, parts[part]);
    else
      std::memcpy(to + part * VectorOf<Real>::lanes, &parts[part], sizeof parts[part]);
}

/// Before anybody else reads what was streamed.
[[gnu::always_inline]] inline void finish_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace sidestream::solvers
