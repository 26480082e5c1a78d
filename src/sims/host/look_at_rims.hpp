#pragma once

#include <map>
#include <string>
#include <vector>

#include "sims/host/host_state.hpp"

namespace sidestream::sims {

/// What was seen of a field, or of a species.
struct HostFinding {
  std::string check, verdict;  ///< "ghosts", "order", ...; "good", "note" or "wrong"
  std::string field, message;
  std::int64_t block = -1;  ///< of the rank, where it is one block's
  std::string cell{};       ///< of its level
  std::string species{};
  std::int64_t particle = -1;  ///< its place in the arrays of the rank
};

/// The numbers of a block with its ghost cells, x fastest.
std::vector<double> numbers_of(const HostState& state, const HostField& field, std::size_t block);

/// Compares ghost cells of a program with the cells of its neighbours, now and at the call before, as programs fill
/// them before a step or after it; and sees whether numbers would be smoother if axes lay in the other order in memory.
class LookAtRims {
 public:
  /// Collective.
  std::vector<HostFinding> look(const comm::Communicator& compute, const HostState& state);
  /// The mesh is another one.
  void forget() { seen_.clear(); }

 private:
  struct Seen {
    std::vector<std::vector<double>> first, before;  // of each block: its numbers at first, what neighbours had last
    bool has_order = false;
    int looks = 0;
  };
  void compare(const comm::Communicator& compute, const HostState& state, const HostField& field,
               std::vector<HostFinding>& found);
  std::map<std::string, Seen> seen_;
};

}  // namespace sidestream::sims
