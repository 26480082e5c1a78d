#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "couple/publish/announcement.hpp"
#include "sidestream/comm/shared_memory.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

/// Where the data of a publish lie that a rank which computes has for the rank of the same number of a job.
struct Loan {
  comm::SharedMemory::Address address;  ///< nowhere where there are none, or they cannot be lent
  std::int64_t words = 0;               ///< of fields and particles
  std::int64_t particle_words = 0;      ///< of these
};

/// What a job is told: a task, the moment at which it is due, and where its data lie.
struct JobOrder {
  std::size_t task = 0;  ///< an index into the configuration
  Announcement announcement;
  mesh::Snapshot head;             ///< moment, geometry and levels
  std::vector<Loan> loans;         ///< by rank
  std::int64_t newest_result = 0;  ///< a task that looks back compares with no result of a later step
  std::int64_t bytes = 0;          ///< charged to the task
  double clock_s = 0.0;            ///< when the events of the run begin, by the clock of this machine
};

std::string packed(const JobOrder& order);
/// Of a run with so many tasks and ranks that compute. Throws core::Error for what is none.
JobOrder order_from(const std::string& bytes, std::size_t tasks, int ranks);

/// An order and room for the answer, in memory that a run lends to a job.
class JobMemory {
 public:
  /// Nothing where the system gives none.
  static std::optional<JobMemory> make(const std::string& order);
  /// Of the run. Throws core::Error where it is not there.
  static JobMemory borrow(const std::string& address);

  /// For one process.
  std::string address() const;
  std::string order() const;
  /// The job. What is too long is left out.
  void answer(const std::string& text);
  /// The run; empty: none was given.
  std::string answer() const;

 private:
  struct Head;
  JobMemory(comm::SharedMemory memory, std::uint64_t order_bytes)
      : memory_(std::move(memory)), order_bytes_(order_bytes) {}
  Head& head() const;
  char* text() const;

  comm::SharedMemory memory_;
  std::uint64_t order_bytes_;  // as the run knows it: a job may write anything over its memory
};

}  // namespace sidestream::couple
