#include "sidestream/core/math.hpp"

#include <sleef.h>

#include <cmath>
#include <limits>

// The functions of SLEEF that use neither a fused multiply-add nor any instruction beyond SSE2 ("cinz": consistent
// results without fused multiply-add), never those that choose by the processor.
namespace sidestream::core {

double exp(double x) {
  return Sleef_cinz_expd1_u10purec(x);
}
double log(double x) {
  return Sleef_cinz_logd1_u10purec(x);
}
double log10(double x) {
  return Sleef_cinz_log10d1_u10purec(x);
}
double pow(double x, double y) {
  return Sleef_cinz_powd1_u10purec(x, y);
}
double sin(double x) {
  return Sleef_cinz_sind1_u10purec(x);
}
double cos(double x) {
  return Sleef_cinz_cosd1_u10purec(x);
}
double cbrt(double x) {
  return Sleef_cinz_cbrtd1_u10purec(x);
}
// In 80 bits, whose range holds the squares of all doubles, so that the result is rounded once but for its last bit.
double hypot(double x, double y) {
  if (std::isinf(x) || std::isinf(y)) return std::numeric_limits<double>::infinity();  // also if the other is NaN
  const long double a = x, b = y;
  return static_cast<double>(std::sqrt(a * a + b * b));
}

}  // namespace sidestream::core
