#pragma once

#include <mpi.h>

#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sidestream/core/exact_sum.hpp"

namespace sidestream::comm {

/// MPI (threads where it can), for this life or the launcher's. A full `ulimit -f` is an error; freed memory goes back.
class Environment {
 public:
  Environment(int& argc, char**& argv);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
};

/// Throws a core::Error naming `call` when an MPI call did not succeed.
void check(int mpi_error, std::string_view call);

/// The MPI type of an element; `void*`-free and resolved at compile time.
template <typename T>
MPI_Datatype datatype();
template <>
inline MPI_Datatype datatype<char>() {
  return MPI_CHAR;
}
template <>
inline MPI_Datatype datatype<std::byte>() {
  return MPI_BYTE;
}
template <>
inline MPI_Datatype datatype<std::uint8_t>() {
  return MPI_UINT8_T;
}
template <>
inline MPI_Datatype datatype<std::int32_t>() {
  return MPI_INT32_T;
}
template <>
inline MPI_Datatype datatype<std::uint32_t>() {
  return MPI_UINT32_T;
}
template <>
inline MPI_Datatype datatype<std::int64_t>() {
  return MPI_INT64_T;
}
template <>
inline MPI_Datatype datatype<std::uint64_t>() {
  return MPI_UINT64_T;
}
template <>
inline MPI_Datatype datatype<float>() {
  return MPI_FLOAT;
}
template <>
inline MPI_Datatype datatype<double>() {
  return MPI_DOUBLE;
}
template <>
inline MPI_Datatype datatype<std::complex<double>>() {
  return MPI_C_DOUBLE_COMPLEX;
}
template <>
inline MPI_Datatype datatype<std::complex<float>>() {
  return MPI_C_FLOAT_COMPLEX;
}

/// An MPI communicator of its own (duplicated or split, freed at the end), so that messages of two modules never meet.
/// Move-only. Every member that communicates is collective over the communicator.
class Communicator {
 public:
  /// A duplicate of `comm`; collective on it.
  explicit Communicator(MPI_Comm comm);
  ~Communicator();
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;

  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm raw() const { return comm_; }

  Communicator duplicate() const { return Communicator(comm_); }
  /// The ranks that give the same `color`, in the order of `key` and then of the old rank. Negative colours get an
  /// empty communicator, on which `is_empty()` holds and nothing else may be called.
  Communicator split(int color, int key = 0) const;
  /// The ranks that share memory with this one.
  Communicator split_by_node() const;
  bool is_empty() const { return comm_ == MPI_COMM_NULL; }

  void barrier() const;

  /// One value from all: sum of integers (exact), minimum, maximum, logical and.
  std::int64_t sum(std::int64_t value) const;
  double min(double value) const;
  double max(double value) const;
  std::int64_t min(std::int64_t value) const;
  std::int64_t max(std::int64_t value) const;
  bool all(bool value) const;
  /// Element-wise sum of integers, in place.
  void sum(std::span<std::int64_t> values) const;
  /// Exact sum over all ranks of sums that each rank accumulated, in place, each element by itself.
  void sum(std::span<core::ExactSum> sums) const;
  double sum(core::ExactSum partial) const;

  /// `value` of rank `root` on every rank.
  template <typename T>
  T broadcast(T value, int root = 0) const {
    check(MPI_Bcast(&value, static_cast<int>(sizeof(T)), MPI_BYTE, root, comm_), "MPI_Bcast");
    return value;
  }
  std::string broadcast(std::string text, int root = 0) const;
  template <typename T>
  std::vector<T> broadcast(std::vector<T> values, int root = 0) const {
    const auto count = broadcast(static_cast<std::int64_t>(values.size()), root);
    values.resize(static_cast<std::size_t>(count));
    broadcast_bytes(std::as_writable_bytes(std::span(values)), root);
    return values;
  }

  /// One value of each rank, in rank order, on every rank.
  template <typename T>
  std::vector<T> all_gather(const T& value) const {
    std::vector<T> all(static_cast<std::size_t>(size_));
    check(MPI_Allgather(&value, static_cast<int>(sizeof(T)), MPI_BYTE, all.data(), static_cast<int>(sizeof(T)),
                        MPI_BYTE, comm_),
          "MPI_Allgather");
    return all;
  }
  /// All values of all ranks, any number of each, in rank order on every rank: for changes of replicated tables.
  template <typename T>
  std::vector<T> all_gather(std::span<const T> values) const {
    const std::vector<std::byte> bytes = all_gather_bytes(std::as_bytes(values));
    std::vector<T> all(bytes.size() / sizeof(T));
    std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(all)).begin());
    return all;
  }
  /// All values of all ranks in rank order, on `root` (empty elsewhere) - for small tables only.
  template <typename T>
  std::vector<T> gather(std::span<const T> values, int root = 0) const {
    const std::vector<std::byte> bytes = gather_bytes(std::as_bytes(values), root);
    std::vector<T> all(bytes.size() / sizeof(T));
    std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(all)).begin());
    return all;
  }
  /// Sends `outgoing[p]` to each rank p and returns what each rank sent here. Cost: a round of `deliver`
  /// (sparse_exchange.hpp), and lists of all ranks, which that one does without.
  template <typename T>
  std::vector<std::vector<T>> exchange(const std::vector<std::vector<T>>& outgoing) const {
    std::vector<std::span<const std::byte>> bytes;
    for (const auto& message : outgoing) bytes.push_back(std::as_bytes(std::span(message)));
    std::vector<std::vector<T>> incoming;
    for (const auto& message : exchange_bytes(bytes)) {
      incoming.emplace_back(message.size() / sizeof(T));
      std::copy(message.begin(), message.end(), std::as_writable_bytes(std::span(incoming.back())).begin());
    }
    return incoming;
  }

  /// After local work that may have failed: if any rank has a `problem` (non-empty), all ranks throw it together; the
  /// lowest such rank's text is used, as the message of a core::Error whose `where` names the rank if `where` is empty.
  void agree(const std::string& problem) const;
  /// Runs `work` on each rank; if it throws a std::exception on any rank, all ranks throw the error of the lowest such
  /// rank.
  template <typename F>
  void agree_on(F work) const {
    std::string packed;
    try {
      work();
    } catch (const std::exception& error) {
      packed = pack_error(error);
    }
    throw_packed_together(packed);
  }

 private:
  Communicator() = default;
  void broadcast_bytes(std::span<std::byte> bytes, int root) const;
  std::vector<std::byte> gather_bytes(std::span<const std::byte> bytes, int root) const;
  std::vector<std::byte> all_gather_bytes(std::span<const std::byte> bytes) const;
  std::vector<std::vector<std::byte>> exchange_bytes(std::span<const std::span<const std::byte>> outgoing) const;
  static std::string pack_error(const std::exception& error);
  void throw_packed_together(const std::string& packed) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 0;
};

}  // namespace sidestream::comm
