#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/io/snapshot_file.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::bench {

/// What files may hold.
inline const std::vector<std::string> contents{"checkpoint", "plotfile", "chosen"};

/// How large the workload is.
struct WorkloadSize {
  int blocks = 32;  ///< a rank
  std::int32_t block = 16, ghost = 4;
  int variables = 10;          ///< of the checkpoint; at most 10
  bool has_particles = false;  ///< one a cell, with velocities

  /// Bytes of a block in memory, and in a file of all there is.
  double state_bytes() const;
  double file_bytes() const;
};

/// The state of a FLASH-like simulation, as in the I/O study of Latham et al. (2012): blocks with ghost cells, all
/// variables in one field. The "checkpoint" has all of them in double precision, the "plotfile" three (the first, sixth
/// and seventh) in single, "chosen" these three in double: of the ways in which cells lie in memory that the study
/// tells apart they are A, a variable at a time, or where a file keeps variables together, B and C.
class Workload {
 public:
  Workload(const comm::Communicator& comm, const WorkloadSize& size);
  Workload(const Workload&) = delete;

  const mesh::Snapshot& state() const { return snapshot_; }
  /// What goes into a file of one of `contents`.
  io::FileChoice choice(const std::string& content) const;

  /// Bytes of the variables of all ranks, and of this one.
  std::int64_t bytes(const io::FileChoice& choice) const;
  std::int64_t own_bytes(const io::FileChoice& choice) const;
  /// The variables of this rank, one after another, as they stand in a file.
  void pack(const io::FileChoice& choice, std::span<std::byte> out) const;
  /// Throws a core::Error unless this rank's cells of all variables are in `file`. Local.
  void check(const io::FileChoice& choice, const io::SnapshotFile& file) const;
  /// Throws a core::Error unless `read` has the values of the variable `name`, on any layout of the domain. Local.
  void check(const std::string& name, const mesh::Field<double>& read, const std::string& path) const;
  /// Of all ranks. Their ids are 0, 1, 2, ...
  std::int64_t particles() const;

 private:
  mesh::Layout layout_;
  mesh::Field<double> state_;
  mesh::Snapshot snapshot_;
};

}  // namespace sidestream::bench
