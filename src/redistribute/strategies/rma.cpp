#include <mpi.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <vector>

#include "redistribute/exchange.hpp"
#include "sidestream/core/memory.hpp"
#include "sidestream/core/random.hpp"

namespace sidestream::redistribute {

namespace {

enum PutTag : int { place_tag = 1, arrived_tag, taken_tag };

// Small pieces to many ranks in turn keep no single link busy (the co-array transposes of Yeung, Donzis & Sreenivasan
// on Blue Waters took pieces of 512 bytes for the same reason; what MPI does a put costs more than that).
constexpr std::size_t put_bytes = std::size_t{1} << 16;

/// Memory of this rank that the others put into, open to them for the life of the object.
class PutWindow {
 public:
  /// Collective on `comm`, like the destructor (unless an exception runs it).
  PutWindow(MPI_Comm comm, std::size_t size_bytes) {
    accept(MPI_Win_allocate(static_cast<MPI_Aint>(size_bytes), 1, MPI_INFO_NULL, comm, &memory_, &window_));
    accept(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN));
    accept(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_));
  }
  ~PutWindow() {
    if (std::uncaught_exceptions() > 0) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  PutWindow(const PutWindow&) = delete;
  PutWindow& operator=(const PutWindow&) = delete;

  std::byte* memory() const { return memory_; }
  void put(const std::byte* from, int count, int rank, std::size_t place) const {
    accept(MPI_Put(from, count, MPI_BYTE, rank, static_cast<MPI_Aint>(place), count, MPI_BYTE, window_));
  }
  /// Returns when what was put to `rank` lies there.
  void flush(int rank) const { accept(MPI_Win_flush(rank, window_)); }
  /// Lets this rank see what others put.
  void synchronize() const { accept(MPI_Win_sync(window_)); }

 private:
  static void accept(int mpi_error) {
    try {
      comm::check(mpi_error, "a one-sided transfer");
    } catch (const core::Error& refusal) {
      throw refused("rma", refusal);
    }
  }

  MPI_Win window_ = MPI_WIN_NULL;
  std::byte* memory_ = nullptr;
};

/// Each rank puts its messages, packed, piece by piece into the memory of the others, pairs of ranks in a random order.
/// Empty messages say that all has arrived, and that the memory is free again.
class Rma final : public Exchange {
 public:
  Rma(const comm::Communicator& comm, const Tables& tables)
      : comm_(comm),
        tables_(tables),
        is_active_(!tables.incoming.messages.empty() || !tables.outgoing.messages.empty()),
        active_(comm.split(is_active_ ? 0 : -1)),
        cuts_(
            tables, [](int) { return true; }, put_bytes),
        payloads_(tables.incoming.messages.size()),
        arrivals_(tables.incoming.messages.size(), MPI_REQUEST_NULL),
        releases_(tables.incoming.messages.size(), MPI_REQUEST_NULL),
        notices_(tables.outgoing.messages.size(), MPI_REQUEST_NULL),
        taken_(tables.outgoing.messages.size(), MPI_REQUEST_NULL) {
    if (!is_active_) return;
    const std::vector<int> active_ranks = active_.all_gather(comm.rank());
    for (const Message& message : tables.outgoing.messages)
      targets_.push_back(static_cast<int>(std::ranges::lower_bound(active_ranks, message.peer) - active_ranks.begin()));
    tell_places();
  }

  void start(const Job& job) override {
    job_ = &job;
    if (!is_active_) return;
    wait_all(notices_);
    wait_all(releases_);
    wait_all(taken_);
    const Cut& cut = cuts_.for_job(job);
    if (cut_ != &cut) shuffle(cut.outgoing);
    cut_ = &cut;
    if (job.cell_bytes() > capacity_cell_bytes_) make_window(job.cell_bytes());
    missing_ = arrivals_.size();
    arrived_.resize(arrivals_.size());
    for (std::size_t m = 0; m < arrivals_.size(); ++m)
      hear(tables_.incoming.messages[m].peer, arrived_tag, arrivals_[m]);
    for (std::size_t m = 0; m < taken_.size(); ++m) hear(tables_.outgoing.messages[m].peer, taken_tag, taken_[m]);
    put_all();
  }

  bool test() override {
    const bool has_arrived = progress();
    return has_arrived && have_ended(notices_) && have_ended(releases_) && have_ended(taken_);
  }

  void finish() override {
    while (missing_ > 0) {
      int arrived = 0;
      comm::check(MPI_Waitsome(static_cast<int>(arrivals_.size()), arrivals_.data(), &arrived, arrived_.data(),
                               MPI_STATUSES_IGNORE),
                  "MPI_Waitsome");
      take(arrived);
    }
    if (!job_->adds()) return;
    for (std::size_t m = 0; m < payloads_.size(); ++m) payloads_[m] = payload(m);
    combine_all(tables_, *job_, payloads_);
    for (std::size_t m = 0; m < payloads_.size(); ++m) release(m);
  }

 private:
  // Cells before each message in its receiver's memory, from the receiver to the sender.
  void tell_places() {
    const std::size_t incoming = arrivals_.size(), outgoing = taken_.size();
    own_places_.resize(incoming);
    places_.resize(outgoing);
    std::int64_t before = 0;
    for (std::size_t m = 0; m < incoming; before += tables_.incoming.messages[m].cells, ++m) own_places_[m] = before;
    for (std::size_t m = 0; m < outgoing; ++m)
      comm::check(
          MPI_Irecv(&places_[m], 1, MPI_INT64_T, tables_.outgoing.messages[m].peer, place_tag, comm_.raw(), &taken_[m]),
          "MPI_Irecv");
    for (std::size_t m = 0; m < incoming; ++m)
      comm::check(MPI_Isend(&own_places_[m], 1, MPI_INT64_T, tables_.incoming.messages[m].peer, place_tag, comm_.raw(),
                            &releases_[m]),
                  "MPI_Isend");
    wait_all(taken_);
    wait_all(releases_);
    received_cells_ = before;
  }

