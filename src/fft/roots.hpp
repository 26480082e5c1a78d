#pragma once

#include <complex>
#include <cstdint>

namespace sidestream::fft {

/// exp(-2 pi i k / n), rounded correctly but for the last bit and with the symmetries of the circle exact.
std::complex<double> root_of_unity(std::int64_t k, std::int64_t n);

}  // namespace sidestream::fft
