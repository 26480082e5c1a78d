#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::bindings {

/// A state of a run that goes on, with the cells and particles of this rank where they lie: a step of a stream, or what
/// a task has to analyse. After `release` every call throws core::Error.
class Step {
 public:
  /// Numbers to be counted or added up.
  using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  /// The same as they lie, such as the cells of a block within ghost cells: the last axis without gaps.
  using Cells = nb::ndarray<const double, nb::device::cpu>;

  Step(std::shared_ptr<const mesh::Snapshot> snapshot, std::shared_ptr<const comm::Communicator> comm, std::string kind)
      : snapshot_(std::move(snapshot)), comm_(std::move(comm)), kind_(std::move(kind)) {}

  /// Whether an array of the state is left.
  bool is_shared() const { return snapshot_.use_count() > 1; }
  /// Forgets the state.
  void release();

  /// What a file of the same state would say of itself, as JSON.
  /// Of all species, or of those that are named, of which "" is the first: the particles of others are not asked for.
  std::string describe(const std::optional<std::vector<std::string>>& species) const;
  /// First cell (z, y, x) of each block of this rank, and its cells, not copied.
  nb::list blocks(const std::string& field, int level) const;
  nb::object boxes(int level) const;
  /// (z, y, x) of the whole domain; of one rank.
  nb::object covering_grid(const std::string& field, int level) const;
  /// In the resolution of a level, the number of the first plane z of this rank's slab and its cells (z, y, x), with
  /// the first plane of the next; `whole`: all of it on rank 0. Together with all ranks.
  nb::tuple slab(const std::string& field, int level, bool whole) const;
  nb::dict particles(const std::string& species) const;

  int rank() const { return comm().rank(); }
  int ranks() const { return comm().size(); }
  /// The Fortran handle of the communicator of those who have the state.
  int communicator() const { return MPI_Comm_c2f(comm().raw()); }

  // Together with all ranks:
  /// Throws on all of them the problem of the first that has one, or that they are not all at the `place` of this one.
  void agree(std::int64_t place, const std::string& problem) const;
  /// Exact: the same bits on any number of ranks.
  double sum(const std::vector<Cells>& values) const;
  double min(double value) const { return comm().min(value); }
  double max(double value) const { return comm().max(value); }
  /// How many values lie between each edge and the next, the last of which belongs to the last interval, and the exact
  /// sum of their weights, of arrays as long as those of the values; without weights those are no numbers at all.
  nb::tuple histogram(const std::vector<Cells>& values, const std::vector<Numbers>& weights,
                      const Numbers& edges) const;
  /// The values of all ranks on rank 0, elsewhere none.
  nb::object gather(const Numbers& values) const;
  nb::list gather_bytes(const nb::bytes& bytes) const;

 private:
  const mesh::Snapshot& snapshot() const;
  const comm::Communicator& comm() const;

  std::shared_ptr<const mesh::Snapshot> snapshot_;
  std::shared_ptr<const comm::Communicator> comm_;
  std::string kind_;
};

void bind_step(nb::module_& module);

}  // namespace sidestream::bindings
