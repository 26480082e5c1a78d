#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/pictures/pixels.hpp"

namespace sidestream::io {

/// The parts of a PNG file (ISO/IEC 15948) of 8 bits a channel, red, green and blue, and how opaque unless all pixels
/// are. Its data are one stream of zlib (RFC 1950) in any number of chunks: pieces that are packed apart, each ending
/// at a byte, may follow one another.

/// The signature and the header.
std::string png_head(std::int32_t columns, std::int32_t rows, bool is_opaque);

/// A chunk with its length and checksum.
std::string png_chunk(std::string_view type, std::string_view data);

/// The rows of `box` in block `b` as they are packed: each behind the number of its filter, the first as differences to
/// the pixel on the left, the others to the pixel above. The filter of the first looks at no other row.
std::string png_rows(const Pixels& pixels, int b, const mesh::Box& box, bool is_opaque);

/// A whole stream of `bytes`.
std::string zlib_of(std::string_view bytes);

/// A piece of a stream: its packed bytes, and what is needed to know the checksum of the whole.
struct ZlibPiece {
  std::string packed;
  std::uint64_t checksum = 1;  ///< Adler-32
  std::int64_t size_bytes = 0;
};
ZlibPiece zlib_piece(std::string_view bytes);
/// The checksum of what has the checksum `first` and then `size_bytes` with the checksum `second`.
std::uint64_t joined_checksum(std::uint64_t first, std::uint64_t second, std::int64_t size_bytes);
/// What stands before and behind the pieces of a stream.
std::string zlib_begin();
std::string zlib_end(std::uint64_t checksum);

}  // namespace sidestream::io
