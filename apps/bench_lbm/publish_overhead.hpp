#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/box.hpp"

namespace sidestream::apps {

/// A run of which each tenth step is published.
struct PublishedFlow {
  mesh::Int3 cells;
  std::string collision, precision, quantity;
  std::int32_t repetitions = 5;
};

/// What publishing a quantity that follows from gradients adds to the bytes that ten steps move, `bytes_an_update` a
/// cell: velocities written and read once, and the quantity written.
double least_overhead(mesh::Int3 cells, double bytes_an_update);

/// What publishing adds to the time of steps, as a share, in each of some turns.
struct Overheads {
  std::vector<double> wall;
  std::vector<double> processor;  ///< of the threads that step: not what others on the machine take from them
};

/// How much longer steps of the simulation `lbm` take while each tenth is published to an analysis on a thread of each
/// rank than without, in each of so many turns of both: 20 steps with two publishes, of which the last is
/// five steps old at the end, so that what the thread takes from the steps counts. Collective.
Overheads publish_overheads(const comm::Communicator& world, const PublishedFlow& flow);

}  // namespace sidestream::apps
