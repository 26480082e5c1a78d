#include "redistribute/tuned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <thread>

#include "sidestream/redistribute/exchange_choice.hpp"
#include "sidestream/redistribute/tuner.hpp"

namespace sidestream::redistribute {

namespace {

// Plans of refined levels change all the time, and hardly: what counts of an exchange is known to a factor of two.
std::int64_t rounded_up(std::int64_t number) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0))));
}

std::int64_t bytes_of(const Traffic& traffic, const Job& job) {
  std::int64_t bytes = 0;
  for (const Message& message : traffic.messages) bytes += message.cells * static_cast<std::int64_t>(job.cell_bytes());
  return bytes;
}

std::int64_t rows_of(const Tables& tables, const Traffic& traffic, const Job& job) {
  std::int64_t rows = 0;
  for (const Piece& piece : traffic.pieces)
    rows += shape_of(tables.region(piece), job.components, job.element_bytes()).rows();
  return rows;
}

/// What the time of an exchange depends on, as the rank sees it that has most to do; the same on all ranks.
struct Load {
  std::int64_t bytes = 0, rows = 0, peers = 0;

  // Collective.
  Load(const comm::Communicator& comm, const Tables& tables, const Job& job) {
    for (const Traffic* traffic : {&tables.outgoing, &tables.incoming}) {
      bytes = std::max(bytes, bytes_of(*traffic, job));
      rows = std::max(rows, rows_of(tables, *traffic, job));
      peers = std::max(peers, static_cast<std::int64_t>(traffic->messages.size()));
    }
    bytes = rounded_up(comm.max(bytes));
    rows = rounded_up(comm.max(rows));
    peers = comm.max(peers);
  }
};

std::string key_of(const comm::Communicator& comm, const Load& load, Arrival arrival) {
  const bool adds = arrival == Arrival::added, converts = arrival == Arrival::converted;
  return fmt::format("{}; exchange of {} B in {} rows with {} ranks{}", machine_key(comm), load.bytes, load.rows,
                     load.peers,
                     adds       ? ", added"
                     : converts ? ", converted"
                                : "");
}

/// A destination like that of a job in memory of its own.
struct Scratch {
  std::vector<std::vector<double>> memory;
  Blocks<std::byte> blocks;

  Scratch(const Tables& tables, const Job& job, int rank) {
    blocks.element_bytes = job.to.element_bytes;
    const auto element = static_cast<std::ptrdiff_t>(blocks.element_bytes);
    for (const std::int32_t index : tables.to.boxes_of(rank)) {
      const mesh::Box box = tables.to.box(index).grown(tables.coverage.destination_ghost.layers);
      const mesh::Int3 n = box.extent();
      const std::ptrdiff_t step_y = element * n.x, step_z = step_y * n.y, step_component = step_z * n.z;
      memory.emplace_back(static_cast<std::size_t>(step_component * job.components) / sizeof(double) + 1);
      blocks.blocks.push_back({reinterpret_cast<std::byte*>(memory.back().data()) - box.lo.x * element -
                                   box.lo.y * step_y - box.lo.z * step_z,
                               element, step_y, step_z, step_component});
    }
  }
};

/// An exchange that is tried. It ends before the next one begins: nobody who is late is waited for at its end.
class TriedExchange {
 public:
  TriedExchange(const StrategyEntry& entry, const comm::Communicator& comm, const Tables& tables, const Job& job)
      : comm_(comm.duplicate()), tables_(tables), job_(job), exchange_(entry.make(comm_, tables)) {
    job_.times = nullptr;
    if (job.adds()) {
      scratch_ = std::make_unique<Scratch>(tables, job, comm.rank());
      job_.to = scratch_->blocks;
    }
  }
  ~TriedExchange() {
    while (!exchange_->test()) std::this_thread::yield();
  }
  TriedExchange(const TriedExchange&) = delete;
  TriedExchange& operator=(const TriedExchange&) = delete;

  void run() {
    exchange_->start(job_);
    if (!job_.adds()) copy_local(tables_, job_);
    exchange_->finish();
  }

 private:
  comm::Communicator comm_;
  const Tables& tables_;
  Job job_;
  std::unique_ptr<Scratch> scratch_;
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace

Strategy tuned_strategy(const comm::Communicator& comm, const Tables& tables, const Job& job) {
  const Load load(comm, tables, job);
  if (load.peers == 0) return Strategy::p2p;
  std::vector<Candidate> candidates;
  for (const StrategyEntry& entry : strategies())
    if (entry.make != nullptr)
      candidates.push_back({entry.name, [&comm, &tables, &job, &entry] {
                              const auto tried = std::make_shared<TriedExchange>(entry, comm, tables, job);
                              tried->run();  // makes windows, which some libraries of MPI refuse
                              return [tried] { tried->run(); };
                            }});
  const Tuning tuning = tune(comm, Wisdom(exchange_of(comm).wisdom), key_of(comm, load, job.arrival), candidates);
  return strategies().named(candidates[tuning.chosen].name).strategy;
}

}  // namespace sidestream::redistribute
