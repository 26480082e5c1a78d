// A compressed block, behind four bytes: the cells along z, y and x, and of which reals.
#include "sidestream/core/compressed_block.hpp"

#include "fuzz/target.hpp"

using namespace sidestream;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t head = 4;
  if (size < head) return 0;
  const core::BlockForm form{{data[0] % 20, data[1] % 20, data[2] % 20},
                             data[3] % 2 == 0 ? core::Real::float32 : core::Real::float64};
  std::vector<double> room(form.cell_count());
  const std::span<std::byte> cells = std::as_writable_bytes(std::span(room)).first(form.bytes());
  return fuzz::refuse_or_take(
      [&] { core::decompress_block(form, std::as_bytes(std::span(data, size)).subspan(head), cells); });
}
