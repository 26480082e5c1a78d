#pragma once

#include <string>

namespace sidestream::core {

/// The name of this machine.
std::string host_name();

/// The time by its clock, in UTC: `2025-03-31T12:00:00Z`.
std::string present_time();

/// The memory of this machine that nothing uses, or what is left of a limit on this process's group, whichever is less
/// [bytes]; infinite where the system does not say. `system` is the folder in which its /proc and /sys are.
double available_memory_bytes(const std::string& system = "");

}  // namespace sidestream::core
