#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "couple/publish/block_messages.hpp"
#include "couple/publish/cargo.hpp"
#include "sidestream/mesh/layout.hpp"

namespace sidestream::couple {

/// Cells that a reader asks for: a part of a block of a level.
struct Part {
  std::int32_t level = 0;
  mesh::Box box;

  std::int64_t cells() const { return box.volume(); }
  friend bool operator==(const Part&, const Part&) = default;
};

/// The data of a publish that lie on this rank, to be read by the thread that sends them: all blocks of all fields,
/// then the particles of all species. In memory, or on a disk until somebody asks.
class Shelf {
 public:
  /// `cargo` was made by `Route(levels, rank)`.
  Shelf(std::vector<mesh::Layout> levels, int rank, std::size_t fields, Cargo cargo);

  std::size_t fields() const { return fields_; }
  /// Of a field, on this rank.
  std::int64_t cells() const { return cells_; }
  /// Whether `part` lies in a block of this rank.
  bool has(const Part& part) const;
  /// The block that a part lies in, and where its cells begin; cells of a field follow one another without a gap.
  struct Block {
    mesh::Box box;
    std::int64_t first = 0;  ///< cells of a field before it
  };
  Block block_of(const Part& part) const;
  std::span<const double> field(std::size_t number) const;
  std::span<const Word> particles() const;

  /// Brings into memory what lies on a disk. Throws core::Error where that cannot be read. Of one thread at a time.
  void load();
  /// The memory, when nobody reads any more.
  std::vector<Buffer> release() { return std::move(cargo_).release(); }

 private:
  std::vector<mesh::Layout> levels_;
  int rank_;
  std::size_t fields_;
  Cargo cargo_;
  BufferPool fresh_;
  std::vector<std::vector<std::int64_t>> first_;  // by level and number among the blocks here
  std::int64_t cells_ = 0;
};

}  // namespace sidestream::couple
