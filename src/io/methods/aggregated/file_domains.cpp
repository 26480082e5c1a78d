#include "io/methods/aggregated/file_domains.hpp"

#include <algorithm>

#include "io/methods/rows.hpp"

namespace sidestream::io {

namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t parts_of(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

}  // namespace

FileDomains::FileDomains(const std::vector<ByteRange>& arrays, const AggregationChoice& choice) : choice_(choice) {
  const std::int64_t buffer = std::clamp<std::int64_t>(choice.buffer_bytes, 1, most_bytes_a_call);
  const std::int64_t unit = buffer < choice.unit_bytes ? 1 : choice.unit_bytes;
  for (const ByteRange& array : arrays) {
    if (array.bytes == 0) continue;
    const std::int64_t begin = array.offset / unit * unit, end = array.offset + array.bytes;
    if (!spans_.empty() && begin <= spans_.back().end)
      spans_.back().end = std::max(spans_.back().end, end);
    else
      spans_.push_back({begin, end, 0});
  }
  std::int64_t bytes = 0;
  for (const Span& span : spans_) bytes += span.end - span.begin;
  const std::int64_t largest = buffer / unit * unit;
  const std::int64_t rounds = std::max<std::int64_t>(1, parts_of(bytes, choice.aggregators * largest));
  const std::int64_t even = rounded_up(parts_of(bytes, choice.aggregators * rounds), unit);
  window_bytes_ = std::clamp(even, unit, largest);
  for (Span& span : spans_) {
    span.first_window = windows_;
    windows_ += parts_of(span.end - span.begin, window_bytes_);
  }
}

FileDomains::Window FileDomains::window_at(std::int64_t offset) const {
  const auto behind = std::ranges::upper_bound(spans_, offset, {}, &Span::begin);
  const Span& span = *std::prev(behind);
  const std::int64_t in_span = (offset - span.begin) / window_bytes_;
  const std::int64_t window = span.first_window + in_span, aggregator = window % choice_.aggregators;
  const std::int64_t begin = span.begin + in_span * window_bytes_;
  return {window / choice_.aggregators, begin, std::min(begin + window_bytes_, span.end),
          static_cast<int>(aggregator * choice_.ranks / choice_.aggregators)};
}

}  // namespace sidestream::io
