#pragma once

#include <cstdint>

#include "io/disk/file_system.hpp"
#include "io/methods/rows.hpp"

namespace sidestream::io {

/// Ranks that write for all, where the options leave it open: no more than the data have portions (units of the file
/// system where these are large, else buffers); four for each server of the file system where it tells them, else two
/// for each node.
int chosen_aggregators(std::int64_t bytes, std::int64_t portion_bytes, int ranks, int nodes, int stripes);

/// Writes all through aggregators: rows travel to ranks that write whole units of the file system, in large
/// pieces; while one window is written, the next is on its way. What a rank knows of the others is what comes to it. A
/// rank that fails goes on taking part, and throws at the end. Collective.
AccessStatistics write_aggregated(const ArrayWrite& work, const FileSystem& system);

}  // namespace sidestream::io
