#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "couple/publish/cargo.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/mesh/field_view.hpp"

namespace sidestream::couple {

/// The way of data between this rank and the other group. Both groups hold the same boxes, so a message is made of
/// whole blocks of all levels: [field][level][block].
class Route {
 public:
  Route() = default;
  /// `mine` are the layouts of the levels in which `rank` of its group holds its blocks, `theirs` the same boxes with
  /// the owners of the other group; its rank p is rank `first_peer + p` of the joint communicator. `sharers` says, by
  /// rank of that, who may borrow memory from this rank, or lend it (without it, nobody). O(boxes of `rank`).
  Route(std::span<const mesh::Layout> mine, int rank, std::span<const mesh::Layout> theirs, int first_peer,
        const std::vector<bool>& sharers = {});
  /// To another thread of the same rank, with all that it has.
  Route(std::span<const mesh::Layout> mine, int rank) : Route(mine, rank, mine, 0) { stays_ = true; }

  /// Whether everything stays on its rank.
  bool stays() const { return stays_; }

  /// Cells of all blocks here.
  std::int64_t cells() const { return cells_; }

  /// The ranks of the joint communicator with which blocks are exchanged, ascending, one a leg.
  std::vector<int> peers() const;
  /// The leg of a block, counted as those of a field are.
  std::int32_t leg_of(std::size_t level, std::int32_t block) const {
    return leg_of_[level][static_cast<std::size_t>(block)];
  }

  /// The messages of `fields` fields and of so many words of particles on each leg (none where it is empty); without
  /// memory yet.
  Cargo cargo(std::size_t fields, std::span<const std::int64_t> particle_words) const;

  /// Fills the cells of `box` of a level with those of a field, counted as in the cargo.
  using Write =
      std::function<void(std::size_t field, std::size_t level, const mesh::Box& box, const core::View4<double>& out)>;
  /// Has each field written straight into the messages of `cargo`, which was made for `fields` of them.
  void pack(std::size_t fields, const Write& write, const Cargo& cargo) const;
  /// The cells of field `number` of all levels where they arrived. The views keep `cargo` alive.
  std::vector<mesh::FieldView<const double>> views(const std::shared_ptr<const Cargo>& cargo, std::size_t number) const;
  /// The same, to be written to while `cargo` lives.
  std::vector<mesh::FieldView<double>> writable_views(const Cargo& cargo, std::size_t number) const;

 private:
  struct Block {
    std::size_t level = 0;
    int number = 0;  // among those of the level here
  };
  struct Leg {
    int peer = 0;  // in the joint communicator
    bool is_lent = false;
    std::vector<Block> blocks;  // level by level, in the order of the layouts
    std::int64_t cells = 0;
  };

  template <typename T>
  std::vector<mesh::FieldView<T>> views_of(const Cargo& cargo, std::size_t number,
                                           const std::shared_ptr<const void>& memory) const;
  const mesh::Box& box_of(std::size_t level, int block) const;

  std::vector<mesh::Layout> layouts_;
  int rank_ = 0;
  std::vector<Leg> legs_;
  std::vector<std::vector<std::int32_t>> leg_of_;  // by level and block
  std::int64_t cells_ = 0;
  bool stays_ = false;
};

}  // namespace sidestream::couple
