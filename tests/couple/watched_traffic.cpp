#include "couple/watched_traffic.hpp"

#include <mpi.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>

#include "couple/in_transit/mailbox.hpp"

namespace sidestream::test {

namespace {

std::mutex mutex;
Traffic traffic;
std::atomic<std::size_t> least_taken{std::numeric_limits<std::size_t>::max()};
std::atomic<std::int64_t> bytes_taken{0};
std::atomic<int> ranks_of_node{0};
std::atomic<bool> is_shared_memory_refused{false};

void see_message(std::vector<Memory> Traffic::*way, const void* data, int count, MPI_Datatype type, int tag) {
  if (tag < couple::data_tag(0)) return;
  int size = 0;
  MPI_Type_size(type, &size);
  const std::scoped_lock lock(mutex);
  (traffic.*way).emplace_back(static_cast<const std::byte*>(data), static_cast<std::size_t>(count) * size);
}

void see_taken(std::size_t bytes) {
  if (bytes >= least_taken) bytes_taken += static_cast<std::int64_t>(bytes);
}

}  // namespace

void watch_traffic(std::size_t least_bytes) {
  const std::scoped_lock lock(mutex);
  traffic = {};
  bytes_taken = 0;
  least_taken = least_bytes;
}

Traffic seen_traffic() {
  const std::scoped_lock lock(mutex);
  Traffic seen = traffic;
  seen.bytes_taken = bytes_taken;
  return seen;
}

void pretend_nodes(int ranks) {
  ranks_of_node = ranks;
}

void refuse_shared_memory(bool does_refuse) {
  is_shared_memory_refused = does_refuse;
}

}  // namespace sidestream::test

using sidestream::test::see_message;
using sidestream::test::see_taken;
using sidestream::test::Traffic;

// These definitions come before those of the libraries.
extern "C" {

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  see_message(&Traffic::sent, data, count, type, tag);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  see_message(&Traffic::asked_for, data, count, type, tag);
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* part) {
  const int ranks = sidestream::test::ranks_of_node;
  if (ranks == 0) return PMPI_Comm_split_type(comm, type, key, info, part);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return PMPI_Comm_split(comm, rank / ranks, key, part);
}

int memfd_create(const char* name, unsigned int flags) noexcept {
  if (!sidestream::test::is_shared_memory_refused) return static_cast<int>(syscall(SYS_memfd_create, name, flags));
  errno = ENOMEM;
  return -1;
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  see_taken(bytes);
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}
}

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  see_taken(bytes);
  return std::malloc(bytes > 0 ? bytes : 1);
}
void* operator new(std::size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
