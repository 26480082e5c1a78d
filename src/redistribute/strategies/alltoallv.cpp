#include <mpi.h>

#include <limits>
#include <vector>

#include "redistribute/neighbor_collective.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/memory.hpp"

namespace sidestream::redistribute {

namespace {

// MPI counts in `int`. What is counted are lines, at which messages begin and to which they are filled up: 128 GiB for
// each rank.
constexpr std::size_t whole_message = std::numeric_limits<std::int64_t>::max();

int lines_in(std::size_t bytes) {
  const std::size_t lines = (bytes + line_bytes - 1) / line_bytes;
  if (lines > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw core::Error("a rank exchanges over 128 GiB at once, more than the strategy `alltoallv` can count", "",
                      "take the strategy `p2p`, or more ranks");
  return static_cast<int>(lines);
}

/// Sizes and places of the messages, one for each neighbor.
struct Counts {
  std::vector<int> counts, places;

  void list(const std::vector<Chunk>& chunks, const Traffic& traffic, const Neighborhood& neighbors) {
    counts.assign(neighbors.size(), 0);
    places.assign(neighbors.size(), 0);
    for (const Chunk& chunk : chunks) {
      const std::size_t neighbor = neighbors.place_of(traffic.messages[chunk.message].peer);
      counts[neighbor] = lines_in(chunk.size_bytes);
      places[neighbor] = lines_in(chunk.offset);
    }
  }
};

/// Every message packed, then all of them in one collective call among neighbors.
class Alltoallv final : public NeighborCollective {
 public:
  Alltoallv(const comm::Communicator& comm, const Tables& tables)
      : NeighborCollective(comm, tables),
        cuts_(
            tables, [](int) { return true; }, whole_message) {
    comm::check(MPI_Type_contiguous(static_cast<int>(line_bytes), MPI_BYTE, &line_), "MPI_Type_contiguous");
    comm::check(MPI_Type_commit(&line_), "MPI_Type_commit");
  }
  ~Alltoallv() override { MPI_Type_free(&line_); }
  Alltoallv(const Alltoallv&) = delete;
  Alltoallv& operator=(const Alltoallv&) = delete;

  void start(const Job& job) override {
    job_ = &job;
    cut_ = &cuts_.for_job(job);
    outgoing_.list(cut_->outgoing, tables_.outgoing, neighbors_);
    incoming_.list(cut_->incoming, tables_.incoming, neighbors_);
    std::byte* const sent = sent_.bytes(buffer_bytes(cut_->outgoing) + line_bytes).data();
    std::byte* const received = received_.bytes(buffer_bytes(cut_->incoming) + line_bytes).data();
    for (const Chunk& chunk : cut_->outgoing) pack(tables_, job, chunk, sent);
    for (const Chunk& chunk : cut_->incoming) payloads_[chunk.message] = received + chunk.offset;
    comm::check(
        MPI_Ineighbor_alltoallv(sent, outgoing_.counts.data(), outgoing_.places.data(), line_, received,
                                incoming_.counts.data(), incoming_.places.data(), line_, neighbors_.raw(), &request_),
        "MPI_Ineighbor_alltoallv");
  }
  void finish() override {
    wait();
    job_->adds() ? combine_all(tables_, *job_, payloads_) : unpack_all(tables_, *job_, payloads_);
  }

 private:
  Cuts cuts_;
  const Cut* cut_ = nullptr;
  MPI_Datatype line_ = MPI_DATATYPE_NULL;
  Counts outgoing_, incoming_;
  core::Workroom sent_, received_;
};

}  // namespace

std::unique_ptr<Exchange> make_alltoallv(const comm::Communicator& comm, const Tables& tables) {
  return std::make_unique<Alltoallv>(comm, tables);
}

}  // namespace sidestream::redistribute
