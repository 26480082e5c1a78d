#include "bench_lbm/stream_copy.hpp"

#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sidestream::apps {

namespace {

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void copy_wide(const double* from, double* to, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 8) _mm512_stream_pd(to + i, _mm512_load_pd(from + i));
}
void copy_narrow(const double* from, double* to, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 2) _mm_stream_pd(to + i, _mm_load_pd(from + i));
}
#endif

}  // namespace

void stream_copy(const double* from, double* to, std::size_t count) {
#if defined(__x86_64__)
  static const bool is_wide = __builtin_cpu_supports("avx512f");
  (is_wide ? copy_wide : copy_narrow)(from, to, count);
  _mm_sfence();
#else
  std::memcpy(to, from, count * sizeof(double));
#endif
}

}  // namespace sidestream::apps
