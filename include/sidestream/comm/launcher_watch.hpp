#pragma once

namespace sidestream::comm {

/// Ends this process, at most two seconds later, when the one that started it is gone: a launcher (or its daemon on
/// this machine) that was killed leaves its ranks behind, and MPI does not end those that compute. The same for a
/// process that answers another, which says so by SIDESTREAM_ANSWERS in the environment. Does nothing where no launcher
/// started it: then it may outlive whoever did. A thread that sleeps, once a process. Local.
void end_with_the_launcher();

}  // namespace sidestream::comm
