#include "io/methods/rows.hpp"

#include <algorithm>

namespace sidestream::io {

std::vector<Piece> pieces_of(const ArrayGroup& group) {
  std::vector<Piece> pieces;
  for (std::size_t r = 0; r < group.runs.size(); ++r) {
    const RowRun& run = group.runs[r];
    if (run.count == 0) continue;
    if (!pieces.empty() && pieces.back().first + pieces.back().count == run.first) {
      pieces.back().count += run.count;
      pieces.back().last_run = r + 1;
    } else {
      pieces.push_back({run.first, run.count, r, r + 1});
    }
  }
  return pieces;
}

void pack_piece(const ArrayGroup& group, std::size_t array, const Piece& piece, std::span<std::byte> out) {
  const std::int64_t row_bytes = group.arrays[array].row_bytes();
  for (std::size_t r = piece.first_run; r < piece.last_run; ++r) {
    if (group.runs[r].count == 0) continue;
    const auto bytes = static_cast<std::size_t>(group.runs[r].count * row_bytes);
    group.pack(array, r, out.first(bytes));
    out = out.subspan(bytes);
  }
}

std::int64_t own_rows(const ArrayGroup& group) {
  std::int64_t rows = 0;
  for (const RowRun& run : group.runs) rows += run.count;
  return rows;
}

void pack_array(const ArrayGroup& group, std::size_t array, std::span<std::byte> out) {
  if (!group.runs.empty()) pack_piece(group, array, {0, own_rows(group), 0, group.runs.size()}, out);
}

std::vector<Part> parts_of(const ArrayGroup& group, std::int64_t row_bytes, std::int64_t most_bytes) {
  const std::int64_t most_rows = std::max<std::int64_t>(1, most_bytes / std::max<std::int64_t>(1, row_bytes));
  std::vector<Part> parts;
  std::int64_t start = 0;
  for (const Piece& piece : pieces_of(group)) {
    for (std::int64_t done = 0; done < piece.count;) {
      if (parts.empty() || parts.back().count == most_rows) parts.push_back({start, 0, {}});
      Part& part = parts.back();
      const std::int64_t count = std::min(piece.count - done, most_rows - part.count);
      part.ranges.push_back({piece.first + done, count});
      part.count += count;
      start += count;
      done += count;
    }
  }
  return parts;
}

const Part& part_or_none(const std::vector<Part>& parts, std::size_t p) {
  static const Part none;
  return p < parts.size() ? parts[p] : none;
}

}  // namespace sidestream::io
