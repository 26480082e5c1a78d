#include "sidestream/comm/sparse_exchange.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <thread>
#include <utility>

#include "comm/sparse_round.hpp"
#include "sidestream/comm/progress.hpp"

namespace sidestream::comm {

namespace {

// Among the tags that every MPI has, those that nobody else would choose: messages from anywhere are taken by them.
constexpr int first_tag = 32'001;

int drop_traffic(MPI_Comm /*comm*/, int /*key*/, void* traffic, void* /*state*/) {
  delete static_cast<ExchangeTraffic*>(traffic);
  return MPI_SUCCESS;
}

int key_of_traffic() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop_traffic, &made, nullptr), "MPI_Comm_create_keyval");
    return made;
  }();
  return key;
}

}  // namespace

ExchangeTraffic& traffic_of(MPI_Comm comm) {
  void* traffic = nullptr;
  int is_there = 0;
  check(MPI_Comm_get_attr(comm, key_of_traffic(), &traffic, &is_there), "MPI_Comm_get_attr");
  if (is_there == 0) {
    traffic = std::make_unique<ExchangeTraffic>().release();
    check(MPI_Comm_set_attr(comm, key_of_traffic(), traffic), "MPI_Comm_set_attr");
  }
  return *static_cast<ExchangeTraffic*>(traffic);
}

ExchangeTraffic traffic_of(const Communicator& comm) {
  return traffic_of(comm.raw());
}

std::int64_t consensus_messages(int ranks) {
  return std::bit_width(static_cast<unsigned>(ranks - 1));
}

SparseRound::SparseRound(MPI_Comm comm, std::size_t piece_bytes)
    : comm_(comm),
      traffic_(traffic_of(comm)),
      tag_(first_tag + static_cast<int>(traffic_.rounds % 2)),
      piece_bytes_(piece_bytes) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  ++traffic_.rounds;
}

void SparseRound::send(int to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  ++messages_;
  if (to == rank_) {
    pieces_.push_back({rank_, {bytes.begin(), bytes.end()}});
    return;
  }
  traffic_.bytes += static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), piece_bytes_);
    check(MPI_Issend(bytes.data(), static_cast<int>(count), MPI_BYTE, to, tag_, comm_, &sends_.emplace_back()),
          "MPI_Issend");
    ++traffic_.messages;
    bytes = bytes.subspan(count);
  }
}

bool SparseRound::has_taken_one() {
  int is_there = 0, count = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(MPI_Improbe(MPI_ANY_SOURCE, tag_, comm_, &is_there, &message, &status), "MPI_Improbe");
  if (is_there == 0) return false;
  check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
  std::vector<std::byte>& bytes = pieces_.emplace_back(Parcel{status.MPI_SOURCE, {}}).bytes;
  bytes.resize(static_cast<std::size_t>(count));
  check(MPI_Imrecv(bytes.data(), count, MPI_BYTE, &message, &receives_.emplace_back()), "MPI_Imrecv");
  ++traffic_.receipts;
  return true;
}

bool SparseRound::has_sent_all() {
  int is_done = 0;
  check(MPI_Testall(static_cast<int>(sends_.size()), sends_.data(), &is_done, MPI_STATUSES_IGNORE), "MPI_Testall");
  return is_done != 0;
}

std::int64_t SparseRound::finish() {
  if (size_ == 1) return messages_;
  traffic_.consensus_messages += consensus_messages(size_);
  std::int64_t total = 0;
  MPI_Request consensus = MPI_REQUEST_NULL;
  for (bool has_entered = false, is_over = false; !is_over;) {
    if (has_taken_one()) continue;
    if (!has_entered && has_sent_all()) {
      check(MPI_Iallreduce(&messages_, &total, 1, MPI_INT64_T, MPI_SUM, comm_, &consensus), "MPI_Iallreduce");
      has_entered = true;
    }
    if (has_entered) {
      int is_done = 0;
      check(MPI_Test(&consensus, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
      is_over = is_done != 0;
    }
    if (!is_over) std::this_thread::yield();
  }
  check(MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  return total;
}

// Pieces of one rank were found in the order in which it sent them, and need no numbers.
std::vector<Parcel> SparseRound::take() {
  std::ranges::stable_sort(pieces_, {}, &Parcel::rank);
  std::vector<Parcel> parcels;
  for (Parcel& piece : pieces_) {
    if (parcels.empty() || parcels.back().rank != piece.rank)
      parcels.push_back(std::move(piece));
    else
      parcels.back().bytes.insert(parcels.back().bytes.end(), piece.bytes.begin(), piece.bytes.end());
  }
  return parcels;
}

std::vector<Parcel> deliver_bytes(const Communicator& comm, std::span<const Packet> outgoing, std::int64_t& messages) {
  progress(comm);
  SparseRound round(comm.raw());
  for (const Packet& packet : outgoing) round.send(packet.rank, packet.bytes);
  messages += round.finish();
  return round.take();
}

}  // namespace sidestream::comm
