#include "analysis/merge_tree/representatives.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "analysis/at.hpp"

namespace sidestream::analysis {

namespace {

// The lowest of the saddles at this height.
Saddle lowest_at(double height) {
  return {height, std::numeric_limits<std::int64_t>::max()};
}

std::int64_t key_of(const Peak& peak) {
  return (std::int64_t{peak.rank} << 32) | peak.maximum;
}

// The numbers of these maxima, which are of other ranks, ascending and each once.
comm::ByRank<std::int32_t> numbers_of(const std::vector<Peak>& peaks) {
  comm::ByRank<std::int32_t> maxima;
  for (const Peak& peak : peaks) maxima[peak.rank].push_back(peak.maximum);
  for (auto& [rank, numbers] : maxima) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  }
  return maxima;
}

// What was answered to the question for this maximum.
template <typename T>
const T& answer_of(const Peak& peak, const comm::ByRank<std::int32_t>& questions, const comm::ByRank<T>& answers) {
  const auto& numbers = questions.at(peak.rank);
  const auto place = std::lower_bound(numbers.begin(), numbers.end(), peak.maximum) - numbers.begin();
  return answers.at(peak.rank)[static_cast<std::size_t>(place)];
}

// Answers all questions, one number each, by `answer(number)`.
template <typename T, typename F>
comm::ByRank<T> answered(const comm::Communicator& comm, const comm::ByRank<std::int32_t>& asked, F answer) {
  comm::ByRank<T> answers;
  for (const auto& [rank, numbers] : asked)
    for (const std::int32_t number : numbers) answers[rank].push_back(answer(number));
  return comm::deliver(comm, answers).incoming;
}

}  // namespace

std::vector<Peak> representatives(const comm::Communicator& comm, const TreePart& part, double level) {
  const auto peaks = part.peaks();
  const Saddle lowest = lowest_at(level);
  std::vector<Peak> found(peaks.size());
  for (std::size_t m = 0; m < peaks.size(); ++m)
    if (peaks[m].height >= level) found[m] = part.climb(peaks[m], lowest);
  if (comm.size() == 1) return found;

  std::vector<std::size_t> going;  // those that may not be found yet
  for (std::size_t m = 0; m < found.size(); ++m)
    if (found[m].rank >= 0 && found[m].rank != comm.rank()) going.push_back(m);
  while (true) {
    std::vector<Peak> unknown;
    for (const std::size_t m : going) unknown.push_back(found[m]);
    const auto questions = numbers_of(unknown);
    const auto asked = comm::deliver(comm, questions);
    if (asked.messages == 0) return found;
    const auto answers = answered<Peak>(comm, asked.incoming, [&](std::int32_t maximum) { return found[at(maximum)]; });
    std::erase_if(going, [&](std::size_t m) {
      const Peak next = answer_of(found[m], questions, answers);
      if (next == found[m]) return true;  // nothing is higher where it lies
      found[m] = next.rank == comm.rank() ? found[at(next.maximum)] : next;
      return found[m].rank == comm.rank();
    });
  }
}

ElderSearch::ElderSearch(const TreePart& part, int rank) : part_(part), rank_(rank) {
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

comm::ByRank<std::int32_t> ElderSearch::questions() {
  std::erase_if(going_, [this](std::size_t maximum) { return climb(maximum); });
  std::vector<Peak> unknown;
  for (const std::size_t maximum : going_) unknown.push_back(elders_[maximum]);
  asked_ = numbers_of(unknown);
  return asked_;
}

std::vector<BranchEnd> ElderSearch::answers(std::span<const std::int32_t> maxima) const {
  std::vector<BranchEnd> ends;
  for (const std::int32_t maximum : maxima) ends.push_back(part_.ends()[at(maximum)]);
  return ends;
}

void ElderSearch::take(int rank, std::span<const BranchEnd> answers) {
  for (std::size_t q = 0; q < answers.size(); ++q)
    known_.emplace(key_of({0.0, 0, rank, asked_.at(rank)[q]}), answers[q]);
}

std::vector<Peak> elders(const comm::Communicator& comm, const TreePart& part) {
  ElderSearch search(part, comm.rank());
  while (true) {
    const auto asked = comm::deliver(comm, search.questions());
    if (asked.messages == 0) return search.elders();
    comm::ByRank<BranchEnd> answers;
    for (const auto& [rank, maxima] : asked.incoming) answers[rank] = search.answers(maxima);
    for (const auto& [rank, ends] : comm::deliver(comm, answers).incoming) search.take(rank, ends);
  }
}

}  // namespace sidestream::analysis
