#pragma once

#include <cstdint>

#include "sidestream/core/config.hpp"

namespace sidestream::sims {

/// Adds the keys of an output about the servers that a file lies on.
template <typename T>
void add_stripe_options(core::Table<T>& table, std::int32_t T::*stripes, double T::*stripe_bytes) {
  table.option("stripes", stripes, 0)
      .range(0, 2000)
      .doc("servers of the file system that a file lies on, set before its first byte; 0: as its folder says");
  table.option("stripe_size", stripe_bytes, 0.0)
      .in(core::size_units())
      .at_least(0.0)
      .doc("on each server at a time, a multiple of \"64 KiB\"; 0: as the folder says");
}

/// Throws a core::Error about `output` for a size that no file system takes, or that nobody will use.
void check_stripes(const core::Node& output, std::int32_t stripes, double stripe_bytes);

}  // namespace sidestream::sims
