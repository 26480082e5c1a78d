#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sims/host/host_state.hpp"
#include "sims/host/look_at_rims.hpp"

namespace sidestream::sims {

/// Looks at what a program does with its session, where `sidestream conformance` started it: the environment variable
/// SIDESTREAM_CONFORMANCE names a folder, in which each rank tells of its calls and of what it finds, a JSON object a
/// line. Costs copies of all fields, and exchanges at each step.
class Conformance {
 public:
  /// Nothing where the variable is not set. Collective on the ranks that compute.
  static std::unique_ptr<Conformance> wanted(const comm::Communicator& world, const comm::Communicator& compute);
  ~Conformance();
  Conformance(const Conformance&) = delete;
  Conformance& operator=(const Conformance&) = delete;

  /// Waits for the other ranks to make the same call. Throws core::Error where they make another one, on all ranks, or
  /// none until the patience is over, on this one.
  void call(const std::string& name);
  /// Something was refused: it is told of before it goes on to the program.
  void refused(const char* check, const core::Error& error);
  /// Before arrays are read: whether they are there, and what their ghost cells, their order and their numbers
  /// are, and those of particles. Throws core::Error
  /// on all ranks where memory is not there. Collective.
  void before(const HostState& state);
  /// After arrays have been read: whether they are as before. Local.
  void after(const HostState& state);

 private:
  Conformance(const comm::Communicator& world, const comm::Communicator& compute, const std::string& folder);

  void look_at_memory(const HostState& state);
  void tell_fields(const HostState& state);
  void write(const std::string& line) const;
  void tell(const HostFinding& finding);

  const comm::Communicator& compute_;
  MPI_Comm roll_ = MPI_COMM_NULL;
  int rank_ = 0;  // of the world
  std::string path_;
  double patience_s_;
  bool is_alone_ = false;  // the others did not come
  std::int64_t calls_ = 0, step_ = 0;
  std::set<std::string> told_;
  std::map<std::string, std::vector<std::vector<double>>> copies_;  // of fields, block by block
  LookAtRims rims_;
};

}  // namespace sidestream::sims
