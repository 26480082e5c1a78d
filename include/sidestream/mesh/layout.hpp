#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sidestream/mesh/box.hpp"

namespace sidestream::mesh {

using Periodicity = std::array<bool, 3>;

/// Boxes of one refinement level and the rank that owns each: where the cells of a field live. Disjoint boxes inside
/// `domain`, which need not cover it; only what a redistribution fills may overlap. Immutable and replicated; copies
/// share the tables (about 45 bytes a box). The owners are ranks of whatever communicator the layout is used with;
/// `renumbered` maps them into another one.
class Layout {
 public:
  Layout() = default;
  Layout(Box domain, Periodicity periodic, std::vector<Box> boxes, std::vector<std::int32_t> owners, int level = 0);

  std::int32_t size() const { return data_ ? static_cast<std::int32_t>(data_->boxes.size()) : 0; }
  const Box& box(std::int32_t index) const { return data_->boxes[static_cast<std::size_t>(index)]; }
  std::int32_t owner(std::int32_t index) const { return data_->owners[static_cast<std::size_t>(index)]; }
  std::span<const Box> boxes() const { return data_->boxes; }
  std::span<const std::int32_t> owners() const { return data_->owners; }
  const Box& domain() const { return data_->domain; }
  const Periodicity& periodic() const { return data_->periodic; }
  int level() const { return data_->level; }

  /// Indices of the boxes of `rank`, ascending; empty for ranks that own nothing. O(1).
  std::span<const std::int32_t> boxes_of(int rank) const;

  /// Calls `f(index)` for each box that meets `region` (no periodic images), in no particular order; O(1) a box found.
  void for_each_meeting(const Box& region, const std::function<void(std::int32_t)>& f) const;

  /// Calls `f(index, shift)` for each box and each periodic image of it, `box(index).shifted(shift)`, that meets
  /// `region`, which may reach beyond the domain by less than the domain's extent.
  void for_each_image_meeting(const Box& region, const std::function<void(std::int32_t, Int3)>& f) const;

  /// The index of the box that holds `cell`, or -1.
  std::int32_t find(Int3 cell) const;

  /// The same boxes, owned by `rank_of[old owner]`.
  Layout renumbered(std::span<const std::int32_t> rank_of) const;

  /// Bytes of the tables of this layout on this rank.
  std::size_t size_bytes() const;

  /// Equal boxes and owners.
  friend bool operator==(const Layout& a, const Layout& b);

 private:
  struct Data {
    Box domain;
    Periodicity periodic{};
    int level = 0;
    std::vector<Box> boxes;
    std::vector<std::int32_t> owners;
    std::vector<std::int32_t> by_owner, owner_start;  // box indices grouped by owner
    Int3 bucket, buckets;                             // spatial hash: cells a bucket, buckets an axis
    std::vector<std::int32_t> in_bucket, bucket_start;
  };
  static void index_owners(Data& data);
  static void index_buckets(Data& data);

  std::shared_ptr<const Data> data_;
};

/// Throws a core::Error unless the boxes of `layout` are disjoint and inside the domain. O(boxes).
void check(const Layout& layout);

/// `domain` cut into `parts` nearly equal pieces an axis, one box for each rank in the order z, y, x (x fastest).
Layout split(const Box& domain, Int3 parts, Periodicity periodic = {true, true, true});

}  // namespace sidestream::mesh
