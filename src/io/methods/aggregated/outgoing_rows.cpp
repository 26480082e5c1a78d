#include "io/methods/aggregated/outgoing_rows.hpp"

#include <algorithm>

namespace sidestream::io {

OutgoingRows::OutgoingRows(const ArrayWrite& work, std::span<const std::size_t> groups, const FileDomains& domains)
    : work_(work) {
  for (const std::size_t g : groups) {
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
}

void OutgoingRows::pack(const Share& share, const Room& room) {
  for (; next_ < held_.size() && held_[next_].offset < share.window.end; ++next_, done_ = 0) {
    const Held& held = held_[next_];
    const std::int64_t offset = held.offset + done_;
    const std::int64_t bytes = std::min(held.bytes - done_, share.window.end - offset);
    pack_part(held, done_, room(offset, bytes));
    done_ += bytes;
    if (done_ < held.bytes) break;
  }
}

// A run that two windows have parts of is packed once.
void OutgoingRows::pack_part(const Held& held, std::int64_t from, std::span<std::byte> out) {
  const ArrayGroup& group = work_.groups[held.group];
  if (static_cast<std::int64_t>(out.size()) == held.bytes) {
    group.pack(held.array, held.run, out);
    return;
  }
  if (in_scratch_ != &held) {
    scratch_.resize(static_cast<std::size_t>(held.bytes));
    group.pack(held.array, held.run, scratch_);
    in_scratch_ = &held;
  }
  std::copy_n(scratch_.begin() + from, out.size(), out.begin());
}

}  // namespace sidestream::io
