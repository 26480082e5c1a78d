#include "sidestream/core/memory.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace sidestream::core {

namespace {

constexpr std::size_t vector_bytes = 64, huge_page_bytes = std::size_t{2} << 20;
constexpr std::size_t least_for_huge_pages = huge_page_bytes;
// From here on the last huge page is a whole one; before, what is beyond the last one is of small pages.
constexpr std::size_t least_for_whole_pages = 4 * huge_page_bytes;

// What precedes the bytes that are given: in the page before for mapped ones.
struct Head {
  std::size_t mapped_bytes;  // behind the head; 0 where the memory is the allocator's
};
constexpr std::size_t head_bytes = vector_bytes, page_bytes = 4096, head_page_bytes = page_bytes;

Head& head_of(std::byte* data) {
  return *reinterpret_cast<Head*>(data - head_bytes);
}

std::size_t rounded_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

// A multiple of pages, aligned to huge ones, behind a page for the head; nothing of it is taken yet.
std::byte* mapped(std::size_t size_bytes) {
  const std::size_t room = huge_page_bytes + size_bytes;
  void* const found = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(found);
  const std::size_t before = huge_page_bytes - reinterpret_cast<std::uintptr_t>(begin) % huge_page_bytes;
  std::byte* const data = begin + before;
  if (before > head_page_bytes) munmap(begin, before - head_page_bytes);
  if (before < huge_page_bytes) munmap(data + size_bytes, huge_page_bytes - before);
  madvise(data, size_bytes, MADV_HUGEPAGE);  // advice only: a system without huge pages refuses, and nothing is lost
  head_of(data).mapped_bytes = size_bytes;
  return data;
}

// Copies the first `used_bytes` of mapped memory and gives back page after page. (The system can move pages to another
// address, but MPI libraries wrap that call, and UCX before 1.14 loses the address.)
void move_pages(std::byte* from, std::size_t mapped_bytes, std::size_t used_bytes, std::byte* to) {
  for (std::size_t done = 0; done < mapped_bytes; done += huge_page_bytes) {
    if (done < used_bytes) std::memcpy(to + done, from + done, std::min(huge_page_bytes, used_bytes - done));
    munmap(from + done, std::min(huge_page_bytes, mapped_bytes - done));
  }
  munmap(from - head_page_bytes, head_page_bytes);
}

}  // namespace

void FreeBytes::operator()(std::byte* data) const {
  if (const std::size_t size = head_of(data).mapped_bytes; size > 0)
    munmap(data - head_page_bytes, head_page_bytes + size);
  else
    std::free(data - head_bytes);
}

Bytes allocate_bytes(std::size_t size_bytes) {
  if (size_bytes >= least_for_huge_pages)
    return Bytes(mapped(rounded_up(size_bytes, size_bytes < least_for_whole_pages ? page_bytes : huge_page_bytes)));
  auto* const found =
      static_cast<std::byte*>(std::aligned_alloc(vector_bytes, rounded_up(head_bytes + size_bytes, vector_bytes)));
  if (found == nullptr) throw std::bad_alloc();
  std::byte* const data = found + head_bytes;
  head_of(data).mapped_bytes = 0;
  return Bytes(data);
}

void clear(const Bytes& bytes, std::size_t size_bytes) {
  if (head_of(bytes.get()).mapped_bytes == 0) std::memset(bytes.get(), 0, size_bytes);
}

void grow(Bytes& bytes, std::size_t used_bytes, std::size_t size_bytes) {
  Bytes larger = allocate_bytes(size_bytes);
  if (const std::size_t old = head_of(bytes.get()).mapped_bytes; old > 0)
    move_pages(bytes.release(), old, used_bytes, larger.get());
  else
    std::memcpy(larger.get(), bytes.get(), used_bytes);
  bytes = std::move(larger);
}

void return_large_memory() {
  constexpr int megabyte = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, megabyte);  // once it is set, the allocator no longer raises it
}

std::span<std::byte> Workroom::bytes(std::size_t size_bytes) {
  if (size_bytes > size_bytes_) {
    bytes_.reset();
    bytes_ = allocate_bytes(size_bytes);
    size_bytes_ = size_bytes;
  }
  return {bytes_.get(), size_bytes};
}

}  // namespace sidestream::core
