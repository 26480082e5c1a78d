#pragma once

/// The functions of mathematics whose last bit is free, with the same bits on every x86-64 processor. Those of the C
/// library choose instructions by the processor and round differently with them, so nothing that reaches a state or a
/// result calls them (`tools/check_arithmetic.py` looks). What is exact or correctly rounded everywhere (`std::sqrt`,
/// `std::fabs`, `std::floor`, `std::ldexp`, ...) stays that of the standard library.
///
/// Errors are below one unit in the last place over the whole range, subnormal numbers included; powers, logarithms to
/// base ten and cube roots that are doubles come out exactly. Zeros, infinities and NaN
/// are treated as ISO C (annex F) has it; `errno` and floating-point flags are not set. 15 to 75 ns a call.
namespace sidestream::core {

double exp(double x);
double log(double x);
double log10(double x);
double pow(double x, double y);
double sin(double x);  ///< [radians], of any size
double cos(double x);  ///< [radians], of any size
double cbrt(double x);
double hypot(double x, double y);

}  // namespace sidestream::core
