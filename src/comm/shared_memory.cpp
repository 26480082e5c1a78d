#include "sidestream/comm/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <new>
#include <random>
#include <string_view>
#include <utility>

namespace sidestream::comm {

namespace {

constexpr std::size_t head_bytes = 4096;
constexpr std::string_view link_of_memory = "/memfd:sidestream (deleted)";

// A number of a process may be that of another one in another container, whose file may be anything: it is not opened
// before it is known to be memory of this kind.
bool is_ours(const std::string& path) {
  std::array<char, 64> link{};
  const ssize_t size = ::readlink(path.c_str(), link.data(), link.size());
  return size > 0 && std::string_view(link.data(), static_cast<std::size_t>(size)) == link_of_memory;
}

std::uint64_t new_key() {
  std::random_device random;
  return (std::uint64_t{random()} << 32 | random()) | 1;
}

}  // namespace

struct SharedMemory::Head {
  std::uint64_t key;                // tells it from memory of another process of the same number
  std::atomic<std::uint64_t> lent;  // times; more before it is told of, less after it was read
};

SharedMemory::Head& SharedMemory::head() const {
  static_assert(sizeof(Head) <= head_bytes && std::atomic<std::uint64_t>::is_always_lock_free);
  return *reinterpret_cast<Head*>(base_);
}

bool SharedMemory::map(std::size_t size_bytes) {
  void* const found = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (found == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(found);
  mapped_bytes_ = size_bytes;
  return true;
}

std::optional<SharedMemory> SharedMemory::make(std::size_t size_bytes) {
  SharedMemory memory;
  memory.file_ = ::memfd_create("sidestream", MFD_CLOEXEC);
  const std::size_t all_bytes = head_bytes + size_bytes;
  if (memory.file_ < 0 || ::ftruncate(memory.file_, static_cast<off_t>(all_bytes)) != 0) return std::nullopt;
  if (!memory.map(all_bytes) || !memory.reserve(0)) return std::nullopt;
  new (memory.base_) Head{new_key(), 0};
  return memory;
}

std::optional<SharedMemory> SharedMemory::borrow(const Address& address) {
  const std::string path = fmt::format("/proc/{}/fd/{}", address.process, address.file);
  if (!is_ours(path)) return std::nullopt;
  SharedMemory memory;
  memory.file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  const auto all_bytes = head_bytes + address.size_bytes;
  const bool is_mapped = memory.file_ >= 0 && ::fstat(memory.file_, &status) == 0 &&
                         status.st_size == static_cast<off_t>(all_bytes) && memory.map(all_bytes);
  if (memory.file_ >= 0) ::close(std::exchange(memory.file_, -1));
  if (!is_mapped) return std::nullopt;
  if (memory.head().key == address.key && memory.is_lent()) return memory;
  ::munmap(std::exchange(memory.base_, nullptr), all_bytes);  // another's, to which nothing is given back
  return std::nullopt;
}

SharedMemory::~SharedMemory() {
  const bool is_owner = file_ >= 0;
  if (base_ != nullptr) {
    if (!is_owner) head().lent.fetch_sub(1, std::memory_order_release);
    ::munmap(base_, mapped_bytes_);
  }
  if (is_owner) ::close(file_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      reserved_bytes_(other.reserved_bytes_),
      file_(std::exchange(other.file_, -1)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  std::swap(file_, other.file_);
  return *this;
}

std::span<std::byte> SharedMemory::bytes() const {
  return {base_ + head_bytes, mapped_bytes_ - head_bytes};
}

void SharedMemory::protect() {
  ::mprotect(base_ + head_bytes, mapped_bytes_ - head_bytes, PROT_READ);
}

// Without it, a write for which there is no memory would end the process.
bool SharedMemory::reserve(std::size_t size_bytes) {
  const std::size_t wanted = head_bytes + size_bytes;
  if (wanted <= reserved_bytes_) return true;
  int problem = EINTR;
  while (problem == EINTR)
    problem =
        ::posix_fallocate(file_, static_cast<off_t>(reserved_bytes_), static_cast<off_t>(wanted - reserved_bytes_));
  if (problem == 0) reserved_bytes_ = wanted;
  return problem == 0;
}

SharedMemory::Address SharedMemory::lend() const {
  head().lent.fetch_add(1, std::memory_order_release);
  return {::getpid(), file_, head().key, bytes().size()};
}

bool SharedMemory::is_lent() const {
  return head().lent.load(std::memory_order_acquire) != 0;
}

void SharedMemory::take_back() {
  head().lent.store(0, std::memory_order_release);
}

std::vector<bool> sharers_of_memory(const Communicator& world) {
  const Communicator node = world.split_by_node();
  const std::optional<SharedMemory> own = SharedMemory::make(0);
  SharedMemory::Address address;
  for (int r = 0; own && r < node.size(); ++r) address = own->lend();
  // Both have to reach the other, and know it.
  std::vector<std::vector<char>> reached;
  for (const SharedMemory::Address& other : node.all_gather(address))
    reached.push_back({static_cast<char>(SharedMemory::borrow(other).has_value())});
  const std::vector<std::vector<char>> is_reached = node.exchange(reached);
  const std::vector<int> ranks = node.all_gather(world.rank());
  std::vector<bool> sharers(static_cast<std::size_t>(world.size()), false);
  for (std::size_t r = 0; r < ranks.size(); ++r)
    sharers[static_cast<std::size_t>(ranks[r])] = reached[r].front() != 0 && is_reached[r].front() != 0;
  return sharers;
}

}  // namespace sidestream::comm
