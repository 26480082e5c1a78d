#pragma once

#include <complex>
#include <memory>
#include <span>

namespace sidestream::fft {

/// Transforms single real lines of one length. The bits of a line's modes depend on its numbers and its length alone.
/// Not thread-safe: the buffers belong to the object.
class RealLineTransform {
 public:
  explicit RealLineTransform(int length);
  ~RealLineTransform();
  RealLineTransform(RealLineTransform&&) noexcept;
  RealLineTransform& operator=(RealLineTransform&&) noexcept;

  /// length / 2 + 1
  int modes() const;
  /// sum over i of line(i) exp(-2 pi i k i / length), not normalised, for each of the lines that lie one after the
  /// other in `lines`, of which there is a whole number; their modes do so in `modes`.
  void forward(std::span<const double> lines, std::span<std::complex<double>> modes);

 private:
  struct Lines;
  std::unique_ptr<Lines> lines_;
};

}  // namespace sidestream::fft
