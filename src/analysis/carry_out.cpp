#include "sidestream/analysis/analysis.hpp"

namespace sidestream::analysis {

mesh::Result carry_out(const Analysis& analysis, const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                       const mesh::Result* earlier) {
  mesh::Result result =
      earlier == nullptr ? analysis.run(comm, snapshot) : analysis.run_after(comm, snapshot, *earlier);
  if (comm.rank() == 0) result.attributes["finest_level"] = std::int64_t{snapshot.finest_level()};
  return result;
}

}  // namespace sidestream::analysis
