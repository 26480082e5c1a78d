#include "redistribute/neighborhood.hpp"

#include <algorithm>

namespace sidestream::redistribute {

Neighborhood::Neighborhood(const comm::Communicator& comm, const Tables& tables) {
  for (const Traffic* traffic : {&tables.incoming, &tables.outgoing})
    for (const Message& message : traffic->messages) ranks_.push_back(message.peer);
  std::ranges::sort(ranks_);
  const auto repeated = std::ranges::unique(ranks_);
  ranks_.erase(repeated.begin(), repeated.end());
  const int count = static_cast<int>(ranks_.size());
  comm::check(MPI_Dist_graph_create_adjacent(comm.raw(), count, ranks_.data(), MPI_UNWEIGHTED, count, ranks_.data(),
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_),
              "MPI_Dist_graph_create_adjacent");
}

Neighborhood::~Neighborhood() {
  MPI_Comm_free(&graph_);
}

std::size_t Neighborhood::place_of(int peer) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(ranks_, peer) - ranks_.begin());
}

}  // namespace sidestream::redistribute
