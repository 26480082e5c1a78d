#include "analysis/components/component_names.hpp"

#include <algorithm>
#include <map>

#include "analysis/at.hpp"
#include "sidestream/comm/sparse_exchange.hpp"

namespace sidestream::analysis {

namespace {

// Connected components by hooking and pointer jumping (FastSV: Zhang, Azad & Hu 2020, after Shiloach & Vishkin 1982),
// where the root of a component is the member with the smallest name. A name serves as the pointer to its origin.
class NameSpreader {
 public:
  NameSpreader(const comm::Communicator& comm, std::span<const std::vector<CrossLink>> links, std::vector<Name>& names)
      : comm_(comm), links_(links), parent_(names), grandparent_(names) {
    for (const auto& of_rank : links)
      for (const CrossLink& link : of_rank) linked_.push_back(link.here);
    std::sort(linked_.begin(), linked_.end());
    linked_.erase(std::unique(linked_.begin(), linked_.end()), linked_.end());
  }

  void spread() {
    do {
      hook(neighbors_best());
    } while (!comm_.all(!jump()));
    for (const std::int32_t c : linked_) parent_[at(c)] = grandparent_[at(c)];
  }

 private:
  struct Proposal {
    Name name;
    std::int32_t component = 0, padding = 0;
  };
  std::size_t ranks() const { return links_.size(); }

  std::size_t position(std::int32_t component) const {
    return static_cast<std::size_t>(std::lower_bound(linked_.begin(), linked_.end(), component) - linked_.begin());
  }

  // For each linked component (in the order of `linked_`) the smallest grandparent among its neighbours.
  std::vector<Name> neighbors_best() const {
    comm::ByRank<Name> outgoing;
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      for (const CrossLink& link : links_[rank])
        outgoing[static_cast<int>(rank)].push_back(grandparent_[at(link.here)]);
    const auto incoming = comm::deliver(comm_, outgoing).incoming;

    std::vector<Name> best;
    for (const std::int32_t c : linked_) best.push_back(grandparent_[at(c)]);
    for (const auto& [rank, names] : incoming)
      for (std::size_t l = 0; l < names.size(); ++l) {
        Name& mine = best[position(links_[at(rank)][l].here)];
        mine = std::min(mine, names[l]);
      }
    return best;
  }

  // Gives each component and its parent the best that its neighbours know.
  void hook(const std::vector<Name>& best) {
    comm::ByRank<Proposal> proposals;
    for (std::size_t l = 0; l < linked_.size(); ++l) {
      Name& parent = parent_[at(linked_[l])];
      if (!(best[l] < parent)) continue;
      proposals[parent.rank].push_back({best[l], parent.component, 0});
      parent = best[l];
    }
    for (const auto& [rank, of_rank] : comm::deliver(comm_, proposals).incoming)
      for (const Proposal& proposal : of_rank) {
        Name& parent = parent_[at(proposal.component)];
        parent = std::min(parent, proposal.name);
      }
  }

  // Asks for the parent of each parent. Whether any grandparent here has changed.
  bool jump() {
    comm::ByRank<std::int32_t> questions;
    for (const std::int32_t c : linked_) questions[parent_[at(c)].rank].push_back(parent_[at(c)].component);
    comm::ByRank<Name> answers;
    for (const auto& [rank, asked] : comm::deliver(comm_, questions).incoming)
      for (const std::int32_t component : asked) answers[rank].push_back(parent_[at(component)]);
    const auto answered = comm::deliver(comm_, answers).incoming;

    bool has_changed = false;
    std::map<int, std::size_t> next;
    for (const std::int32_t c : linked_) {
      const int rank = parent_[at(c)].rank;
      const Name grandparent = answered.at(rank)[next[rank]++];
      has_changed = has_changed || grandparent != grandparent_[at(c)];
      grandparent_[at(c)] = grandparent;
    }
    for (const std::int32_t c : linked_) parent_[at(c)] = std::min(parent_[at(c)], grandparent_[at(c)]);
    return has_changed;
  }

  const comm::Communicator& comm_;
  std::span<const std::vector<CrossLink>> links_;
  std::vector<Name>& parent_;
  std::vector<Name> grandparent_;
  std::vector<std::int32_t> linked_;  // components with links to other ranks, ascending
};

}  // namespace

void spread_names(const comm::Communicator& comm, std::span<const std::vector<CrossLink>> links,
                  std::vector<Name>& names) {
  if (comm.size() > 1) NameSpreader(comm, links, names).spread();
}

}  // namespace sidestream::analysis
