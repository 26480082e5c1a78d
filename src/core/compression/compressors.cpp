#include <algorithm>

#include "core/compression/entries.hpp"

namespace sidestream::core {

namespace {

std::optional<std::vector<std::byte>> copy(const BlockForm& form, std::span<const std::byte> cells, double) {
  require(cells.size() == form.bytes(), "a block has the bytes of its form");
  return std::vector(cells.begin(), cells.end());
}

void copy_back(const BlockForm& form, std::span<const std::byte> bytes, double, std::span<std::byte> cells) {
  require(cells.size() == form.bytes(), "a block has the bytes of its form");
  if (bytes.size() != cells.size()) refuse_compressed("there are more or fewer bytes than those of the cells");
  std::ranges::copy(bytes, cells.begin());
}

}  // namespace

Compressor no_compressor() {
  return {"none", "as they are", 0, false, copy, copy_back};
}

void refuse_compressed(const char* what) {
  throw Error(std::string("compressed cells are damaged: ") + what, "", "make them again, or take another copy");
}

const Registry<Compressor>& compressors() {
  static const Registry<Compressor> all(
      {"compressors", "compressor", "how the cells of a quantity are made smaller: `compress`"},
      {no_compressor(), zstd_compressor(), zfp_compressor()});
  return all;
}

const Compressor& lossless_compressor() {
  const Compressor& best = compressors().named("zstd");
  return best.missing.empty() ? best : compressors().front();
}

}  // namespace sidestream::core
