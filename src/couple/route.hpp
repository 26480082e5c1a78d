#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::couple {

/// The way of data between this rank and the other group. Both groups hold the same boxes, so a message is made of
/// whole blocks of all levels: it is copied once into one buffer of the sender, [peer][field][level][block], and sent
/// from where it lies.
class Route {
 public:
  Route() = default;
  /// `mine` are the layouts of the levels in which `rank` of its group holds its blocks, `theirs` the same boxes with
  /// the owners of the other group; its rank p is rank `first_peer + p` of the joint communicator. O(boxes of `rank`).
  Route(std::span<const mesh::Layout> mine, int rank, std::span<const mesh::Layout> theirs, int first_peer);

  /// Cells of all blocks here.
  std::int64_t cells() const { return cells_; }

  /// The ranks of the joint communicator with which blocks are exchanged, one a leg.
  std::vector<int> peers() const;
  /// The leg of a block, counted as those of a field are.
  std::int32_t leg_of(std::size_t level, std::int32_t block) const {
    return leg_of_[level][static_cast<std::size_t>(block)];
  }

  /// A quantity of one component and no ghost cells: one field a level.
  using Source = std::vector<const mesh::Field<double>*>;
  using Target = std::vector<mesh::Field<double>>;
  /// Copies `fields` into `buffer` of `cells() * fields.size()` elements.
  void pack(std::span<const Source> fields, std::span<double> buffer) const;
  /// The reverse.
  void unpack(std::span<const double> buffer, std::span<Target> fields) const;

  /// Begins to send or to receive a buffer for `fields` fields; it must stay until the requests are done.
  std::vector<MPI_Request> send(const comm::Communicator& joint, std::span<const double> buffer,
                                std::size_t fields) const;
  std::vector<MPI_Request> receive(const comm::Communicator& joint, std::span<double> buffer, std::size_t fields) const;

 private:
  struct Block {
    std::size_t level = 0;
    int number = 0;  // among those of the level here
  };
  struct Leg {
    int peer = 0;               // in the joint communicator
    std::vector<Block> blocks;  // level by level, in the order of the layouts
    std::int64_t cells = 0;
  };
  template <typename Buffer, typename F>
  void for_each_message(Buffer buffer, std::size_t fields, F post) const;

  std::vector<Leg> legs_;
  std::vector<std::vector<std::int32_t>> leg_of_;  // by level and block
  std::int64_t cells_ = 0;
};

/// Calls `f(first, count)` for pieces of `elements` elements of 8 bytes that are small enough for a message.
template <typename F>
void for_each_piece(std::size_t elements, F f) {
  constexpr std::size_t largest = std::size_t{1} << 27;
  for (std::size_t first = 0; first < elements; first += largest)
    f(first, static_cast<int>(std::min(largest, elements - first)));
}

/// Memory for data under way. What comes back is kept for the next publish of the same size, since fresh memory costs
/// as much time as the copy; any other size first frees all that is kept, so that no more is held than was under way at
/// once.
class BufferPool {
 public:
  using Buffer = std::unique_ptr<double[]>;

  Buffer take(std::size_t elements);
  void give_back(Buffer buffer, std::size_t elements);

 private:
  std::size_t elements_ = 0;
  std::vector<Buffer> kept_;
};

}  // namespace sidestream::couple
