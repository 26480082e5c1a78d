#pragma once

namespace sidestream::comm {

/// Ends this process with an error where a launcher has started several ranks and MPI, which has begun, knows of one:
/// the launcher is of another MPI, and each rank would do the whole work. The launcher's first rank tells it. Local.
void end_where_ranks_do_not_meet();

}  // namespace sidestream::comm
