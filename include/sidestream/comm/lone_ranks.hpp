#pragma once

namespace sidestream::comm {

/// Throws core::Error where a launcher has started several ranks and MPI, which has begun, knows of one: the launcher
/// is of another MPI, and each rank would do the whole work. Local.
void require_that_ranks_meet();

/// Ends this process there; the launcher's first rank tells why. For programs. Local.
void end_where_ranks_do_not_meet();

}  // namespace sidestream::comm
