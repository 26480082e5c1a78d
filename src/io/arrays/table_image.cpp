#include "io/arrays/table_image.hpp"

#include <algorithm>

#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

constexpr std::int64_t most_zeros_between = std::int64_t{1} << 20;  // sooner written than left out

ByteRange common(const ByteRange& a, const ByteRange& b) {
  const std::int64_t begin = std::max(a.offset, b.offset);
  return {begin, std::min(a.offset + a.bytes, b.offset + b.bytes) - begin};
}

// The parts of [0, end) that are outside `arrays`.
std::vector<ByteRange> outside(const std::vector<ByteRange>& arrays, std::int64_t end) {
  std::vector<ByteRange> parts;
  std::int64_t begin = 0;
  for (const ByteRange& array : arrays) {
    if (array.bytes == 0) continue;
    if (array.offset > begin) parts.push_back({begin, array.offset - begin});
    begin = array.offset + array.bytes;
  }
  if (end > begin) parts.push_back({begin, end - begin});
  return parts;
}

}  // namespace

TableImage::TableImage(const MemoryFile& file, const std::vector<ByteRange>& arrays,
                       const std::vector<ByteRange>& later, std::int64_t end)
    : end_(end) {
  std::vector<ByteRange> used = file.written();
  used.insert(used.end(), later.begin(), later.end());
  std::ranges::sort(used, {}, &ByteRange::offset);
  for (const ByteRange& part : outside(arrays, end)) {
    std::int64_t last = part.offset - most_zeros_between - 1;
    for (const ByteRange& range : used) {
      const ByteRange here = common(part, range);
      if (here.bytes <= 0) continue;
      if (here.offset - last > most_zeros_between) pieces_.push_back({here.offset, {}});
      last = std::max(last, here.offset + here.bytes);
      Piece& piece = pieces_.back();
      piece.bytes.resize(static_cast<std::size_t>(last - piece.offset));
    }
  }
  for (Piece& piece : pieces_) file.read(piece.offset, piece.bytes);
}

void TableImage::put(std::int64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto behind = std::ranges::upper_bound(pieces_, offset, {}, &Piece::offset);
  core::require(behind != pieces_.begin(), "tables are put where there is room for them");
  Piece& piece = *(behind - 1);
  core::require(offset + static_cast<std::int64_t>(bytes.size()) <= piece.end(),
                "tables are put where there is room for them");
  std::ranges::copy(bytes, piece.bytes.begin() + (offset - piece.offset));
}

void TableImage::read(std::int64_t offset, std::span<std::byte> bytes) const {
  std::ranges::fill(bytes, std::byte{});
  for (const Piece& piece : pieces_) {
    const ByteRange here = common({offset, static_cast<std::int64_t>(bytes.size())},
                                  {piece.offset, static_cast<std::int64_t>(piece.bytes.size())});
    if (here.bytes > 0)
      std::copy_n(piece.bytes.begin() + (here.offset - piece.offset), here.bytes,
                  bytes.begin() + (here.offset - offset));
  }
}

void TableImage::append(std::span<const std::byte> bytes) {
  const bool is_apart = pieces_.empty() || end_ - pieces_.back().end() > 0;
  if (is_apart) pieces_.push_back({end_, {}});
  std::vector<std::byte>& last = pieces_.back().bytes;
  last.insert(last.end(), bytes.begin(), bytes.end());
  end_ += static_cast<std::int64_t>(bytes.size());
}

void TableImage::write_to(OutputFile& file) const {
  for (const Piece& piece : pieces_) file.write_at(piece.offset, piece.bytes);
}

}  // namespace sidestream::io
