#include "sidestream/core/memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace sidestream::core {

namespace {

constexpr std::size_t vector_bytes = 64, huge_page_bytes = std::size_t{2} << 20;
constexpr std::size_t least_for_huge_pages = 4 * huge_page_bytes;

std::size_t rounded_up(std::size_t size, std::size_t unit) {
  return (size / unit + 1) * unit;
}

}  // namespace

void FreeBytes::operator()(std::byte* data) const {
  std::free(data);
}

Bytes allocate_bytes(std::size_t size_bytes) {
  const bool is_large = size_bytes >= least_for_huge_pages;
  const std::size_t alignment = is_large ? huge_page_bytes : vector_bytes;
  auto* data = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded_up(size_bytes, alignment)));
  if (data == nullptr) throw std::bad_alloc();
  // Advice only: a system without huge pages refuses, and nothing is lost.
  if (is_large) madvise(data, size_bytes, MADV_HUGEPAGE);
  return Bytes(data);
}

}  // namespace sidestream::core
