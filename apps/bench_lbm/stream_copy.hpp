#pragma once

#include <cstddef>

namespace sidestream::apps {

/// Copies `count` doubles, a multiple of eight, between arrays that begin on cache lines, past the caches: what is
/// written is not read first. The copy of the STREAM benchmark with streaming stores, in the widest vectors that there
/// are.
void stream_copy(const double* from, double* to, std::size_t count);

}  // namespace sidestream::apps
