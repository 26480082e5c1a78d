#include "sidestream/mesh/layout.hpp"

#include <fmt/format.h>

#include <numeric>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

namespace {

// Turns counts per bin into the start of each bin, with the total at the end.
void accumulate_starts(std::vector<std::int32_t>& counts) {
  std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), 0);
}

// Buckets [lo, hi) of the spatial hash that `region` meets.
Box buckets_meeting(const Box& region, const Box& domain, Int3 bucket) {
  const Box inside = intersection(region, domain);
  if (inside.is_empty()) return {};
  Box range;
  for (int axis = 0; axis < 3; ++axis) {
    range.lo[axis] = (inside.lo[axis] - domain.lo[axis]) / bucket[axis];
    range.hi[axis] = (inside.hi[axis] - 1 - domain.lo[axis]) / bucket[axis] + 1;
  }
  return range;
}

template <typename F>
void for_each_index(const Box& range, Int3 extent, F f) {
  for (auto z = range.lo.z; z < range.hi.z; ++z)
    for (auto y = range.lo.y; y < range.hi.y; ++y)
      for (auto x = range.lo.x; x < range.hi.x; ++x)
        f(static_cast<std::size_t>((std::int64_t{z} * extent.y + y) * extent.x + x), Int3{x, y, z});
}

}  // namespace

Layout::Layout(Box domain, Periodicity periodic, std::vector<Box> boxes, std::vector<std::int32_t> owners, int level) {
  core::require(boxes.size() == owners.size(), "a layout takes one owner for each box");
  auto data = std::make_shared<Data>();
  data->domain = domain;
  data->periodic = periodic;
  data->level = level;
  data->boxes = std::move(boxes);
  data->owners = std::move(owners);
  index_owners(*data);
  index_buckets(*data);
  data_ = std::move(data);
}

void Layout::index_owners(Data& data) {
  std::int32_t largest = -1;
  for (const auto owner : data.owners) {
    core::require(owner >= 0, "the owner of a box is a rank, 0 or more");
    largest = std::max(largest, owner);
  }
  data.owner_start.assign(static_cast<std::size_t>(largest) + 2, 0);
  for (const auto owner : data.owners) ++data.owner_start[static_cast<std::size_t>(owner)];
  accumulate_starts(data.owner_start);
  data.by_owner.resize(data.boxes.size());
  std::vector<std::int32_t> next = data.owner_start;
  for (std::size_t i = 0; i < data.owners.size(); ++i)
    data.by_owner[static_cast<std::size_t>(next[static_cast<std::size_t>(data.owners[i])]++)] =
        static_cast<std::int32_t>(i);
}

// A bucket is as large as the mean box along each axis, so a box meets few buckets and a bucket few boxes.
void Layout::index_buckets(Data& data) {
  const Int3 cells = data.domain.extent();
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t total = 0;
    for (const Box& box : data.boxes) total += box.extent()[axis];
    const auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(data.boxes.size()));
    data.bucket[axis] = static_cast<std::int32_t>(std::max<std::int64_t>(1, (total + count - 1) / count));
    data.buckets[axis] = std::max(1, (cells[axis] + data.bucket[axis] - 1) / data.bucket[axis]);
  }
  // Few boxes in a large domain: larger buckets keep the table within a few times the number of boxes.
  while (data.buckets.product() > 2 * static_cast<std::int64_t>(data.boxes.size()) + 64) {
    for (int axis = 0; axis < 3; ++axis) {
      const std::int32_t bucket = data.bucket[axis];
      data.bucket[axis] = bucket > cells[axis] / 2 ? std::max(1, cells[axis]) : 2 * bucket;
      data.buckets[axis] = std::max(1, (cells[axis] + data.bucket[axis] - 1) / data.bucket[axis]);
    }
  }
  data.bucket_start.assign(static_cast<std::size_t>(data.buckets.product()) + 1, 0);
  const auto for_each_bucket_of = [&](const Box& box, auto f) {
    for_each_index(buckets_meeting(box, data.domain, data.bucket), data.buckets, f);
  };
  for (const Box& box : data.boxes)
    for_each_bucket_of(box, [&](std::size_t bucket, Int3) { ++data.bucket_start[bucket]; });
  accumulate_starts(data.bucket_start);
  data.in_bucket.resize(static_cast<std::size_t>(data.bucket_start.back()));
  std::vector<std::int32_t> next = data.bucket_start;
  for (std::size_t i = 0; i < data.boxes.size(); ++i)
    for_each_bucket_of(data.boxes[i], [&](std::size_t bucket, Int3) {
      data.in_bucket[static_cast<std::size_t>(next[bucket]++)] = static_cast<std::int32_t>(i);
    });
}

std::span<const std::int32_t> Layout::boxes_of(int rank) const {
  if (!data_ || rank < 0 || static_cast<std::size_t>(rank) + 1 >= data_->owner_start.size()) return {};
  const auto begin = static_cast<std::size_t>(data_->owner_start[static_cast<std::size_t>(rank)]);
  const auto end = static_cast<std::size_t>(data_->owner_start[static_cast<std::size_t>(rank) + 1]);
  return std::span(data_->by_owner).subspan(begin, end - begin);
}

