#pragma once

#include <optional>
#include <utility>

#include "sidestream/core/timer.hpp"

namespace sidestream::redistribute {

/// Where the time of movements goes on this rank [s]; the parts add up to the whole.
struct MoveTimes {
  double pack_s = 0.0;      ///< out of fields into messages, and from field to field what stays on the rank
  double exchange_s = 0.0;  ///< in MPI, and waiting; with `alltoallw`, whose cells MPI packs and unpacks, that as well
  double unpack_s = 0.0;    ///< out of messages into fields

  double copies_s() const { return pack_s + unpack_s; }
  double total_s() const { return copies_s() + exchange_s; }
};

struct NothingElse {
  double operator()() const { return 0.0; }
};

/// Adds the time of its life to a number of seconds, but for what `elsewhere()` has grown by. Where there is no number
/// it does not even look at the clock.
template <typename Elsewhere = NothingElse>
class Timed {
 public:
  explicit Timed(double* seconds, Elsewhere elsewhere = {}) : seconds_(seconds), elsewhere_(std::move(elsewhere)) {
    if (seconds_ == nullptr) return;
    before_s_ = elsewhere_();
    watch_.emplace();
  }
  ~Timed() {
    if (seconds_ != nullptr) *seconds_ += watch_->seconds() - (elsewhere_() - before_s_);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double* seconds_;
  Elsewhere elsewhere_;
  double before_s_ = 0.0;
  std::optional<core::Stopwatch> watch_;
};

}  // namespace sidestream::redistribute
