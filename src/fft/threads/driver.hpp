#pragma once

#include <vector>

#include "fft/threads/traveller.hpp"

namespace sidestream::fft {

/// The slices of a transform that one thread has go their way, some of them at once.
template <typename Cell>
class Driver {
 public:
  /// Slices n of `all` whose place, n modulo `places`, is `number` modulo `drivers`. `times` may be null.
  Driver(std::vector<Slice<Cell>>& all, int places, int number, int drivers, SerializedCalls& mpi, FftTimes* times)
      : times_(times) {
    redistribute::MoveTimes* const moves = times ? &times->moves : nullptr;
    for (std::size_t n = 0; n < all.size(); ++n)
      if (static_cast<int>(n) % places % drivers == number) {
        slices_.push_back(&all[n]);
        all[n].measure(moves);
      }
    for (int place = number; place < places; place += drivers) travellers_.emplace_back(mpi, moves);
  }

  FftTimes* times() const { return times_; }

  /// Has all slices go their way, as many at once as there are places. `stage(traveller)` does what comes before the
  /// next exchange and starts that; false: there was nothing left to do. All slices are in as many exchanges (one at
  /// least, where several are on their way), so they end in their order, and all ranks start the same exchanges in the
  /// same order.
  template <typename Stage>
  void send_all(Stage stage) {
    const auto has_ended = [&](Traveller<Cell>& traveller) {
      traveller.arrive();
      while (!traveller.is_under_way())
        if (!stage(traveller)) return true;
      return false;
    };
    auto next = slices_.begin();
    for (Traveller<Cell>& traveller : travellers_) traveller.begin(*next++);
    for (std::size_t left = slices_.size(); left > 0;)
      for (Traveller<Cell>& traveller : travellers_)
        while (traveller.has_slice() && has_ended(traveller)) {
          --left;
          traveller.begin(next == slices_.end() ? nullptr : *next++);
        }
  }

  /// The caller has its turn.
  void let_travel() const {
    for (const Traveller<Cell>& traveller : travellers_) traveller.let_travel();
  }

 private:
  std::vector<const Slice<Cell>*> slices_;
  std::vector<Traveller<Cell>> travellers_;  // slice n of these in place n modulo their number
  FftTimes* times_;
};

}  // namespace sidestream::fft
