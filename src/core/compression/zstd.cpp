#include <zstd.h>

#include "core/compression/entries.hpp"
#include "core/compression/shuffle.hpp"

namespace sidestream::core {

namespace {

// Higher levels take several times as long for a few per cent: docs/guides/compression.md.
constexpr int level = 1;

std::optional<std::vector<std::byte>> compress_with_zstd(const BlockForm& form, std::span<const std::byte> cells,
                                                         double) {
  require(cells.size() == form.bytes(), "a block has the bytes of its form");
  std::vector<std::byte> sorted(cells.size()), bytes(ZSTD_compressBound(cells.size()));
  shuffle(form.real_bytes(), cells, sorted);
  const std::size_t size = ZSTD_compress(bytes.data(), bytes.size(), sorted.data(), sorted.size(), level);
  if (ZSTD_isError(size) != 0) throw Error(std::string("zstd cannot compress cells: ") + ZSTD_getErrorName(size));
  bytes.resize(size);
  return bytes;
}

void decompress_with_zstd(const BlockForm& form, std::span<const std::byte> bytes, double, std::span<std::byte> cells) {
  require(cells.size() == form.bytes(), "a block has the bytes of its form");
  if (ZSTD_getFrameContentSize(bytes.data(), bytes.size()) != cells.size())
    refuse_compressed("zstd was given another number of cells");
  std::vector<std::byte> sorted(cells.size());
  const std::size_t size = ZSTD_decompress(sorted.data(), sorted.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0 || size != cells.size()) refuse_compressed("zstd cannot read them");
  unshuffle(form.real_bytes(), sorted, cells);
}

}  // namespace

Compressor zstd_compressor() {
  return {"zstd",
          "lossless: the bytes of numbers sorted by their places, then Zstandard",
          1,
          false,
          compress_with_zstd,
          decompress_with_zstd};
}

}  // namespace sidestream::core
