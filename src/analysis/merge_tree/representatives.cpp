#include "analysis/merge_tree/representatives.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "analysis/at.hpp"

namespace sidestream::analysis {

namespace {

template <typename T>
using PerRank = std::vector<std::vector<T>>;

// The lowest of the saddles at this height.
Saddle lowest_at(double height) {
  return {height, std::numeric_limits<std::int64_t>::max()};
}

std::int64_t key_of(const Peak& peak) {
  return (std::int64_t{peak.rank} << 32) | peak.maximum;
}

// The numbers of the maxima of other ranks that `found` names, for each rank, ascending and each once.
PerRank<std::int32_t> remote_maxima(const std::vector<Peak>& found, int rank, int ranks) {
  PerRank<std::int32_t> maxima(static_cast<std::size_t>(ranks));
  for (const Peak& peak : found)
    if (peak.rank >= 0 && peak.rank != rank) maxima[at(peak.rank)].push_back(peak.maximum);
  for (auto& of_rank : maxima) {
    std::sort(of_rank.begin(), of_rank.end());
    of_rank.erase(std::unique(of_rank.begin(), of_rank.end()), of_rank.end());
  }
  return maxima;
}

}  // namespace

std::vector<Peak> representatives(const comm::Communicator& comm, const TreePart& part, double level) {
  const auto peaks = part.peaks();
  const Saddle lowest = lowest_at(level);
  std::vector<Peak> found(peaks.size());
  for (std::size_t m = 0; m < peaks.size(); ++m)
    if (peaks[m].height >= level) found[m] = part.climb(peaks[m], lowest);
  if (comm.size() == 1) return found;

  bool has_changed = true;
  while (!comm.all(!has_changed)) {
    has_changed = false;
    const auto questions = remote_maxima(found, comm.rank(), comm.size());
    PerRank<Peak> answers(questions.size());
    const auto asked = comm.exchange(questions);
    for (std::size_t rank = 0; rank < asked.size(); ++rank)
      for (const std::int32_t maximum : asked[rank]) answers[rank].push_back(found[at(maximum)]);
    const auto answered = comm.exchange(answers);
    for (Peak& peak : found) {
      if (peak.rank < 0 || peak.rank == comm.rank()) continue;
      const auto& numbers = questions[at(peak.rank)];
      const auto place = std::lower_bound(numbers.begin(), numbers.end(), peak.maximum) - numbers.begin();
      const Peak next = answered[at(peak.rank)][static_cast<std::size_t>(place)];
      if (next == peak) continue;
      peak = next.rank == comm.rank() ? found[at(next.maximum)] : next;
      has_changed = true;
    }
  }
  return found;
}

ElderSearch::ElderSearch(const TreePart& part, int rank, int ranks)
    : part_(part), rank_(rank), asked_(static_cast<std::size_t>(ranks)) {
  for (const BranchEnd& end : part.ends()) {
    if (end.parent.rank >= 0) going_.push_back(elders_.size());
    elders_.push_back(end.parent);
  }
}

// Goes on from where the search for the elder of a maximum stands. Whether it is found.
bool ElderSearch::climb(std::size_t maximum) {
  const Saddle level = part_.ends()[maximum].saddle;
  Peak& elder = elders_[maximum];
  while (true) {
    elder = part_.climb(elder, level);
    if (elder.rank == rank_) return true;
    const auto known = known_.find(key_of(elder));
    if (known == known_.end()) return false;
    const BranchEnd& end = known->second;
    if (end.parent.rank < 0 || end.saddle < level) return true;
    elder = end.parent;
  }
}

PerRank<std::int32_t> ElderSearch::questions() {
  std::erase_if(going_, [this](std::size_t maximum) { return climb(maximum); });
  std::vector<Peak> unknown;
  for (const std::size_t maximum : going_) unknown.push_back(elders_[maximum]);
  asked_ = remote_maxima(unknown, rank_, static_cast<int>(asked_.size()));
  return asked_;
}

std::vector<BranchEnd> ElderSearch::answers(std::span<const std::int32_t> maxima) const {
  std::vector<BranchEnd> ends;
  for (const std::int32_t maximum : maxima) ends.push_back(part_.ends()[at(maximum)]);
  return ends;
}

void ElderSearch::take(int rank, std::span<const BranchEnd> answers) {
  for (std::size_t q = 0; q < answers.size(); ++q)
    known_.emplace(key_of({0.0, 0, rank, asked_[at(rank)][q]}), answers[q]);
}

std::vector<Peak> elders(const comm::Communicator& comm, const TreePart& part) {
  ElderSearch search(part, comm.rank(), comm.size());
  while (true) {
    const auto questions = search.questions();
    const bool is_done = std::all_of(questions.begin(), questions.end(), [](const auto& q) { return q.empty(); });
    if (comm.all(is_done)) return search.elders();
    PerRank<BranchEnd> answers;
    for (const auto& asked : comm.exchange(questions)) answers.push_back(search.answers(asked));
    const auto answered = comm.exchange(answers);
    for (int rank = 0; rank < comm.size(); ++rank) search.take(rank, answered[at(rank)]);
  }
}

}  // namespace sidestream::analysis
