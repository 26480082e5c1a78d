#include "sidestream/core/compressed_block.hpp"

#include <cstring>

#include "core/compression/entries.hpp"

namespace sidestream::core {

std::vector<std::byte> compress_block(const Compressor& compressor, double bound, const BlockForm& form,
                                      std::span<const std::byte> cells) {
  const Compressor* taken = &compressor;
  std::optional<std::vector<std::byte>> body = compressor.compress(form, cells, bound);
  if (!body) {
    taken = &lossless_compressor();
    body = taken->compress(form, cells, bound);
  }
  std::vector<std::byte> block{std::byte{taken->tag}};
  block.reserve(1 + sizeof bound + body->size());
  if (taken->is_lossy) {
    const auto bytes = std::as_bytes(std::span(&bound, 1));
    block.insert(block.end(), bytes.begin(), bytes.end());
  }
  block.insert(block.end(), body->begin(), body->end());
  return block;
}

namespace {

const Compressor& compressor_of(std::byte tag) {
  for (const Compressor& compressor : compressors()) {
    if (std::byte{compressor.tag} != tag) continue;
    if (!compressor.missing.empty())
      throw Error("cells are compressed with `" + compressor.name + "`, which this build lacks", "",
                  compressor.missing);
    return compressor;
  }
  refuse_compressed("no compressor has made them");
}

}  // namespace

void decompress_block(const BlockForm& form, std::span<const std::byte> bytes, std::span<std::byte> cells) {
  if (bytes.empty()) refuse_compressed("there are none");
  const Compressor& compressor = compressor_of(bytes.front());
  bytes = bytes.subspan(1);
  double bound = 0.0;
  if (compressor.is_lossy) {
    if (bytes.size() < sizeof bound) refuse_compressed("the bound is cut off");
    std::memcpy(&bound, bytes.data(), sizeof bound);
    bytes = bytes.subspan(sizeof bound);
  }
  compressor.decompress(form, bytes, bound, cells);
}

}  // namespace sidestream::core
