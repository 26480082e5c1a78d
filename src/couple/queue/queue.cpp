#include "couple/queue/queue.hpp"

#include <algorithm>
#include <array>

namespace sidestream::couple {

using GivesWay = PolicyEntry::GivesWay;
using Otherwise = PolicyEntry::Otherwise;

Queue::Queue(std::int64_t capacity_bytes, const PolicyEntry& policy)
    : capacity_bytes_(capacity_bytes), policy_(&policy) {}

std::deque<Queue::Entry>::iterator Queue::first_in(State state) {
  return std::ranges::find(entries_, state, &Entry::state);
}

Queue::Verdict Queue::admit(std::int64_t bytes, std::int64_t step) {
  Verdict verdict;
  for (auto held = first_in(State::held); held != entries_.end() && held->step != step; held = first_in(State::held)) {
    if (policy_->gives_way == GivesWay::oldest && has_room(bytes)) break;
    if (verdict.withdrawn.is_empty()) verdict.withdrawn.first = held->number;
    verdict.withdrawn.last = held->number;
    bytes_ -= held->bytes;
    entries_.erase(held);
  }
  const bool may_give_way = policy_->gives_way != GivesWay::nothing;
  if (!has_room(bytes) || first_in(State::stored) != entries_.end()) {  // nobody overtakes what is stored
    constexpr std::array answers{Answer::full, Answer::left_out, Answer::do_here, Answer::stored};
    verdict.answer = answers[static_cast<std::size_t>(policy_->otherwise)];
    if (verdict.answer == Answer::stored) add(State::stored, bytes, step);
  } else {
    const bool is_of_last = !entries_.empty() && entries_.back().step == step && entries_.back().state != State::held;
    const bool is_held = may_give_way && !entries_.empty() && !is_of_last;
    verdict.answer = is_held ? Answer::held : Answer::started;
    add(is_held ? State::held : State::started, bytes, step);
  }
  verdict.queue_bytes = bytes_;
  return verdict;
}

void Queue::add(State state, std::int64_t bytes, std::int64_t step) {
  entries_.push_back({++number_, bytes, step, state});
  if (state != State::stored) bytes_ += bytes;
}

// What may give way is started when everything before it is done, so that it is as new as can be.
std::int64_t Queue::start_next() {
  std::int64_t last = 0;
  const Entry* before = nullptr;
  for (Entry& entry : entries_) {
    const bool is_next = before == nullptr || before->step == entry.step;
    before = &entry;
    if (entry.state == State::held && !is_next) break;
    if (entry.state == State::stored && !has_room(entry.bytes)) break;
    if (entry.state == State::stored) bytes_ += entry.bytes;
    if (entry.state != State::held && entry.state != State::stored) continue;
    entry.state = State::started;
    last = entry.number;
  }
  return last;
}

Range Queue::withdraw_held() {
  Range all;
  for (const Entry& entry : entries_) {
    if (entry.state != State::held && entry.state != State::stored) continue;
    if (all.is_empty()) all.first = entry.number;
    all.last = entry.number;
    if (entry.state == State::held) bytes_ -= entry.bytes;
  }
  std::erase_if(entries_, [&](const Entry& entry) { return all.holds(entry.number); });
  return all;
}

void Queue::receive(std::int64_t number) {
  for (Entry& entry : entries_) {
    if (entry.number > number) return;
    if (entry.state == State::started) bytes_ -= entry.bytes;
    entry.state = State::received;
  }
}

void Queue::finish(std::int64_t number) {
  receive(number);
  while (!entries_.empty() && entries_.front().number <= number) entries_.pop_front();
}

bool Queue::is_started(std::int64_t number) const {
  const auto found = std::ranges::find(entries_, number, &Entry::number);
  return found == entries_.end() || found->state == State::started || found->state == State::received;
}

}  // namespace sidestream::couple
