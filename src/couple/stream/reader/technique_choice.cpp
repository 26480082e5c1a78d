#include "couple/stream/reader/technique_choice.hpp"

#include <algorithm>

namespace sidestream::couple {

namespace {

constexpr int trials = 4;            // steps by each technique before one is preferred
constexpr double for_trials = 0.03;  // of the time of the faster one, to see again whether the other is slower

}  // namespace

void TechniqueTimes::add(double seconds) {
  last_[static_cast<std::size_t>(steps_) % last_.size()] = seconds;
  ++steps_;
}

double TechniqueTimes::typical_s() const {
  auto sorted = last_;
  const auto known = std::min(static_cast<std::ptrdiff_t>(steps_), std::ssize(sorted));
  const auto middle = sorted.begin() + (known - 1) / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + known);
  return *middle;
}

Technique choose_technique(const TechniqueTimes& boxes, const TechniqueTimes& blocks) {
  if (boxes.steps() < trials || blocks.steps() < trials)
    return boxes.steps() <= blocks.steps() ? Technique::bounding_box : Technique::write_block;
  const bool boxes_lead = boxes.typical_s() <= blocks.typical_s();
  const TechniqueTimes &faster = boxes_lead ? boxes : blocks, &other = boxes_lead ? blocks : boxes;
  const double lost_s = (other.steps() + 1 - trials) * (other.typical_s() - faster.typical_s());
  const bool takes_other = lost_s <= for_trials * faster.steps() * faster.typical_s();
  return boxes_lead != takes_other ? Technique::bounding_box : Technique::write_block;
}

}  // namespace sidestream::couple
