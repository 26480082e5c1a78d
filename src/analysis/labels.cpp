#include "analysis/labels.hpp"

#include <algorithm>

namespace sidestream::analysis {

namespace {

// Connected components by hooking and pointer jumping (FastSV: Zhang, Azad & Hu 2020, after Shiloach & Vishkin 1982),
// where the root of a component is its highest member. A peak serves as the pointer to the component it is the peak of.
class PeakSpreader {
 public:
  PeakSpreader(const comm::Communicator& comm, std::span<const std::vector<CrossEdge>> edges, std::vector<Peak>& peaks)
      : comm_(comm), edges_(edges), parent_(peaks), grandparent_(peaks) {
    for (const auto& of_rank : edges)
      for (const CrossEdge& edge : of_rank) linked_.push_back(edge.here);
    std::sort(linked_.begin(), linked_.end());
    linked_.erase(std::unique(linked_.begin(), linked_.end()), linked_.end());
  }

  void spread() {
    do {
      hook(neighbors_best());
    } while (!comm_.all(!jump()));
    for (const std::int32_t c : linked_) parent_[index(c)] = grandparent_[index(c)];
  }

 private:
  struct Proposal {
    std::int32_t component = 0, padding = 0;
    Peak peak;
  };
  template <typename T>
  using PerRank = std::vector<std::vector<T>>;

  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  std::size_t ranks() const { return edges_.size(); }

  // For each linked component (in the order of `linked_`) the highest grandparent among its neighbours.
  std::vector<Peak> neighbors_best() const {
    PerRank<Peak> outgoing(ranks());
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      for (const CrossEdge& edge : edges_[rank]) outgoing[rank].push_back(grandparent_[index(edge.here)]);
    const auto incoming = comm_.exchange(outgoing);

    std::vector<Peak> best;
    for (const std::int32_t c : linked_) best.push_back(grandparent_[index(c)]);
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      for (std::size_t e = 0; e < edges_[rank].size(); ++e) {
        Peak& mine = best[position(edges_[rank][e].here)];
        mine = std::max(mine, incoming[rank][e]);
      }
    return best;
  }

  std::size_t position(std::int32_t component) const {
    return static_cast<std::size_t>(std::lower_bound(linked_.begin(), linked_.end(), component) - linked_.begin());
  }

  // Raises each component and its parent to the best its neighbours know.
  void hook(const std::vector<Peak>& best) {
    PerRank<Proposal> proposals(ranks());
    for (std::size_t l = 0; l < linked_.size(); ++l) {
      Peak& parent = parent_[index(linked_[l])];
      if (!(parent < best[l])) continue;
      proposals[index(parent.rank)].push_back({parent.component, 0, best[l]});
      parent = best[l];
    }
    for (const auto& of_rank : comm_.exchange(proposals))
      for (const Proposal& proposal : of_rank) {
        Peak& parent = parent_[index(proposal.component)];
        parent = std::max(parent, proposal.peak);
      }
  }

  // Asks for the parent of each parent. Whether any grandparent here has changed.
  bool jump() {
    PerRank<std::int32_t> questions(ranks());
    for (const std::int32_t c : linked_)
      questions[index(parent_[index(c)].rank)].push_back(parent_[index(c)].component);
    PerRank<Peak> answers(ranks());
    const auto asked = comm_.exchange(questions);
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      for (const std::int32_t component : asked[rank]) answers[rank].push_back(parent_[index(component)]);
    const auto answered = comm_.exchange(answers);

    bool has_changed = false;
    std::vector<std::size_t> next(ranks(), 0);
    for (const std::int32_t c : linked_) {
      const auto rank = index(parent_[index(c)].rank);
      const Peak grandparent = answered[rank][next[rank]++];
      has_changed = has_changed || !(grandparent == grandparent_[index(c)]);
      grandparent_[index(c)] = grandparent;
    }
    for (const std::int32_t c : linked_) parent_[index(c)] = std::max(parent_[index(c)], grandparent_[index(c)]);
    return has_changed;
  }

  const comm::Communicator& comm_;
  std::span<const std::vector<CrossEdge>> edges_;
  std::vector<Peak>& parent_;
  std::vector<Peak> grandparent_;
  std::vector<std::int32_t> linked_;  // components with edges to other ranks, ascending
};

}  // namespace

void spread_peaks(const comm::Communicator& comm, std::span<const std::vector<CrossEdge>> edges,
                  std::vector<Peak>& peaks) {
  if (comm.size() > 1) PeakSpreader(comm, edges, peaks).spread();
}

}  // namespace sidestream::analysis
