#pragma once

#include <string>

namespace sidestream::core {

/// The name of this machine.
std::string host_name();

/// The time by its clock, in UTC: `2025-03-31T12:00:00Z`.
std::string present_time();

}  // namespace sidestream::core
