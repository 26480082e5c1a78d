#include "io/methods/aggregated/outgoing_rows.hpp"

#include <algorithm>

namespace sidestream::io {

OutgoingRows::OutgoingRows(const ArrayWrite& work, const FileDomains& domains) : work_(work) {
  for (std::size_t g = 0; g < work.groups.size(); ++g) {
    const ArrayGroup& group = work.groups[g];
    for (std::size_t a = 0; a < group.arrays.size(); ++a)
      for (std::size_t r = 0; r < group.runs.size(); ++r) {
        const std::int64_t row_bytes = group.arrays[a].row_bytes(), bytes = group.runs[r].count * row_bytes;
        if (bytes > 0) held_.push_back({work.offsets[g][a] + group.runs[r].first * row_bytes, bytes, g, a, r});
      }
  }
  std::ranges::sort(held_, {}, &Held::offset);
  for (const Held& held : held_)
    for (std::int64_t offset = held.offset, end = held.offset + held.bytes; offset < end;) {
      if (shares_.empty() || offset >= shares_.back().window.end) shares_.push_back({domains.window_at(offset), {}, 0});
      Share& share = shares_.back();
      const std::int64_t bytes = std::min(end, share.window.end) - offset;
      if (!share.ranges.empty() && share.ranges.back().offset + share.ranges.back().bytes == offset)
        share.ranges.back().bytes += bytes;
      else
        share.ranges.push_back({offset, bytes});
      share.bytes += bytes;
      offset += bytes;
    }
  std::ranges::stable_sort(shares_, {}, [](const Share& share) { return share.window.round; });
}

void OutgoingRows::pack(const Share& share, const Room& room) {
  const auto behind = std::ranges::upper_bound(held_, share.window.begin, {}, &Held::offset);
  auto next = behind == held_.begin() ? behind : std::prev(behind);
  if (next->offset + next->bytes <= share.window.begin) ++next;
  for (; next != held_.end() && next->offset < share.window.end; ++next) {
    const std::int64_t begin = std::max(next->offset, share.window.begin);
    const std::int64_t end = std::min(next->offset + next->bytes, share.window.end);
    pack_part(*next, begin - next->offset, room(begin, end - begin));
  }
}

// A run that several windows have parts of is packed once, and kept until its last part has gone.
void OutgoingRows::pack_part(const Held& held, std::int64_t from, std::span<std::byte> out) {
  const ArrayGroup& group = work_.groups[held.group];
  if (static_cast<std::int64_t>(out.size()) == held.bytes) {
    group.pack(held.array, held.run, out);
    return;
  }
  const auto [place, is_new] = begun_.try_emplace(held.offset);
  Begun& begun = place->second;
  if (is_new) {
    begun.packed.resize(static_cast<std::size_t>(held.bytes));
    begun.left = held.bytes;
    begun_bytes_ += held.bytes;
    scratch_bytes_ = std::max(scratch_bytes_, begun_bytes_);
    group.pack(held.array, held.run, begun.packed);
  }
  std::copy_n(begun.packed.begin() + from, out.size(), out.begin());
  begun.left -= std::ssize(out);
  if (begun.left > 0) return;
  begun_bytes_ -= held.bytes;
  begun_.erase(place);
}

}  // namespace sidestream::io
