#pragma once

#include <string>

namespace sidestream::test {

/// The tables `[mesh]` and `[cosmology]` of a universe that takes a moment; further keys of the last may follow.
inline const std::string small_universe = R"(
[mesh]
cells = [16, 16, 16]
block = 8
[cosmology]
box = "32 Mpc"
z_start = 50
z_end = 0
seed = 3
)";

}  // namespace sidestream::test
