#include "couple/stream/reader/technique_choice.hpp"

namespace sidestream::couple {

namespace {

constexpr int trials = 4;            // steps by each technique before one is preferred
constexpr double for_trials = 0.03;  // of the time of the faster one, to see again whether the other is slower

}  // namespace

Technique choose_technique(const TechniqueTimes& boxes, const TechniqueTimes& blocks) {
  if (boxes.steps < trials || blocks.steps < trials)
    return boxes.steps <= blocks.steps ? Technique::bounding_box : Technique::write_block;
  const bool boxes_lead = boxes.least_s <= blocks.least_s;
  const TechniqueTimes &faster = boxes_lead ? boxes : blocks, &other = boxes_lead ? blocks : boxes;
  const double lost_s = (other.steps + 1 - trials) * (other.least_s - faster.least_s);
  const bool takes_other = lost_s <= for_trials * faster.steps * faster.least_s;
  return boxes_lead != takes_other ? Technique::bounding_box : Technique::write_block;
}

}  // namespace sidestream::couple
