#include "sidestream/fft/real_line_transform.hpp"

#include "fft/rows.hpp"

namespace sidestream::fft {

struct RealLineTransform::Lines {
  int length;
  RealRows<double> transform;
};

RealLineTransform::RealLineTransform(int length)
    : lines_(std::make_unique<Lines>(Lines{length, RealRows<double>(length, length / 2 + 1)})) {}
RealLineTransform::~RealLineTransform() = default;
RealLineTransform::RealLineTransform(RealLineTransform&&) noexcept = default;
RealLineTransform& RealLineTransform::operator=(RealLineTransform&&) noexcept = default;

int RealLineTransform::modes() const {
  return lines_->length / 2 + 1;
}

void RealLineTransform::forward(std::span<const double> lines, std::span<std::complex<double>> modes) {
  const auto length = lines_->length;
  lines_->transform.forward(lines.data(), length, modes.data(), this->modes(), static_cast<int>(lines.size()) / length);
}

}  // namespace sidestream::fft
