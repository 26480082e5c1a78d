#include "comm/gathered.hpp"

#include <algorithm>
#include <numeric>

#include "sidestream/comm/sparse_exchange.hpp"

namespace sidestream::comm {

namespace {

/// How many bytes each rank contributes to a gathered table, and where they begin.
struct Shares {
  std::vector<int> count, offset;
  std::int64_t total = 0;
  bool is_at_once = true;  ///< whether one call takes all; else there are no counts

  Shares(const Communicator& comm, std::span<const std::byte> bytes, std::int64_t at_once) {
    const std::vector<std::int64_t> sizes = comm.all_gather(static_cast<std::int64_t>(bytes.size()));
    total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    is_at_once = total <= at_once;
    int begin = 0;
    for (std::size_t rank = 0; rank < sizes.size() && is_at_once; ++rank) {
      count.push_back(static_cast<int>(sizes[rank]));
      offset.push_back(begin);
      begin += count.back();
    }
  }
};

std::vector<std::byte> gathered_in_pieces(const Communicator& comm, std::span<const std::byte> bytes, int root,
                                          std::int64_t total) {
  const Packet packet{root, bytes};
  std::int64_t messages = 0;
  std::vector<std::byte> all;
  if (comm.rank() == root) all.reserve(static_cast<std::size_t>(total));
  for (Parcel& parcel : deliver_bytes(comm, std::span(&packet, 1), messages)) {
    all.insert(all.end(), parcel.bytes.begin(), parcel.bytes.end());
    parcel.bytes = {};
  }
  return all;
}

}  // namespace

std::vector<std::byte> gathered(const Communicator& comm, std::span<const std::byte> bytes, int root,
                                std::int64_t at_once) {
  const Shares shares(comm, bytes, at_once);
  if (!shares.is_at_once) return gathered_in_pieces(comm, bytes, root, shares.total);
  std::vector<std::byte> all(comm.rank() == root ? static_cast<std::size_t>(shares.total) : 0);
  check(MPI_Gatherv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, all.data(), shares.count.data(),
                    shares.offset.data(), MPI_BYTE, root, comm.raw()),
        "MPI_Gatherv");
  return all;
}

std::vector<std::byte> gathered_by_all(const Communicator& comm, std::span<const std::byte> bytes,
                                       std::int64_t at_once) {
  const Shares shares(comm, bytes, at_once);
  if (!shares.is_at_once) {
    std::vector<std::byte> all = gathered_in_pieces(comm, bytes, 0, shares.total);
    all.resize(static_cast<std::size_t>(shares.total));
    broadcast(comm, all, 0);
    return all;
  }
  std::vector<std::byte> all(static_cast<std::size_t>(shares.total));
  check(MPI_Allgatherv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, all.data(), shares.count.data(),
                       shares.offset.data(), MPI_BYTE, comm.raw()),
        "MPI_Allgatherv");
  return all;
}

void broadcast(const Communicator& comm, std::span<std::byte> bytes, int root) {
  constexpr std::size_t largest = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), largest);
    check(MPI_Bcast(bytes.data(), static_cast<int>(count), MPI_BYTE, root, comm.raw()), "MPI_Bcast");
    bytes = bytes.subspan(count);
  }
}

}  // namespace sidestream::comm
