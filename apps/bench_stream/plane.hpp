#pragma once

#include <cstdint>

#include "sidestream/core/view.hpp"
#include "sidestream/mesh/box.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::apps {

/// A plane of numbers that tell where they belong; the first number of each block also counts the steps.
struct Plane {
  std::int32_t width = 1024, height = 1024;
  std::int32_t blocks = 1;  ///< of each rank

  std::int64_t bytes() const { return std::int64_t{8} * width * height; }
  /// Slices along y, each cut into some blocks along x, as the ranks of Marrinan et al. (2019) have them.
  mesh::Layout slices(int ranks) const;
};

/// Sets the numbers of step 0.
void set_numbers(const mesh::Box& box, const core::View4<double>& view);

/// Whether the numbers are those of the step. All are looked at in the first step, and later some, so that looking
/// takes no time.
bool are_right(std::int64_t step, const mesh::Box& box, const core::View4<const double>& view);
bool are_right(const mesh::Snapshot& snapshot);

}  // namespace sidestream::apps
