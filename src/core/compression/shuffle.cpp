#include "core/compression/shuffle.hpp"

#include <algorithm>

namespace sidestream::core {

namespace {

// So many reals at a time, that they stay in the nearest cache while their bytes are dealt out.
constexpr std::size_t tile = 512;

template <std::size_t size, typename Move>
void for_each_byte(std::size_t count, Move move) {
  for (std::size_t begin = 0; begin < count; begin += tile) {
    const std::size_t end = std::min(begin + tile, count);
    for (std::size_t byte = 0; byte < size; ++byte)
      for (std::size_t real = begin; real < end; ++real) move(byte * count + real, real * size + byte);
  }
}

template <typename Move>
void for_each_byte(std::size_t real_bytes, std::size_t count, Move move) {
  if (real_bytes == 4)
    for_each_byte<4>(count, move);
  else
    for_each_byte<8>(count, move);
}

}  // namespace

void shuffle(std::size_t real_bytes, std::span<const std::byte> reals, std::span<std::byte> sorted) {
  for_each_byte(real_bytes, reals.size() / real_bytes,
                [from = reals.data(), to = sorted.data()](std::size_t s, std::size_t r) { to[s] = from[r]; });
}

void unshuffle(std::size_t real_bytes, std::span<const std::byte> sorted, std::span<std::byte> reals) {
  for_each_byte(real_bytes, reals.size() / real_bytes,
                [from = sorted.data(), to = reals.data()](std::size_t s, std::size_t r) { to[r] = from[s]; });
}

}  // namespace sidestream::core
