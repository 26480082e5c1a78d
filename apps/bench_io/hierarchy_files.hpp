#pragma once

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "hierarchy.hpp"
#include "sidestream/io/access_statistics.hpp"

namespace sidestream::bench {

/// A way of bringing a hierarchy to files and back. Both functions are collective and throw a core::Error on all ranks.
struct HierarchyMethod {
  std::string format, name;
  /// Writes all pieces of all ranks at `path`, whose parent is there.
  std::function<io::AccessStatistics(const Hierarchy& hierarchy, const std::string& path, bool is_durable)> write;
  /// Fills `pieces`, which are `Hierarchy::empty_pieces`.
  std::function<io::AccessStatistics(const Hierarchy& hierarchy, const std::string& path, std::vector<Piece>& pieces)>
      read;
};

/// As ENZO had it: the root grid comes together on a rank, and each grid is a serial HDF5 file of its owner.
HierarchyMethod gathered_method();
/// One file by MPI-IO: fields of the root collectively, its particles sorted by number over the ranks first, then even
/// shares of them; subgrids by their owners.
HierarchyMethod two_phase_method();
/// The same order in one parallel HDF5 file, whose arrays all ranks make together.
HierarchyMethod parallel_hdf5_method();
/// Sidestream: one HDF5 file with an array for each field of all grids, particles as they lie, by one of its methods of
/// writing; of the root each rank reads an even share.
HierarchyMethod hierarchy_method_by(const std::string& method);

/// All of them.
std::vector<HierarchyMethod> hierarchy_methods();

/// The first failure of this rank in work that all ranks must go through together.
class KeptFailure {
 public:
  template <typename F>
  void keep(F work) {
    try {
      work();
    } catch (...) {
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
  }
  /// If a rank has failed, all throw. Collective.
  void agree(const comm::Communicator& comm) const {
    comm.agree_on([&] {
      if (failure_ != nullptr) std::rethrow_exception(failure_);
    });
  }

 private:
  std::exception_ptr failure_;
};

/// Brings a file that is closed to the disk. On one rank.
void bring_to_disk(const std::string& path);

}  // namespace sidestream::bench
