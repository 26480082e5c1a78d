#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "redistribute/strategies/point_to_point.hpp"
#include "sidestream/comm/shared_window.hpp"

namespace sidestream::redistribute {

namespace {

// A chunk is still in the cache of the sender's core or in the one they share when the receiver reads it.
constexpr std::size_t copy_bytes = std::size_t{1} << 18;

constexpr std::size_t page_bytes = 4096;

/// The control block of one message, at the head of the sender's part of the window. The counts only ever grow.
struct Slot {
  std::int64_t peer = -1;
  std::uint64_t offset = 0;             ///< of the message in the sender's part
  alignas(64) std::uint64_t ready = 0;  ///< chunks that the sender has packed since the window was made
  alignas(64) std::uint64_t taken = 0;  ///< chunks that the receiver is done with
};
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "processes share these counters");

std::uint64_t load(std::uint64_t& count) {
  return std::atomic_ref(count).load(std::memory_order_acquire);
}
void store(std::uint64_t& count, std::uint64_t value) {
  std::atomic_ref(count).store(value, std::memory_order_release);
}

/// One message between two ranks of a node: its slot, its chunks [next, last) still to come, and the count of chunks of
/// all exchanges before this one.
struct Link {
  std::size_t message = 0;
  Slot* slot = nullptr;
  const std::byte* sender_part = nullptr;
  std::size_t first = 0, next = 0, last = 0;
  std::uint64_t count_before = 0;

