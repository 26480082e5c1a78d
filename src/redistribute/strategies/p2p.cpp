#include <utility>

#include "redistribute/strategies/point_to_point.hpp"

namespace sidestream::redistribute {

namespace {

constexpr int message_tag = 1;

// Packing, transfer and unpacking of successive chunks overlap, and a chunk is still in the cache when the next stage
// takes it.
constexpr std::size_t message_bytes = std::size_t{1} << 19;

void reserve(core::Bytes& buffer, std::size_t& capacity, std::size_t bytes) {
  if (bytes <= capacity) return;
  buffer = core::allocate_bytes(bytes);
  capacity = bytes;
}

}  // namespace

PointToPoint::PointToPoint(const comm::Communicator& comm, const Tables& tables, PeerFilter serves)
    : comm_(comm), tables_(tables), cuts_(tables, std::move(serves), message_bytes) {}

void PointToPoint::start(const Job& job) {
  comm::check(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  job_ = &job;
  cut_ = &cuts_.for_job(job);
  reserve(send_buffer_, send_capacity_, buffer_bytes(cut_->outgoing));
  reserve(receive_buffer_, receive_capacity_, buffer_bytes(cut_->incoming));
  receives_.assign(cut_->incoming.size(), MPI_REQUEST_NULL);
  arrived_.resize(cut_->incoming.size());
  sends_.assign(cut_->outgoing.size(), MPI_REQUEST_NULL);
  missing_ = cut_->incoming.size();
  for (std::size_t c = 0; c < cut_->incoming.size(); ++c) {
    const Chunk& chunk = cut_->incoming[c];
    comm::check(MPI_Irecv(receive_buffer_.get() + chunk.offset, mpi_count(chunk), MPI_BYTE,
                          tables_.incoming.messages[chunk.message].peer, message_tag, comm_.raw(), &receives_[c]),
                "MPI_Irecv");
  }
  for (std::size_t c = 0; c < cut_->outgoing.size(); ++c) {
    const Chunk& chunk = cut_->outgoing[c];
    pack(tables_, job, chunk, send_buffer_.get());
    comm::check(MPI_Isend(send_buffer_.get() + chunk.offset, mpi_count(chunk), MPI_BYTE,
                          tables_.outgoing.messages[chunk.message].peer, message_tag, comm_.raw(), &sends_[c]),
                "MPI_Isend");
  }
}

void PointToPoint::take(int arrived) {
  if (arrived == MPI_UNDEFINED) return;
  missing_ -= static_cast<std::size_t>(arrived);
  if (job_->adds()) return;
  for (int n = 0; n < arrived; ++n)
    unpack(tables_, *job_, cut_->incoming[static_cast<std::size_t>(arrived_[static_cast<std::size_t>(n)])],
           receive_buffer_.get());
}

bool PointToPoint::progress() {
  if (missing_ == 0) return true;
  int arrived = 0;
  comm::check(MPI_Testsome(static_cast<int>(receives_.size()), receives_.data(), &arrived, arrived_.data(),
                           MPI_STATUSES_IGNORE),
              "MPI_Testsome");
  take(arrived);
  return missing_ == 0;
}

void PointToPoint::wait() {
  while (missing_ > 0) {
    int arrived = 0;
    comm::check(MPI_Waitsome(static_cast<int>(receives_.size()), receives_.data(), &arrived, arrived_.data(),
                             MPI_STATUSES_IGNORE),
                "MPI_Waitsome");
    take(arrived);
  }
}

bool PointToPoint::is_sent() {
  int sent = 0;
  comm::check(MPI_Testall(static_cast<int>(sends_.size()), sends_.data(), &sent, MPI_STATUSES_IGNORE), "MPI_Testall");
  return sent != 0;
}

void PointToPoint::locate(std::span<const std::byte*> payloads) const {
  if (cut_ == nullptr) return;
  for (auto chunk = cut_->incoming.rbegin(); chunk != cut_->incoming.rend(); ++chunk)
    payloads[chunk->message] = receive_buffer_.get() + chunk->offset;
}

namespace {

class P2p final : public Exchange {
 public:
  P2p(const comm::Communicator& comm, const Tables& tables)
      : tables_(tables), all_(comm, tables, [](int) { return true; }), payloads_(tables.incoming.messages.size()) {}

  void start(const Job& job) override {
    job_ = &job;
    all_.start(job);
  }
  bool test() override {
    const bool has_arrived = all_.progress();
    return all_.is_sent() && has_arrived;
  }
  void finish() override {
    all_.wait();
    if (!job_->adds()) return;
    all_.locate(payloads_);
    combine_all(tables_, *job_, payloads_);
  }

 private:
  const Tables& tables_;
  PointToPoint all_;
  std::vector<const std::byte*> payloads_;
  const Job* job_ = nullptr;
};

}  // namespace

std::unique_ptr<Exchange> make_p2p(const comm::Communicator& comm, const Tables& tables) {
  return std::make_unique<P2p>(comm, tables);
}

}  // namespace sidestream::redistribute