void Layout::for_each_meeting(const Box& region, const std::function<void(std::int32_t)>& f) const {
  if (!data_) return;
  const Box range = buckets_meeting(region, data_->domain, data_->bucket);
  for_each_index(range, data_->buckets, [&](std::size_t bucket, Int3 at) {
    const auto begin = static_cast<std::size_t>(data_->bucket_start[bucket]);
    const auto end = static_cast<std::size_t>(data_->bucket_start[bucket + 1]);
    for (std::size_t entry = begin; entry < end; ++entry) {
      const std::int32_t index = data_->in_bucket[entry];
      const Box common = intersection(box(index), region);
      if (common.is_empty()) continue;
      // A box in several buckets is reported by the first of them that the region meets as well.
      const Box first = buckets_meeting(common, data_->domain, data_->bucket);
      if (first.lo == at) f(index);
    }
  });
}

void Layout::for_each_image_meeting(const Box& region, const std::function<void(std::int32_t, Int3)>& f) const {
  if (!data_ || region.is_empty()) return;
  const Int3 extent = data_->domain.extent();
  Box shifts{{0, 0, 0}, {1, 1, 1}};
  for (int axis = 0; axis < 3; ++axis) {
    if (!data_->periodic[static_cast<std::size_t>(axis)]) continue;
    while (region.lo[axis] < data_->domain.lo[axis] + shifts.lo[axis] * extent[axis]) --shifts.lo[axis];
    while (region.hi[axis] > data_->domain.hi[axis] + (shifts.hi[axis] - 1) * extent[axis]) ++shifts.hi[axis];
  }
  for (auto z = shifts.lo.z; z < shifts.hi.z; ++z)
    for (auto y = shifts.lo.y; y < shifts.hi.y; ++y)
      for (auto x = shifts.lo.x; x < shifts.hi.x; ++x) {
        const Int3 shift{x * extent.x, y * extent.y, z * extent.z};
        for_each_meeting(region.shifted(Int3{} - shift), [&](std::int32_t index) { f(index, shift); });
      }
}

std::int32_t Layout::find(Int3 cell) const {
  std::int32_t found = -1;
  for_each_meeting({cell, cell + Int3{1, 1, 1}}, [&](std::int32_t index) { found = index; });
  return found;
}

Layout Layout::renumbered(std::span<const std::int32_t> rank_of) const {
  Layout result;
  auto data = std::make_shared<Data>(*data_);
  for (auto& owner : data->owners) {
    core::require(static_cast<std::size_t>(owner) < rank_of.size(),
                  "renumbering a layout takes a new rank for each owner");
    owner = rank_of[static_cast<std::size_t>(owner)];
  }
  index_owners(*data);
  result.data_ = std::move(data);
  return result;
}

std::size_t Layout::size_bytes() const {
  if (!data_) return 0;
  return sizeof(Data) + data_->boxes.size() * sizeof(Box) +
         (data_->owners.size() + data_->by_owner.size() + data_->owner_start.size() + data_->in_bucket.size() +
          data_->bucket_start.size()) *
             sizeof(std::int32_t);
}

bool operator==(const Layout& a, const Layout& b) {
  if (a.data_ == b.data_) return true;
  if (!a.data_ || !b.data_) return false;
  return a.data_->domain == b.data_->domain && a.data_->periodic == b.data_->periodic &&
         a.data_->level == b.data_->level && a.data_->boxes == b.data_->boxes && a.data_->owners == b.data_->owners;
}

void check(const Layout& layout) {
  for (std::int32_t i = 0; i < layout.size(); ++i) {
    const Box& box = layout.box(i);
    if (box.is_empty() || !layout.domain().contains(box))
      throw core::Error(fmt::format("box {} of a layout, {}, is empty or leaves the domain {}", i, to_string(box),
                                    to_string(layout.domain())));
    layout.for_each_meeting(box, [&](std::int32_t other) {
      if (other != i)
        throw core::Error(fmt::format("boxes {} and {} of a layout overlap: {} and {}", i, other, to_string(box),
                                      to_string(layout.box(other))));
    });
  }
}

Layout split(const Box& domain, Int3 parts, Periodicity periodic) {
  core::require(parts.x > 0 && parts.y > 0 && parts.z > 0, "a domain is split into at least one part an axis");
  const auto cut = [&](int axis, std::int32_t part) {
    return domain.lo[axis] + static_cast<std::int32_t>(std::int64_t{domain.extent()[axis]} * part / parts[axis]);
  };
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  std::int32_t rank = 0;
  for (std::int32_t z = 0; z < parts.z; ++z)
    for (std::int32_t y = 0; y < parts.y; ++y)
      for (std::int32_t x = 0; x < parts.x; ++x, ++rank) {
        const Box box{{cut(0, x), cut(1, y), cut(2, z)}, {cut(0, x + 1), cut(1, y + 1), cut(2, z + 1)}};
        if (box.is_empty()) continue;
        boxes.push_back(box);
        owners.push_back(rank);
      }
  return {domain, periodic, std::move(boxes), std::move(owners)};
}

}  // namespace sidestream::mesh