  std::uint64_t count_after() const { return count_before + (last - first); }
};

/// Waits without starving whoever is waited for: first spins, then yields the core, at last sleeps; lets MPI progress.
template <typename F>
void wait_until(const comm::Communicator& comm, F is_done) {
  for (int round = 0; !is_done(); ++round) {
    if (round < 64) continue;
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm.raw(), &flag, MPI_STATUS_IGNORE);
    if (round < 4096)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// Messages through a window of shared memory: the source packs, the destination unpacks each chunk as soon as it is
/// there.
class WindowLinks {
 public:
  /// Collective on `comm`. `serves` names ranks that share memory with this one.
  WindowLinks(const comm::Communicator& comm, const Tables& tables, PeerFilter serves)
      : comm_(comm),
        tables_(tables),
        outgoing_(links_of(tables.outgoing, serves)),
        incoming_(links_of(tables.incoming, serves)),
        cuts_(tables, std::move(serves), copy_bytes) {
    const bool is_active = !outgoing_.empty() || !incoming_.empty();
    active_ = std::make_unique<comm::Communicator>(comm.split_by_node().split(is_active ? 0 : -1));
    if (is_active) active_ranks_ = active_->all_gather(comm.rank());
  }
  ~WindowLinks() {
    // Freeing a window is collective: nothing for a rank whose work an exception has cut short.
    if (std::uncaught_exceptions() > 0) static_cast<void>(window_.release());
  }
  WindowLinks(const WindowLinks&) = delete;
  WindowLinks& operator=(const WindowLinks&) = delete;

  void start(const Job& job) {
    if (active_->is_empty()) return;
    job_ = &job;
    cut_ = &cuts_.for_job(job);
    if (job.cell_bytes() > capacity_cell_bytes_) make_window(job.cell_bytes());
    for (Link& link : incoming_) begin(link, cut_->incoming);
    for (Link& link : outgoing_) begin(link, cut_->outgoing);
    for (Link& link : outgoing_) send(link);
  }

  /// Unpacks what is ready (not for Combine::add); true when all was.
  bool progress() {
    bool is_complete = true;
    for (Link& link : incoming_)
      if (link.next < link.last) is_complete = receive(link) && is_complete;
    return is_complete;
  }

  /// True when the receivers are done with everything sent.
  bool is_taken() {
    return std::all_of(outgoing_.begin(), outgoing_.end(),
                       [](Link& link) { return !link.slot || load(link.slot->taken) >= link.count_after(); });
  }

  /// Where the messages lie that arrived for Combine::add, until `release`.
  void locate(std::span<const std::byte*> payloads) const {
    for (const Link& link : incoming_) payloads[link.message] = link.sender_part + link.slot->offset;
  }
  void release() {
    for (Link& link : incoming_) store(link.slot->taken, link.count_after());
  }

 private:
  static std::vector<Link> links_of(const Traffic& traffic, const PeerFilter& serves) {
    std::vector<Link> links;
    for (std::size_t m = 0; m < traffic.messages.size(); ++m)
      if (serves(traffic.messages[m].peer)) links.push_back({.message = m});
    return links;
  }

  // MPI promises no alignment of a part. All processes map it at the same place of a page, so they skip the same bytes.
  static std::byte* aligned(std::byte* part) {
    const auto address = reinterpret_cast<std::uintptr_t>(part);
    return part + (alignof(Slot) - address % alignof(Slot)) % alignof(Slot);
  }
  std::size_t head_bytes() const { return outgoing_.size() * sizeof(Slot); }

  // All active ranks of the node see the same size of a cell, so they come here together. Nobody reads the old window
  // any more: each has finished the exchange before.
  void make_window(std::size_t cell_bytes) {
    window_.reset();
    // Room for the alignment of each message at other sizes of a cell; whole pages, so that the next rank's part is
    // aligned too.
    const std::size_t bytes =
        alignof(Slot) + head_bytes() + buffer_bytes(cut_->outgoing) + outgoing_.size() * alignof(Slot);
    try {
      window_ = std::make_unique<comm::SharedWindow>(*active_, (bytes + page_bytes - 1) / page_bytes * page_bytes);
    } catch (const core::Error& refusal) {
      throw refused("shared", refusal);
    }
    capacity_cell_bytes_ = cell_bytes;
    std::byte* own = aligned(window_->part(active_->rank()).data());
    for (std::size_t n = 0; n < outgoing_.size(); ++n) {
      Link& link = outgoing_[n];
      link.slot = std::construct_at(reinterpret_cast<Slot*>(own) + n);
      link.slot->peer = tables_.outgoing.messages[link.message].peer;
      link.sender_part = own;
      forget(link);
    }
    window_->synchronize();
    for (Link& link : incoming_) find_slot(link);
  }

  void find_slot(Link& link) {
    const int sender = tables_.incoming.messages[link.message].peer;
    const auto at = std::lower_bound(active_ranks_.begin(), active_ranks_.end(), sender) - active_ranks_.begin();
    std::byte* part = aligned(window_->part(static_cast<int>(at)).data());
    link.slot = reinterpret_cast<Slot*>(part);
    while (link.slot->peer != comm_.rank()) ++link.slot;
    link.sender_part = part;
    forget(link);
  }

  static void forget(Link& link) { link.count_before = link.first = link.next = link.last = 0; }

  static void begin(Link& link, const std::vector<Chunk>& chunks) {
    const ChunkRange range = chunks_of_message(chunks, link.message);
    link.count_before = link.count_after();
    link.first = range.first;
    link.last = range.last;
    link.next = link.first;
  }

  void send(Link& link) {
    std::byte* payload = aligned(window_->part(active_->rank()).data()) + head_bytes();
    link.slot->offset = head_bytes() + cut_->outgoing[link.first].offset;
    for (; link.next < link.last; ++link.next) {
      pack(tables_, *job_, cut_->outgoing[link.next], payload);
      store(link.slot->ready, link.count_before + (link.next - link.first) + 1);
    }
  }

  bool receive(Link& link) {
    const std::uint64_t ready = load(link.slot->ready);
    while (link.next < link.last && ready > link.count_before + (link.next - link.first)) {
      if (!job_->adds()) {
        const std::byte* message = link.sender_part + link.slot->offset;
        unpack(tables_, *job_, cut_->incoming[link.next], message - cut_->incoming[link.first].offset);
      }
      ++link.next;
    }
    const bool is_complete = link.next == link.last;
    if (is_complete && !job_->adds()) store(link.slot->taken, link.count_after());
    return is_complete;
  }

  const comm::Communicator& comm_;
  const Tables& tables_;
  std::unique_ptr<comm::Communicator> active_;  // the ranks of this node that exchange with others of it
  std::vector<int> active_ranks_;               // their ranks in comm_, ascending
  std::vector<Link> outgoing_, incoming_;
  Cuts cuts_;
  const Cut* cut_ = nullptr;
  std::unique_ptr<comm::SharedWindow> window_;
  std::size_t capacity_cell_bytes_ = 0;
  const Job* job_ = nullptr;
};

/// Windows within a node, messages between nodes.
class Shared final : public Exchange {
 public:
  Shared(const comm::Communicator& comm, const Tables& tables)
      : comm_(comm),
        tables_(tables),
        near_ranks_(comm.split_by_node().all_gather(comm.rank())),
        near_(comm, tables, [this](int peer) { return is_near(peer); }),
        far_(comm, tables, [this](int peer) { return !is_near(peer); }),
        payloads_(tables.incoming.messages.size()) {}

  void start(const Job& job) override {
    job_ = &job;
    wait_until(comm_, [&] { return near_.is_taken(); });
    far_.start(job);
    near_.start(job);
  }
  bool test() override {
    const bool has_arrived = progress();
    return far_.is_sent() && near_.is_taken() && has_arrived;
  }
  void finish() override {
    wait_until(comm_, [&] { return progress(); });
    if (!job_->adds()) return;
    far_.locate(payloads_);
    near_.locate(payloads_);
    combine_all(tables_, *job_, payloads_);
    near_.release();
  }

 private:
  bool is_near(int peer) const { return std::binary_search(near_ranks_.begin(), near_ranks_.end(), peer); }
  bool progress() {
    const bool is_near_complete = near_.progress();
    return far_.progress() && is_near_complete;
  }

  const comm::Communicator& comm_;
  const Tables& tables_;
  std::vector<int> near_ranks_;  // ranks that share memory with this one, ascending
  WindowLinks near_;
  PointToPoint far_;
  std::vector<const std::byte*> payloads_;
  const Job* job_ = nullptr;
};

}  // namespace

std::unique_ptr<Exchange> make_shared(const comm::Communicator& comm, const Tables& tables) {
  return std::make_unique<Shared>(comm, tables);
}

}  // namespace sidestream::redistribute
