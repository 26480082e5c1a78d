#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sidestream/core/registry.hpp"

namespace sidestream::core {

enum class Real : std::uint8_t { float32, float64 };

/// What lies in a packed block: its cells one behind the other, x fastest, in the order of bytes of this machine.
struct BlockForm {
  std::array<std::int64_t, 3> cells{1, 1,
                                    1};  ///< (z, y, x); a block of fewer dimensions is one cell wide in the others
  Real real = Real::float64;

  std::size_t real_bytes() const { return real == Real::float32 ? 4 : 8; }
  std::size_t cell_count() const { return static_cast<std::size_t>(cells[0] * cells[1] * cells[2]); }
  std::size_t bytes() const { return cell_count() * real_bytes(); }
};

/// A way of making packed blocks smaller. The bytes are those of the HDF5 filters of the same name, and the same on
/// every machine and processor.
struct Compressor {
  std::string name, documentation;
  std::uint8_t tag = 0;  ///< in compressed blocks: never of another compressor
  bool is_lossy = false;
  /// Makes bytes of the cells of a block, which are aligned as reals are. A lossy compressor takes the largest error
  /// that a cell may have, and returns nothing where it cannot keep to that: a bound that is no positive number, cells
  /// that are not finite, magnitudes that leave no bits for the bound. Lossless ones ignore `bound` and always answer.
  std::function<std::optional<std::vector<std::byte>>(const BlockForm& form, std::span<const std::byte> cells,
                                                      double bound)>
      compress{};
  /// Fills `cells`, all of a block of this form, from bytes that `compress` has made with the same bound. Takes no more
  /// memory than a small multiple of `cells`, whatever the bytes are; throws core::Error where they are not sound.
  std::function<void(const BlockForm& form, std::span<const std::byte> bytes, double bound, std::span<std::byte> cells)>
      decompress{};
  std::string missing{};  ///< of a compressor that this build does not have: what to do about it
};

/// All compressors there are; the first changes nothing.
const Registry<Compressor>& compressors();
/// The best of the lossless ones that this build has.
const Compressor& lossless_compressor();

}  // namespace sidestream::core
