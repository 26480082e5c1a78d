#pragma once

#include <cstddef>
#include <string>

namespace sidestream::comm {

/// Removes from `folder` the memory that ranks of Open MPI shared and that was left when they were killed: files that
/// carry Open MPI's name, this machine's and this user's, belong to the user, are files and no links, are older than a
/// minute, and that no process has mapped. Looks at processes only where there are such files; removes nothing where it
/// cannot see what a process of this user has mapped. Returns how many.
std::size_t remove_abandoned_memory(const std::string& folder = "/dev/shm");

}  // namespace sidestream::comm
