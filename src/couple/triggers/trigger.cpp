#include "sidestream/couple/trigger.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

constexpr double rounding = 1e-9;  // of landing on a redshift or time by way of the scale factor

// Whether a number that grows by time comes to `wanted`: at the first moment only by being there.
bool comes_to(double wanted, std::optional<double> before, double now, double slack) {
  return before ? *before < wanted - slack && now >= wanted - slack : std::abs(now - wanted) <= slack;
}

double slack_of_time(double wanted) {
  return rounding * std::abs(wanted);
}

double slack_of_redshift(double wanted) {
  return rounding * (1.0 + std::abs(wanted));
}

}  // namespace

bool has_come_to_time(double wanted, double now) {
  return now >= wanted - slack_of_time(wanted);
}

bool has_come_to_redshift(double wanted, double now) {
  return now <= wanted + slack_of_redshift(wanted);
}

void Landings::add(const When& when) {
  times.insert(times.end(), when.at_time.begin(), when.at_time.end());
  redshifts.insert(redshifts.end(), when.at_redshift.begin(), when.at_redshift.end());
}

bool Trigger::is_due(const Occasion& occasion, PresentState& state) {
  const bool by_clock = says_clock(occasion);
  bool is_due = by_clock || says_yes(occasion);
  before_ = occasion.moment;
  if (when_.when) is_due |= becomes_true(state);
  if (is_due && when_.only_if) is_due = when_.only_if->holds(state);
  if (is_due) last_s_ = occasion.wall_s.value_or(0.0);
  was_due_by_clock_ = is_due && by_clock;
  return is_due;
}

bool Trigger::says_yes(const Occasion& occasion) const {
  const mesh::Moment& now = occasion.moment;
  const bool by_step = when_.every > 0 && now.step % when_.every == 0 && (now.step > 0 || when_.counts_start);
  return by_step || (when_.at_start && occasion.is_start) || (when_.at_end && occasion.is_end) || reaches_time(now) ||
         reaches_redshift(now);
}

bool Trigger::says_clock(const Occasion& occasion) const {
  if (heeded_) return *heeded_;
  return when_.every_wall_time_s > 0.0 && occasion.wall_s.value_or(0.0) - last_s_ >= when_.every_wall_time_s;
}

bool Trigger::reaches_time(const mesh::Moment& now) const {
  return std::ranges::any_of(when_.at_time, [&](double wanted) {
    return comes_to(wanted, before_ ? std::optional(before_->time) : std::nullopt, now.time, slack_of_time(wanted));
  });
}

bool Trigger::reaches_redshift(const mesh::Moment& now) const {
  if (when_.at_redshift.empty()) return false;
  const auto z = now.redshift(), z_before = before_ ? before_->redshift() : std::nullopt;
  if (!z)
    throw core::Error("a task is due at redshifts, but this simulation has none", "key `at_redshift`",
                      "say `every = 10` for every ten steps");
  return std::ranges::any_of(when_.at_redshift, [&](double wanted) {
    return comes_to(-wanted, z_before ? std::optional(-*z_before) : std::nullopt, -*z, slack_of_redshift(wanted));
  });
}

bool Trigger::becomes_true(PresentState& state) {
  const bool is_true = when_.when->holds(state);
  return !std::exchange(was_true_, is_true) && is_true;
}

void Trigger::resume(const mesh::Moment& moment, double wall_s, const TriggerMemory& memory) {
  before_ = moment;
  last_s_ = wall_s - memory.quiet_s;
  was_true_ = memory.was_true;
}

}  // namespace sidestream::couple
