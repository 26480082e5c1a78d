#include "analysis/representatives.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace sidestream::analysis {

namespace {

template <typename T>
using PerRank = std::vector<std::vector<T>>;

std::size_t at(std::int32_t number) {
  return static_cast<std::size_t>(number);
}

// The lowest of the saddles at this height.
Saddle lowest_at(double height) {
  return {height, std::numeric_limits<std::int64_t>::max()};
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

ElderSearch::ElderSearch(const TreePart& part, int rank) : part_(part), rank_(rank), elders_(part.ends().size()) {
  for (std::size_t m = 0; m < elders_.size(); ++m)
    if (const BranchEnd& end = part.ends()[m]; end.parent.rank >= 0)
      follow({end.saddle, end.parent, rank, static_cast<std::int32_t>(m), 0});
}

void ElderSearch::follow(Question question) {
  question.from = part_.climb(question.from, question.level);
  question.is_answered = question.from.rank == rank_;
  if (question.is_answered != 0 && question.asker == rank_)
    elders_[at(question.maximum)] = question.from;
  else
    outgoing_.push_back(question);
}

PerRank<ElderSearch::Question> ElderSearch::take_outgoing(int ranks) {
  PerRank<Question> messages(static_cast<std::size_t>(ranks));
  for (const Question& question : outgoing_)
    messages[at(question.is_answered != 0 ? question.asker : question.from.rank)].push_back(question);
  outgoing_.clear();
  return messages;
}

void ElderSearch::take(std::span<const Question> questions) {
  for (const Question& question : questions)
    if (question.is_answered != 0)
      elders_[at(question.maximum)] = question.from;
    else
      follow(question);
}

void ElderSearch::finish(TreePart& part) const {
  for (std::size_t m = 0; m < elders_.size(); ++m)
    if (elders_[m].rank >= 0) part.set_parent(static_cast<std::int32_t>(m), elders_[m]);
}

}  // namespace sidestream::analysis
