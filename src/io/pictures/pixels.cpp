#include "io/pictures/pixels.hpp"

#include <algorithm>
#include <array>

#include "io/pictures/png.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::io {

using mesh::Box;

namespace {

// The pixels that become one.
class Mean {
 public:
  void add(std::uint32_t pixel) {
    const std::uint32_t opacity = pixel >> 24;
    for (std::size_t c = 0; c < 3; ++c) colours_[c] += opacity * (pixel >> (8 * c) & 0xffu);
    opacity_ += opacity;
    ++count_;
  }
  std::uint32_t pixel() const {
    if (opacity_ == 0) return 0;
    std::uint32_t all = rounded(opacity_, count_) << 24;
    for (std::size_t c = 0; c < 3; ++c) all |= rounded(colours_[c], opacity_) << (8 * c);
    return all;
  }

 private:
  static std::uint32_t rounded(std::uint32_t sum, std::uint32_t count) { return (sum + count / 2) / count; }

  std::array<std::uint32_t, 3> colours_{};
  std::uint32_t opacity_ = 0, count_ = 0;
};

}  // namespace

Box halved(Box pixels, int times) {
  for (; times > 0; --times)
    pixels = {{pixels.lo.x / 2, pixels.lo.y / 2, 0}, {(pixels.hi.x + 1) / 2, (pixels.hi.y + 1) / 2, 1}};
  return pixels;
}

int halvings(const Box& pixels, std::int32_t longest) {
  int times = 0;
  while (std::max(halved(pixels, times).hi.x, halved(pixels, times).hi.y) > longest) ++times;
  return times;
}

Pixels halved(const Pixels& pixels) {
  const mesh::Layout& layout = pixels.layout();
  std::vector<Box> boxes;
  for (const Box& box : layout.boxes()) boxes.push_back(halved(box));
  const std::vector<std::int32_t> owners(layout.owners().begin(), layout.owners().end());
  Pixels half(mesh::Layout(halved(layout.domain()), {}, std::move(boxes), owners), pixels.rank());
  for (int b = 0; b < half.blocks(); ++b) {
    const Box& from = pixels.box(b);
    core::for_each_cell(half.box(b), [&, in = pixels.view(b), out = half.view(b)](int, int row, int column) {
      Mean mean;
      for (std::int32_t y = 2 * row; y < std::min(2 * row + 2, from.hi.y); ++y)
        for (std::int32_t x = 2 * column; x < std::min(2 * column + 2, from.hi.x); ++x)
          mean.add(static_cast<std::uint32_t>(in(0, y, x)));
      out(0, row, column) = static_cast<std::int32_t>(mean.pixel());
    });
  }
  return half;
}

std::string png_of(const Pixels& pixels, int b, const Box& box, bool is_opaque) {
  return png_head(box.extent().x, box.extent().y, is_opaque) +
         png_chunk("IDAT", zlib_of(png_rows(pixels, b, box, is_opaque))) + png_chunk("IEND", "");
}

}  // namespace sidestream::io
