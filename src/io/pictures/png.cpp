#include "io/pictures/png.hpp"

#include <zlib.h>

#include <array>

#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

constexpr int level = 6;

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift & 0xffu));
  return bytes;
}

const Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

// `bits` as zlib has them: negative for a stream without head and checksum.
std::string deflated(std::string_view bytes, int bits, int flush) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw core::Error("there is not enough memory to pack a picture", "", "take fewer pixels, or more ranks");
  std::string packed(deflateBound(&stream, static_cast<uLong>(bytes.size())) + 16, '\0');
  stream.next_in = const_cast<Bytef*>(bytes_of(bytes));  // zlib's own type
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, flush);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string png_head(std::int32_t columns, std::int32_t rows, bool is_opaque) {
  std::string header = big_endian(static_cast<std::uint32_t>(columns)) + big_endian(static_cast<std::uint32_t>(rows));
  header += {8, static_cast<char>(is_opaque ? 2 : 6), 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header);
}

std::string png_chunk(std::string_view type, std::string_view data) {
  std::string chunk = big_endian(static_cast<std::uint32_t>(data.size()));
  chunk.append(type).append(data);
  const uLong sum = crc32(crc32(0, Z_NULL, 0), bytes_of(chunk) + 4, static_cast<uInt>(chunk.size() - 4));
  return chunk + big_endian(static_cast<std::uint32_t>(sum));
}

std::string png_rows(const Pixels& pixels, int b, const mesh::Box& box, bool is_opaque) {
  const std::size_t channels = is_opaque ? 3 : 4;
  constexpr char to_the_left = 1, above = 2;
  const std::size_t row_bytes = channels * static_cast<std::size_t>(box.extent().x) + 1;
  std::string bytes(static_cast<std::size_t>(box.extent().y) * row_bytes, '\0');
  char* next = bytes.data();
  const auto view = pixels.view(b);
  for (std::int32_t y = box.lo.y; y < box.hi.y; ++y) {
    const bool is_first = y == box.lo.y;
    *next++ = is_first ? to_the_left : above;
    for (std::int32_t x = box.lo.x; x < box.hi.x; ++x) {
      const auto pixel = static_cast<std::uint32_t>(view(0, y, x));
      const bool has_none = is_first && x == box.lo.x;
      const auto before = has_none ? 0u : static_cast<std::uint32_t>(is_first ? view(0, y, x - 1) : view(0, y - 1, x));
      for (std::size_t c = 0; c < channels; ++c)
        *next++ = static_cast<char>(((pixel >> (8 * c)) - (before >> (8 * c))) & 0xffu);
    }
  }
  return bytes;
}

std::string zlib_of(std::string_view bytes) {
  return deflated(bytes, MAX_WBITS, Z_FINISH);
}

ZlibPiece zlib_piece(std::string_view bytes) {
  const auto size = static_cast<uInt>(bytes.size());
  return {deflated(bytes, -MAX_WBITS, Z_FULL_FLUSH), adler32(1, bytes_of(bytes), size), std::ssize(bytes)};
}

std::uint64_t joined_checksum(std::uint64_t first, std::uint64_t second, std::int64_t size_bytes) {
  return adler32_combine(static_cast<uLong>(first), static_cast<uLong>(second), static_cast<z_off_t>(size_bytes));
}

std::string zlib_begin() {
  return "\x78\x9c";
}

std::string zlib_end(std::uint64_t checksum) {
  constexpr std::array<char, 2> last_and_empty{3, 0};
  return std::string(last_and_empty.data(), last_and_empty.size()) + big_endian(static_cast<std::uint32_t>(checksum));
}

}  // namespace sidestream::io
