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

void name_elders(const comm::Communicator& comm, TreePart& part) {
  struct Question {
    Saddle level;
    Peak from;
    std::int32_t asker = 0, maximum = 0;  // the rank and the number of the branch that wants to know
  };
  const auto ends = part.ends();
  PerRank<Question> questions(static_cast<std::size_t>(comm.size()));
  const auto follow = [&](Question question) {
    question.from = part.climb(question.from, question.level);
    return question;
  };
  bool is_done = false;
  std::vector<Question> going;
  for (std::size_t m = 0; m < ends.size(); ++m)
    if (ends[m].parent.rank >= 0)
      going.push_back({ends[m].saddle, ends[m].parent, comm.rank(), static_cast<std::int32_t>(m)});
  std::vector<Peak> elders(ends.size());
  PerRank<Question> answers(questions.size());
  while (!is_done) {
    for (auto& of_rank : questions) of_rank.clear();
    for (auto& of_rank : answers) of_rank.clear();
    std::int64_t open = 0;
    for (const Question& question : going) {
      const Question next = follow(question);
      const bool is_elder = next.from.rank == comm.rank();
      if (is_elder && next.asker == comm.rank()) {
        elders[at(next.maximum)] = next.from;
        continue;
      }
      (is_elder ? answers[at(next.asker)] : questions[at(next.from.rank)]).push_back(next);
      ++open;
    }
    is_done = comm.all(open == 0);
    if (is_done) break;
    for (const auto& of_rank : comm.exchange(answers))
      for (const Question& answer : of_rank) elders[at(answer.maximum)] = answer.from;
    going.clear();
    for (const auto& of_rank : comm.exchange(questions)) going.insert(going.end(), of_rank.begin(), of_rank.end());
  }
  for (std::size_t m = 0; m < elders.size(); ++m)
    if (ends[m].parent.rank >= 0) part.set_parent(static_cast<std::int32_t>(m), elders[m]);
}

}  // namespace sidestream::analysis
