#pragma once

#include <memory>
#include <type_traits>

#include "fft/slices.hpp"
#include "fft/threads/serialized_calls.hpp"

namespace sidestream::fft {

/// A slice on its way, and the exchange that it is in. One thread drives it.
template <typename Cell>
class Traveller {
 public:
  int stage = 0;

  Traveller(SerializedCalls& mpi, redistribute::MoveTimes* times) : mpi_(&mpi), times_(times) {}

  void begin(const Slice<Cell>* slice) {
    slice_ = slice;
    stage = 0;
    under_way_ = nullptr;
  }
  bool has_slice() const { return slice_ != nullptr; }
  const Slice<Cell>& slice() const { return *slice_; }

  bool is_under_way() const { return under_way_ != nullptr; }
  template <typename T>
  void leave(const redistribute::Redistribution& by, const mesh::AnyField& from, const mesh::FieldView<T>& to) {
    const auto timed = timed_waiting();
    mpi_->take([&] { by.start(from, to); });
    under_way_ = &by;
    to_ = to.table();
    to_cells_ = std::is_same_v<T, Cell>;
  }
  /// The caller has its turn.
  void let_travel() const {
    if (is_under_way()) under_way_->test();
  }
  /// One at a time it waits for what this rank sends too, so that the next `leave` need not.
  void arrive() {
    if (!is_under_way()) return;
    const auto timed = timed_waiting();
    if (mpi_->are_taken()) mpi_->take_until([this] { return under_way_->test(); });
    mpi_->take([this] { finish(); });
    under_way_ = nullptr;
  }

 private:
  void finish() const {
    to_cells_ ? under_way_->finish(mesh::FieldView<Cell>(to_))
              : under_way_->finish(mesh::FieldView<typename ModeOf<Cell>::Type>(to_));
  }
  // Waiting for a turn counts as exchange.
  auto timed_waiting() const {
    return redistribute::Timed(mpi_->are_taken() && times_ ? &times_->exchange_s : nullptr,
                               [of = times_] { return of->total_s(); });
  }

  SerializedCalls* mpi_;
  redistribute::MoveTimes* times_;
  const Slice<Cell>* slice_ = nullptr;
  const redistribute::Redistribution* under_way_ = nullptr;
  std::shared_ptr<const mesh::BlockTable> to_;
  bool to_cells_ = false;
};

}  // namespace sidestream::fft