  // All active ranks see the same size of a cell, so they come here together; nobody is put to any more, for each has
  // heard that what it put before was taken.
  void make_window(std::size_t cell_bytes) {
    constexpr std::size_t largest_element_bytes = 16;  // to which all of them are aligned
    window_.reset();
    capacity_cell_bytes_ = (cell_bytes + largest_element_bytes - 1) / largest_element_bytes * largest_element_bytes;
    window_ = std::make_unique<PutWindow>(active_.raw(), place(received_cells_));
  }

  // The same for smaller cells: a sender knows that its own message was taken, not those that lie beside it.
  std::size_t place(std::int64_t cells_before) const {
    return static_cast<std::size_t>(cells_before) * capacity_cell_bytes_;
  }

  // Each rank its own order, the same in every run.
  void shuffle(const std::vector<Chunk>& chunks) {
    constexpr std::uint64_t seed = 0x726d61;
    order_.resize(chunks.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t n = order_.size(); n > 1; --n) {
      const double draw = core::uniform(seed, static_cast<std::uint64_t>(comm_.rank()), n);
      std::swap(order_[n - 1], order_[static_cast<std::size_t>(draw * static_cast<double>(n))]);
    }
  }

  void put_all() {
    std::byte* const sent = send_room_.bytes(buffer_bytes(cut_->outgoing)).data();
    for (const std::size_t index : order_) {
      const Chunk& chunk = cut_->outgoing[index];
      const std::size_t first = chunks_of_message(cut_->outgoing, chunk.message).first;
      pack(tables_, *job_, chunk, sent);
      window_->put(sent + chunk.offset, mpi_count(chunk), targets_[chunk.message],
                   place(places_[chunk.message]) + chunk.offset - cut_->outgoing[first].offset);
    }
    for (std::size_t m = 0; m < notices_.size(); ++m) {
      window_->flush(targets_[m]);
      say(tables_.outgoing.messages[m].peer, arrived_tag, notices_[m]);
    }
  }

  bool progress() {
    if (missing_ == 0) return true;
    int arrived = 0;
    comm::check(MPI_Testsome(static_cast<int>(arrivals_.size()), arrivals_.data(), &arrived, arrived_.data(),
                             MPI_STATUSES_IGNORE),
                "MPI_Testsome");
    take(arrived);
    return missing_ == 0;
  }

  void take(int arrived) {
    if (arrived == MPI_UNDEFINED || arrived == 0) return;
    window_->synchronize();
    missing_ -= static_cast<std::size_t>(arrived);
    if (job_->adds()) return;
    for (int n = 0; n < arrived; ++n) {
      const auto message = static_cast<std::size_t>(arrived_[static_cast<std::size_t>(n)]);
      const ChunkRange range = chunks_of_message(cut_->incoming, message);
      for (std::size_t c = range.first; c < range.last; ++c)
        unpack(tables_, *job_, cut_->incoming[c], payload(message) - cut_->incoming[range.first].offset);
      release(message);
    }
  }

  const std::byte* payload(std::size_t message) const { return window_->memory() + place(own_places_[message]); }
  void release(std::size_t message) { say(tables_.incoming.messages[message].peer, taken_tag, releases_[message]); }

  void say(int peer, int tag, MPI_Request& request) const {
    comm::check(MPI_Isend(nullptr, 0, MPI_BYTE, peer, tag, comm_.raw(), &request), "MPI_Isend");
  }
  void hear(int peer, int tag, MPI_Request& request) const {
    comm::check(MPI_Irecv(nullptr, 0, MPI_BYTE, peer, tag, comm_.raw(), &request), "MPI_Irecv");
  }
  static void wait_all(std::vector<MPI_Request>& requests) {
    comm::check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }
  static bool have_ended(std::vector<MPI_Request>& requests) {
    int ended = 0;
    comm::check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &ended, MPI_STATUSES_IGNORE),
                "MPI_Testall");
    return ended != 0;
  }

  const comm::Communicator& comm_;
  const Tables& tables_;
  bool is_active_;
  comm::Communicator active_;  // the ranks that send or receive
  Cuts cuts_;
  const Cut* cut_ = nullptr;
  std::vector<std::size_t> order_;  // of the outgoing chunks
  std::vector<int> targets_;        // of each outgoing message, as a rank of active_
  std::vector<std::int64_t> own_places_, places_;
  std::int64_t received_cells_ = 0;
  std::unique_ptr<PutWindow> window_;
  std::size_t capacity_cell_bytes_ = 0, missing_ = 0;
  core::Workroom send_room_;
  std::vector<const std::byte*> payloads_;
  std::vector<MPI_Request> arrivals_, releases_;  // of each incoming message: heard and said
  std::vector<MPI_Request> notices_, taken_;      // of each outgoing message: said and heard
  std::vector<int> arrived_;
  const Job* job_ = nullptr;
};

}  // namespace

std::unique_ptr<Exchange> make_rma(const comm::Communicator& comm, const Tables& tables) {
  return std::make_unique<Rma>(comm, tables);
}

}  // namespace sidestream::redistribute
