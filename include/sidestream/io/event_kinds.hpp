#pragma once

#include <string>

#include "sidestream/core/registry.hpp"

namespace sidestream::io {

/// What a line of an event log may tell: its `event`.
struct EventKind {
  std::string name, documentation;
};

/// All kinds of events there are, in about the order in which a run tells of them.
const core::Registry<EventKind>& event_kinds();

}  // namespace sidestream::io
