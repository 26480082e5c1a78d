#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/redistribute/redistribution.hpp"

// Redistribution for arrays of other codes, in three calls: describe the data (`DataDescription`), map what each rank
// owns to what each rank needs (`DataMapping`), reorganise.
namespace sidestream::redistribute {

/// An array of cells of which ranks own chunks and need chunks. Alike on all ranks.
struct DataDescription {
  mesh::Int3 cells{1, 1, 1};     ///< of the whole along x, y, z; 1 along the axes that it does not have
  mesh::Periodicity periodic{};  ///< whether it goes on at its opposite face
  mesh::Int3 rim{};              ///< so many cells more on both sides of each needed chunk
  int components = 1;            ///< numbers of a cell
  bool allows_holes = false;     ///< cells that are needed and that nobody owns stay as they are; else an error
  Strategy strategy = Strategy::automatic;

  friend bool operator==(const DataDescription&, const DataDescription&) = default;
};

/// Throws core::Error unless there may be such data. Local.
void check(const DataDescription& description);

/// The memory of one chunk, a needed one with its rim: its first cell, and how many elements lie between neighbours
/// along x, y, z and between components. `Cell` is const void or void.
template <typename Cell>
struct ChunkMemory {
  Cell* first = nullptr;
  mesh::ElementType type = mesh::ElementType::float64;
  mesh::Int3 cells;
  std::array<std::ptrdiff_t, 4> strides{};
};
using OwnedMemory = ChunkMemory<const void>;
using NeededMemory = ChunkMemory<void>;

/// `cells` without gaps, x fastest, one component after the other.
template <typename Cell>
ChunkMemory<Cell> packed_memory(Cell* first, mesh::ElementType type, mesh::Int3 cells) {
  const std::ptrdiff_t row = cells.x, plane = row * cells.y;
  return {first, type, cells, {1, row, plane, plane * cells.z}};
}
template <typename T>
auto packed_memory(T* first, mesh::Int3 cells) {
  using Cell = std::conditional_t<std::is_const_v<T>, const void, void>;
  return packed_memory<Cell>(first, mesh::ElementTypeOf<std::remove_const_t<T>>::value, cells);
}

/// A plan that brings the chunks that ranks own to the chunks that ranks need: any number of them on each rank, none
/// too; needed ones may overlap, leave cells out and, along periodic axes, reach over the faces of the whole, which
/// owned ones tile without overlap. Made once, applied often, to whatever memory; a `Redistribution` does the work, and
/// cells go straight from memory to memory where they stay on a rank.
class DataMapping {
 public:
  /// Collective on `comm`, an intracommunicator, or an intercommunicator between those who send and those who receive,
  /// whose ranks are numbered through: first those of a group that owns anything. Boxes are [lo, hi) of cells along x,
  /// y, z. Throws core::Error, the same on all ranks and with boxes and ranks by number: descriptions that differ,
  /// chunks outside the whole, owned chunks that overlap, needed cells without an owner. So is the `problem` that the
  /// caller of a rank has with its chunks.
  DataMapping(MPI_Comm comm, const DataDescription& description, std::span<const mesh::Box> owned,
              std::span<const mesh::Box> needed, const std::optional<core::Error>& problem = {});
  /// Collective where the strategy has a window (shared, rma).
  ~DataMapping();
  DataMapping(DataMapping&&) noexcept;
  DataMapping& operator=(DataMapping&&) noexcept;

  const DataDescription& description() const;
  /// Of this rank, in the order they were given; needed ones with their rims.
  std::span<const mesh::Box> owned() const;
  std::span<const mesh::Box> needed() const;
  /// The plan that moves the cells, for its strategy, its bytes and its times.
  Redistribution& plan() const;
  /// The ranks of both groups.
  const comm::Communicator& comm() const;

  /// Fills the needed chunks from the owned ones; one piece of memory for each chunk. Elements are of one type on all
  /// owned chunks and of one on all needed ones, converted on arrival as by `Redistribution::apply`. The cells of a rim
  /// beyond a face that is not periodic stay as they were. Memory may serve both sides where a cell lies at the same
  /// place on both: so the rims of chunks that lie within needed ones are filled without a copy of the rest.
  /// Collective; throws core::Error on all ranks where memory does not fit on one of them, or its caller has a
  /// `problem` with it, before anything moves.
  void reorganise(std::span<const OwnedMemory> from, std::span<const NeededMemory> to) {
    start(from, to);
    finish();
  }
  /// `reorganise` in two halves, between which what is owned must not change. `start` agrees with the other ranks on
  /// what they give, then packs and sends; `finish` waits for what arrives.
  void start(std::span<const OwnedMemory> from, std::span<const NeededMemory> to,
             const std::optional<core::Error>& problem = {});
  void finish();
  /// Lets cells travel; whether `finish` would not wait. Local.
  bool test() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sidestream::redistribute
