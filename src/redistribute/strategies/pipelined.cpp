#include <mpi.h>

#include <algorithm>
#include <vector>

#include "redistribute/exchange.hpp"
#include "sidestream/core/memory.hpp"

namespace sidestream::redistribute {

namespace {

constexpr int slab_tag = 1;

constexpr std::size_t slab_bytes = std::size_t{1} << 18;
constexpr std::size_t slots_a_message = 4;  // one is packed, one unpacked, two are on their way

/// The chunks of all messages of one direction, each message with a ring of slots that its chunks pass through.
class Rings {
 public:
  void reset(const std::vector<Chunk>& chunks, std::size_t messages) {
    chunks_ = &chunks;
    waiting_.clear();
    for (std::size_t m = 0; m < messages; ++m) waiting_.push_back(chunks_of_message(chunks, m));
    left_ = chunks.size();
    slot_bytes_ = 0;
    for (const Chunk& chunk : chunks) slot_bytes_ = std::max(slot_bytes_, chunk.size_bytes);
    slot_bytes_ = (slot_bytes_ + line_bytes - 1) / line_bytes * line_bytes;
    in_slot_.assign(slots(), nullptr);
  }

  std::size_t slots() const { return waiting_.size() * slots_a_message; }
  std::size_t size_bytes() const { return slots() * slot_bytes_; }
  std::size_t place_of(std::size_t slot) const { return slot * slot_bytes_; }
  /// Chunks that have not entered a slot.
  std::size_t left() const { return left_; }
  const Chunk* in_slot(std::size_t slot) const { return in_slot_[slot]; }

  /// The next chunk of the slot's message takes the slot; null when there is none left.
  const Chunk* enter(std::size_t slot) {
    ChunkRange& waiting = waiting_[slot / slots_a_message];
    in_slot_[slot] = waiting.size() == 0 ? nullptr : &(*chunks_)[waiting.first++];
    if (in_slot_[slot] != nullptr) --left_;
    return in_slot_[slot];
  }

 private:
  const std::vector<Chunk>* chunks_ = nullptr;
  std::vector<ChunkRange> waiting_;
  std::vector<const Chunk*> in_slot_;
  std::size_t slot_bytes_ = 0, left_ = 0;
};

/// Messages as streams of chunks through a few slots for each peer: a chunk is packed when a slot is free, so packing,
/// transfer and unpacking overlap, and buffers stay small however long the message (but for Combine::add, which takes
/// whole messages).
class Pipelined final : public Exchange {
 public:
  Pipelined(const comm::Communicator& comm, const Tables& tables)
      : comm_(comm),
        tables_(tables),
        cuts_(
            tables, [](int) { return true; }, slab_bytes),
        payloads_(tables.incoming.messages.size()) {}

  void start(const Job& job) override {
    comm::check(MPI_Waitall(static_cast<int>(sends()), requests_.data() + receives(), MPI_STATUSES_IGNORE),
                "MPI_Waitall");
    job_ = &job;
    cut_ = &cuts_.for_job(job);
    incoming_.reset(cut_->incoming, tables_.incoming.messages.size());
    outgoing_.reset(cut_->outgoing, tables_.outgoing.messages.size());
    requests_.assign(incoming_.slots() + outgoing_.slots(), MPI_REQUEST_NULL);
    done_.resize(requests_.size());
    missing_ = cut_->incoming.size();
    received_ = receive_room_.bytes(job.adds() ? buffer_bytes(cut_->incoming) : incoming_.size_bytes()).data();
    sent_ = send_room_.bytes(outgoing_.size_bytes()).data();
    for (std::size_t slot = 0; slot < incoming_.slots(); ++slot) receive_into(slot);
    for (std::size_t turn = 0; turn < slots_a_message; ++turn) {
      for (std::size_t slot = turn; slot < outgoing_.slots(); slot += slots_a_message) send_from(slot);
      progress();
    }
  }
  bool test() override {
    progress();
    return is_complete() &&
           std::all_of(requests_.begin(), requests_.end(), [](MPI_Request one) { return one == MPI_REQUEST_NULL; });
  }
  void finish() override {
    while (!is_complete()) {
      int done = 0;
      comm::check(
          MPI_Waitsome(static_cast<int>(requests_.size()), requests_.data(), &done, done_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitsome");
      take(done);
    }
    if (job_->adds()) combine_all(tables_, *job_, payloads_);
  }

 private:
  std::size_t receives() const { return incoming_.slots(); }
  std::size_t sends() const { return outgoing_.slots(); }
  // All has arrived and been unpacked, and all has been packed; MPI may still be sending the last slots.
  bool is_complete() const { return missing_ == 0 && outgoing_.left() == 0; }

  void progress() {
    int done = 0;
    comm::check(
        MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, done_.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
    take(done);
  }

  void take(int done) {
    for (int n = 0; n < (done == MPI_UNDEFINED ? 0 : done); ++n) {
      const auto request = static_cast<std::size_t>(done_[static_cast<std::size_t>(n)]);
      request < receives() ? arrived_in(request) : send_from(request - receives());
    }
  }

  // Receives of one message are posted in the order of its chunks, whichever slots they get, so they match the sends.
  void receive_into(std::size_t slot) {
    const Chunk* const chunk = incoming_.enter(slot);
    if (chunk == nullptr) return;
    if (job_->adds() && chunk->piece == tables_.incoming.messages[chunk->message].first && chunk->row == 0)
      payloads_[chunk->message] = received_ + chunk->offset;
    std::byte* const place = received_ + (job_->adds() ? chunk->offset : incoming_.place_of(slot));
    comm::check(MPI_Irecv(place, mpi_count(*chunk), MPI_BYTE, tables_.incoming.messages[chunk->message].peer, slab_tag,
                          comm_.raw(), &requests_[slot]),
                "MPI_Irecv");
  }

  void arrived_in(std::size_t slot) {
    const Chunk& chunk = *incoming_.in_slot(slot);
    --missing_;
    if (!job_->adds()) unpack(tables_, *job_, moved_to(chunk, incoming_.place_of(slot)), received_);
    receive_into(slot);
  }

  void send_from(std::size_t slot) {
    const Chunk* const chunk = outgoing_.enter(slot);
    if (chunk == nullptr) return;
    const Chunk in_slot = moved_to(*chunk, outgoing_.place_of(slot));
    pack(tables_, *job_, in_slot, sent_);
    comm::check(
        MPI_Isend(sent_ + in_slot.offset, mpi_count(in_slot), MPI_BYTE, tables_.outgoing.messages[chunk->message].peer,
                  slab_tag, comm_.raw(), &requests_[receives() + slot]),
        "MPI_Isend");
  }

  static Chunk moved_to(Chunk chunk, std::size_t offset) {
    chunk.offset = offset;
    return chunk;
  }

  const comm::Communicator& comm_;
  const Tables& tables_;
  Cuts cuts_;
  const Cut* cut_ = nullptr;
  Rings incoming_, outgoing_;
  core::Workroom receive_room_, send_room_;
  std::byte *received_ = nullptr, *sent_ = nullptr;
  std::vector<MPI_Request> requests_;  // of the slots that receive, then of those that send
  std::vector<int> done_;
  std::size_t missing_ = 0;  // chunks that have not arrived
  std::vector<const std::byte*> payloads_;
  const Job* job_ = nullptr;
};

}  // namespace

std::unique_ptr<Exchange> make_pipelined(const comm::Communicator& comm, const Tables& tables) {
  return std::make_unique<Pipelined>(comm, tables);
}

}  // namespace sidestream::redistribute
