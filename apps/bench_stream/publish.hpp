#pragma once

#include <cstdint>
#include <string>

#include "plane.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::apps {

/// What the job that publishes does.
struct PublishOrder {
  std::string folder, listen = "local", keys, policy = "block";
  Plane plane;
  std::int32_t steps = 10;
  std::int32_t ahead = 1;     ///< steps that may wait for readers; with one, the next is made when this one has gone
  std::int32_t wait_for = 1;  ///< readers
  std::int32_t work_ms = 0;   ///< of a step: processor time of all ranks together
  std::int32_t core = -1;     ///< where the threads that send run; -1: where their ranks do
  bool gives_rows = false;    ///< to a `RowReader` too
};

/// Publishes its steps, prints in JSON how long each took the first rank, how much of that the publish and how much
/// processor time of all its threads, and ends when readers have what they want. Collective.
void publish(const comm::Communicator& world, const PublishOrder& order);

}  // namespace sidestream::apps
