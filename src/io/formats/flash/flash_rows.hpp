#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/disk/byte_order.hpp"
#include "io/formats/flash/flash_units.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

// The rows of a FLASH file that this rank holds: cells and particles of its blocks.

/// A block of this rank.
struct OwnBlock {
  std::size_t level = 0;
  mesh::Box box;
  std::int64_t row = 0;  ///< among all blocks of the file
};
std::vector<OwnBlock> own_blocks(const FileContent& content, int rank);

enum class FlashLayout { standard, combined };
/// Name of the dataset of all variables, (N, nvar, z, y, x).
inline const std::string combined_name = "unknowns";

/// The cells: an array a variable (N, z, y, x), or one of all. `content` must outlive the group.
ArrayGroup flash_cells(const FileContent& content, int rank, FlashLayout layout, ByteOrder order);

/// The particles of all blocks, by block and in a block by id, wherever they were.
class FlashParticles {
 public:
  /// Collective. Throws on all ranks when a particle is in no block of its rank. `flash` must outlive it.
  FlashParticles(const comm::Communicator& comm, const FlashContent& flash);

  std::int64_t total() const { return total_; }
  /// Particles of each block of the file.
  const std::vector<std::int64_t>& of_blocks() const { return of_blocks_; }
  /// The properties of the particles as 64-bit numbers, and their ids.
  ArrayGroup properties(ByteOrder order) const;
  ArrayGroup ids(ByteOrder order) const;

 private:
  struct Place {
    std::int64_t block = 0, id = 0;  // block: of this rank
    std::size_t level = 0, index = 0;
  };
  void find_places();
  bool is_before(const Place& a, const Place& b) const;
  std::int64_t block_of(std::size_t level, std::size_t index) const;
  ArrayGroup rows() const;
  void put_properties(const Place& place, ByteWriter& out) const;

  int rank_;
  const FlashContent& flash_;
  std::vector<OwnBlock> blocks_;
  std::vector<std::int64_t> first_own_;  // of each level, in blocks_
  std::vector<Place> places_;
  std::vector<std::size_t> starts_;  // of each own block, in places_
  std::vector<std::int64_t> of_blocks_;
  std::int64_t total_ = 0;
  std::vector<RowRun> runs_;
};

}  // namespace sidestream::io
