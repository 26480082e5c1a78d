#include "sidestream/core/bill.hpp"

#include <numeric>

namespace sidestream::core {

Bill::Bill(Clock::time_point start) : began_(start), last_(start) {
  open_.push_back(&lines_[{"start-up", "program"}]);
}

void Bill::book() {
  const Clock::time_point now = Clock::now();
  *open_.back() += Seconds(now - last_).count();
  last_ = now;
}

Bill::Part Bill::part(std::string what, std::string whom) {
  book();
  open_.push_back(&lines_[{std::move(what), std::move(whom)}]);
  return Part(*this);
}

void Bill::end() {
  book();
  open_.pop_back();
}

void Bill::begin_rest() {
  book();
  open_.front() = &lines_[{"everything else", "program"}];
}

void Bill::divide(const std::string& what, std::span<const std::pair<std::string, double>> weights) {
  const auto booked = lines_.find({what, ""});
  if (booked == lines_.end() || weights.empty()) return;
  const double seconds = booked->second;
  booked->second = 0.0;
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0,
                                       [](double sum, const auto& one) { return sum + one.second; });
  for (const auto& [whom, weight] : weights)
    lines_[{what, whom}] += seconds * (total > 0.0 ? weight / total : 1.0 / static_cast<double>(weights.size()));
}

std::map<Bill::Line, double> Bill::lines() {
  book();
  return lines_;
}

double Bill::seconds(const Line& line) const {
  const auto found = lines_.find(line);
  return found == lines_.end() ? 0.0 : found->second;
}

}  // namespace sidestream::core
