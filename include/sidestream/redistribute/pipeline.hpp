#pragma once

#include <vector>

#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::redistribute {

/// A redistribution in slices of the domain across one axis, so that one slice is worked on while another travels: the
/// lines of a transform before and after its transpose. The sum of the slices is bitwise what one plan moves.
/// Collective as a Redistribution is.
class Pipeline {
 public:
  /// `slices` equal parts of `to`'s domain along `axis` (fewer where it has fewer cells). `automatic` and `tuned`
  /// choose for each slice.
  Pipeline(const comm::Communicator& comm, const mesh::Layout& from, const mesh::Layout& to, int axis, int slices,
           Strategy strategy = Strategy::automatic);

  int slices() const { return static_cast<int>(plans_.size()); }
  /// The cells of slice `number`, whole along the other axes.
  const mesh::Box& slice(int number) const { return boxes_[static_cast<std::size_t>(number)]; }

  /// Moves `from` to `to`. `before(slice)` makes the cells of `from` in a slice ready, just before they leave;
  /// `after(slice)` is called when those of `to` in it have come, while the next slice travels. Both are called for
  /// each slice in order on every rank, whether or not it has cells there. Between two pieces of their work they may
  /// call `progress`.
  template <typename Before, typename After>
  void apply(const mesh::AnyField& from, const mesh::WritableField& to, Before before, After after) const {
    for (int number = 0; number <= slices(); ++number) {
      if (number < slices()) {
        before(slice(number));
        plan(number).start(from, to);
      }
      if (number == 0) continue;
      plan(number - 1).finish(to);
      after(slice(number - 1));
    }
  }

  /// Lets what is under way go on. Local.
  void progress() const {
    for (const Redistribution& one : plans_) one.test();
  }

 private:
  const Redistribution& plan(int number) const { return plans_[static_cast<std::size_t>(number)]; }

  std::vector<mesh::Box> boxes_;
  std::vector<Redistribution> plans_;
};

}  // namespace sidestream::redistribute
