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
  const std::int64_t most_rounds = std::max<std::int64_t>(1, bytes / (choice.aggregators * least_window_bytes));
  const std::int64_t rounds =
      std::max(parts_of(bytes, choice.aggregators * largest), std::min(least_rounds, most_rounds));
  const std::int64_t even = rounded_up(parts_of(bytes, choice.aggregators * rounds), unit);
  domain_bytes_ = std::clamp(even, unit, largest);
  for (Span& span : spans_) {
    span.first_domain = domains_;
    domains_ += parts_of(span.end - span.begin, domain_bytes_);
  }
  if (domains_ > 0) {
    const std::int64_t turns = rounds_of_domains();
    choice_.aggregators = static_cast<int>(parts_of(domains_, turns));  // none that the last turn leaves out in all
    const std::int64_t wanted = domains_ > most_divided ? 1 : std::max<std::int64_t>(least_rounds / turns, 1);
    windows_a_domain_ = std::clamp<std::int64_t>(domain_bytes_ / least_window_bytes, 1, wanted);
  }
  window_bytes_ = std::min(rounded_up(parts_of(domain_bytes_, windows_a_domain_), page_bytes), domain_bytes_);
}

FileDomains::Window FileDomains::window_at(std::int64_t offset) const {
  const auto behind = std::ranges::upper_bound(spans_, offset, {}, &Span::begin);
  const Span& span = *std::prev(behind);
  const std::int64_t in_span = (offset - span.begin) / domain_bytes_;
  const std::int64_t domain = span.first_domain + in_span, aggregator = domain % choice_.aggregators;
  const std::int64_t domain_begin = span.begin + in_span * domain_bytes_;
  const std::int64_t in_domain = (offset - domain_begin) / window_bytes_;
  const std::int64_t begin = domain_begin + in_domain * window_bytes_;
  return {domain / choice_.aggregators * windows_a_domain_ + in_domain, begin,
          std::min({begin + window_bytes_, domain_begin + domain_bytes_, span.end}),
          static_cast<int>(aggregator * choice_.ranks / choice_.aggregators)};
}

}  // namespace sidestream::io
