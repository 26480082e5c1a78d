#include "sidestream/couple/task.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

// Rounding of z = 1/a - 1 after landing on a = 1 / (1 + z).
double tolerance(double redshift) {
  return 1e-9 * (1.0 + std::abs(redshift));
}

}  // namespace

const core::Registry<TransportEntry>& transports() {
  static const core::Registry<TransportEntry> all(
      {"transports", "transport", "how a snapshot reaches an analysis: `transport` of [task.NAME]"},
      {{"in-situ", "on the ranks that compute, which wait", Transport::in_situ},
       {"in-transit", "on sidecars, while the simulation goes on", Transport::in_transit}});
  return all;
}

std::string to_string(Transport transport) {
  return std::ranges::find(transports(), transport, &TransportEntry::transport)->name;
}

Trigger::Trigger(std::int64_t every, std::vector<double> at_redshift)
    : every_(every), at_redshift_(std::move(at_redshift)) {}

bool Trigger::is_due(const mesh::Moment& moment) {
  const bool by_step = every_ > 0 && moment.step % every_ == 0;
  if (at_redshift_.empty()) return by_step;
  const auto redshift = moment.redshift();
  if (!redshift)
    throw core::Error("a task is due at redshifts, but this simulation has none", "key `at_redshift`",
                      "say `every = 10` for every ten steps");
  if (!now_ || now_->step != moment.step) {
    if (now_) before_ = now_->redshift;
    now_ = Place{moment.step, *redshift};
  }
  return by_step || reaches_redshift(now_->redshift);
}

bool Trigger::reaches_redshift(double now) const {
  return std::ranges::any_of(at_redshift_, [&](double wanted) {
    const double slack = tolerance(wanted);
    return before_ ? *before_ > wanted + slack && now <= wanted + slack : std::abs(now - wanted) <= slack;
  });
}

std::vector<FieldRequest> requested_fields(const Task& task) {
  std::vector<FieldRequest> all;
  for (const std::string& name : task.analysis->fields())
    all.push_back(name.ends_with('?') ? FieldRequest{name.substr(0, name.size() - 1), true}
                                      : FieldRequest{name, false});
  return all;
}

}  // namespace sidestream::couple
