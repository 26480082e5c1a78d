#pragma once

namespace sidestream::stream {

/// ZeroMQ's own, one a process, to its end: threads may use it until then.
void* context();

}  // namespace sidestream::stream
