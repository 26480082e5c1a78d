#include "sims/lbm/picture.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>

#include "sidestream/core/input_file.hpp"

namespace sidestream::sims {

namespace {

// Rec. 709, in thousandths of what each channel adds to the brightness.
constexpr std::int32_t red = 213, green = 715, blue = 72, half_of_white = 127500, half_opaque = 128;

/// A picture in memory, as the library's simple interface holds it.
struct Reader {
  png_image image{};

  explicit Reader(const std::string& bytes) {
    image.version = PNG_IMAGE_VERSION;
    png_image_begin_read_from_memory(&image, bytes.data(), bytes.size());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_image_free(&image); }

  void require_good(const core::Node& node, const std::string& path) const {
    if (PNG_IMAGE_FAILED(image))
      core::reject(node, fmt::format("`{}` is no picture that can be read: {}", path, image.message),
                   "give a PNG file");
  }
};

}  // namespace

std::int32_t Picture::dark_rows() const {
  std::int32_t first = height, last = -1;
  for (std::int32_t j = 0; j < height; ++j)
    for (std::int32_t i = 0; i < width; ++i)
      if (is_dark(i, j)) {
        first = std::min(first, j);
        last = j;
      }
  return std::max(0, last - first + 1);
}

Picture read_picture(const std::string& path, const core::Node& node, std::int32_t width, std::int32_t height) {
  const std::string bytes = core::read_input_file(path, {.noun = "the picture of barriers"});
  Reader reader(bytes);
  reader.require_good(node, path);
  if (reader.image.width != static_cast<png_uint_32>(width) || reader.image.height != static_cast<png_uint_32>(height))
    core::reject(node,
                 fmt::format("the picture has {} x {} pixels, and the flow {} x {} cells", reader.image.width,
                             reader.image.height, width, height),
                 "draw a pixel for each cell, or take the picture's size as `mesh.cells`");
  reader.image.format = PNG_FORMAT_RGBA;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(reader.image));
  png_image_finish_read(&reader.image, nullptr, pixels.data(), 0, nullptr);
  reader.require_good(node, path);
  Picture picture{width, height, {}};
  for (std::int32_t j = height; j-- > 0;)
    for (std::int32_t i = 0; i < width; ++i) {
      const std::uint8_t* const pixel =
          &pixels[4 * (static_cast<std::size_t>(j) * static_cast<std::size_t>(width) + static_cast<std::size_t>(i))];
      const std::int32_t brightness = red * pixel[0] + green * pixel[1] + blue * pixel[2];
      picture.dark.push_back(pixel[3] >= half_opaque && brightness < half_of_white);
    }
  return picture;
}

}  // namespace sidestream::sims
