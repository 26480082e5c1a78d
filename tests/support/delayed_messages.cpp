#include "support/delayed_messages.hpp"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace sidestream::test {

namespace {

std::atomic<bool> is_delaying = false;
std::mutex mutex;
std::minstd_rand dice;
int last_source = -1, overtaken = 0;

unsigned throw_dice(unsigned sides) {
  const std::lock_guard lock(mutex);
  return static_cast<unsigned>(dice()) % sides;
}

void maybe_sleep() {
  if (is_delaying && throw_dice(3) == 0) std::this_thread::sleep_for(std::chrono::microseconds(throw_dice(500)));
}

std::vector<int> shuffled_ranks(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  const std::lock_guard lock(mutex);
  std::shuffle(ranks.begin(), ranks.end(), dice);
  return ranks;
}

int probe_in_any_order(int tag, MPI_Comm comm, int* is_there, MPI_Message* message, MPI_Status* status) {
  *is_there = 0;
  for (const int source : shuffled_ranks(comm)) {
    if (throw_dice(2) == 0) continue;
    const int error = PMPI_Improbe(source, tag, comm, is_there, message, status);
    if (error != MPI_SUCCESS || *is_there == 0) continue;
    overtaken += source < last_source ? 1 : 0;
    last_source = source;
    return error;
  }
  return MPI_SUCCESS;
}

}  // namespace

DelayedMessages::DelayedMessages(std::uint64_t seed) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  dice.seed(static_cast<unsigned>(seed * 1000 + static_cast<std::uint64_t>(rank) + 1));
  overtaken = 0;
  is_delaying = true;
}

DelayedMessages::~DelayedMessages() {
  is_delaying = false;
}

int DelayedMessages::overtakings() {
  return overtaken;
}

}  // namespace sidestream::test

// In place of those of the library, as tools that look on are (MPI's profiling interface).
extern "C" {

int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  sidestream::test::maybe_sleep();
  return PMPI_Issend(data, count, type, to, tag, comm, request);
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int* is_there, MPI_Message* message, MPI_Status* status) {
  if (!sidestream::test::is_delaying || source != MPI_ANY_SOURCE)
    return PMPI_Improbe(source, tag, comm, is_there, message, status);
  return sidestream::test::probe_in_any_order(tag, comm, is_there, message, status);
}

int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  sidestream::test::maybe_sleep();
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
}
