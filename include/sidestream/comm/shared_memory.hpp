#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::comm {

/// Memory that a process lends to others of the same node, which read it where it lies, without a message and without
/// waiting for the owner. It has no name, so nothing of it is left however they end. Move-only.
class SharedMemory {
 public:
  /// Where another process finds it; travels as bytes. That of nothing is all zeros.
  struct Address {
    std::int64_t process = 0, file = 0;
    std::uint64_t key = 0, size_bytes = 0;
  };

  /// Nothing where the system gives none. Addresses only: memory is taken by `reserve` and given back at the end.
  static std::optional<SharedMemory> make(std::size_t size_bytes);
  /// What the owner has lent; given back at the end. Nothing where it cannot be reached: in another container, on
  /// another node.
  static std::optional<SharedMemory> borrow(const Address& address);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::span<std::byte> bytes() const;
  /// From here on this process can only read them.
  void protect();

  // The owner.
  /// Makes sure that the first bytes can be written. Returns whether the system has so much memory.
  bool reserve(std::size_t size_bytes);
  /// Lends what was written to one process more.
  Address lend() const;
  /// Whether any has not given it back.
  bool is_lent() const;
  /// Where those to whom it was lent have ended without giving it back.
  void take_back();

 private:
  struct Head;
  SharedMemory() = default;
  bool map(std::size_t size_bytes);
  Head& head() const;

  std::byte* base_ = nullptr;       // the head, a page; then the bytes
  std::size_t mapped_bytes_ = 0;    // of both
  std::size_t reserved_bytes_ = 0;  // of both
  int file_ = -1;                   // of the owner
};

/// Which ranks of `world` can borrow from this one, and it from them. Collective on `world`; each rank looks at those
/// of its node.
std::vector<bool> sharers_of_memory(const Communicator& world);

}  // namespace sidestream::comm
