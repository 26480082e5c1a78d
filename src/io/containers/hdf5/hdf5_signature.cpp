#include "io/containers/hdf5/hdf5_signature.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace sidestream::io {

// HDF5 File Format Specification, II.A.
std::optional<std::int64_t> begin_of_hdf5(const InputFile& file) {
  constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  constexpr std::int64_t smallest_block = 512;
  const std::int64_t last = file.size_bytes() - std::ssize(signature);
  for (std::int64_t begin = 0; begin <= last; begin = std::max(smallest_block, 2 * begin)) {
    std::array<unsigned char, signature.size()> found{};
    file.read(begin, std::as_writable_bytes(std::span(found)));
    if (found == signature) return begin;
  }
  return std::nullopt;
}

}  // namespace sidestream::io
