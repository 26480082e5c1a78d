#include "bare_messages.hpp"

#include <algorithm>
#include <limits>

namespace sidestream::bench {

namespace {

constexpr int tag = 0;  // both sides post the messages of a pair in the same order
constexpr std::int64_t most_a_message = std::int64_t{1} << 30, tried[] = {0, 4 << 20, 512 << 10, 64 << 10};

}  // namespace

BareMessages::BareMessages(const comm::Communicator& comm, const BoxByBox& transfer, int components) : comm_(comm) {
  const auto room = [&](std::int64_t cells) {
    return std::vector<std::byte>(sizeof(double) * static_cast<std::size_t>(components * cells), std::byte{1});
  };
  for (const auto& [peer, cells] : transfer.cells_to()) outgoing_.push_back({peer, room(cells)});
  for (const auto& [peer, cells] : transfer.cells_from()) incoming_.push_back({peer, room(cells)});
}

void BareMessages::choose_size(const std::function<double(const std::function<void()>& run)>& time) {
  constexpr int tries = 3;
  double best_s = std::numeric_limits<double>::max();
  std::int64_t best = 0;
  for (const std::int64_t bytes : tried) {
    most_bytes_ = bytes;
    double least_s = std::numeric_limits<double>::max();
    for (int i = 0; i < tries; ++i) least_s = std::min(least_s, time([this] { (*this)(); }));
    if (least_s >= best_s) continue;
    best_s = least_s;
    best = bytes;
  }
  most_bytes_ = best;
}

template <typename Post>
void BareMessages::post(std::vector<Pair>& pairs, Post one) {
  const std::int64_t most = most_bytes_ > 0 ? most_bytes_ : most_a_message;
  for (Pair& pair : pairs)
    for (std::int64_t done = 0, all = std::ssize(pair.bytes); done < all; done += most)
      one(pair.bytes.data() + done, static_cast<int>(std::min(most, all - done)), pair.peer,
          &requests_.emplace_back(MPI_REQUEST_NULL));
}

void BareMessages::operator()() {
  requests_.clear();
  post(incoming_, [&](std::byte* data, int count, int peer, MPI_Request* request) {
    comm::check(MPI_Irecv(data, count, MPI_BYTE, peer, tag, comm_.raw(), request), "MPI_Irecv");
  });
  post(outgoing_, [&](std::byte* data, int count, int peer, MPI_Request* request) {
    comm::check(MPI_Isend(data, count, MPI_BYTE, peer, tag, comm_.raw(), request), "MPI_Isend");
  });
  comm::check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

}  // namespace sidestream::bench
