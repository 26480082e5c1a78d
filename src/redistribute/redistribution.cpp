#include "sidestream/redistribute/redistribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <thread>

#include "redistribute/exchange.hpp"
#include "redistribute/planner.hpp"
#include "redistribute/tuned.hpp"
#include "sidestream/comm/abandon.hpp"
#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/redistribute/exchange_choice.hpp"

namespace sidestream::redistribute {

namespace {

using mesh::Layout;

// Derived datatypes were fastest of those without a window (bench/ghost_exchange.cpp, bench/transfer.cpp), but their
// call takes lists as long as the communicator.
Strategy automatic_strategy(const comm::Communicator& comm) {
  constexpr int most_for_alltoallw = 64;
  const Strategy told = exchange_of(comm).strategy;
  if (told != Strategy::automatic) return told;
  return comm.size() <= most_for_alltoallw ? Strategy::alltoallw : Strategy::p2p;
}

void require_owners_within(const Layout& layout, const comm::Communicator& comm) {
  const auto owners = layout.owners();
  if (owners.empty()) return;
  const auto largest = *std::max_element(owners.begin(), owners.end());
  if (largest >= comm.size())
    throw core::Error(
        fmt::format("a layout names rank {} as an owner, but the communicator has {} ranks", largest, comm.size()), "",
        "use Layout::renumbered to name ranks of this communicator");
}

void require_same_boundaries(const Layout& from, const Layout& to, Coverage coverage) {
  core::require(coverage.source_ghost.least() >= 0 && coverage.destination_ghost.least() >= 0,
                "a plan takes no negative number of ghost cells");
  if (from.size() == 0 || to.size() == 0 || coverage.source_ghost.most() + coverage.destination_ghost.most() == 0)
    return;
  core::require(from.domain() == to.domain() && from.periodic() == to.periodic(),
                "a plan with ghost cells takes two layouts of the same domain and periodicity");
}

// Holds a field to the layout and ghost width of its side of the plan. A rank without boxes there may pass an empty
// field.
void require_fit(const mesh::BlockTable& field, std::span<const std::int32_t> own, mesh::Ghosts ghost,
                 const char* side) {
  if (own.empty()) return;
  if (field.blocks.size() != own.size())
    throw core::Error(fmt::format("the {} of a redistribution has {} blocks here, its plan {}", side,
                                  field.blocks.size(), own.size()));
  if (!field.ghosts.has_at_least(ghost))
    throw core::Error(fmt::format("the {} of a redistribution has {} ghost cells, its plan needs {}", side,
                                  field.ghosts.most(), ghost.most()));
}

template <typename Byte, typename Field>
void gather_blocks(const Field& field, Blocks<Byte>& blocks) {
  const auto element = static_cast<std::ptrdiff_t>(mesh::size_bytes(field.type()));
  blocks.element_bytes = static_cast<std::size_t>(element);
  blocks.blocks.clear();
  for (const mesh::BlockTable::Block& block : field.table().blocks)
    blocks.blocks.push_back({static_cast<Byte*>(block.origin), block.stride_x * element, block.stride_y * element,
                             block.stride_z * element, block.stride_component * element});
}

void choose_kernel(mesh::ElementType from, mesh::ElementType to, Combine combine, Job& job) {
  job.arrival = combine == Combine::add ? Arrival::added : from != to ? Arrival::converted : Arrival::copied;
  job.kernel = job.adds() ? sum_kernel(to) : conversion_kernel(from, to);
  if (from != to && (job.adds() || job.kernel == nullptr))
    throw core::Error(fmt::format("elements of {} cannot be {} to {}", to_string(from),
                                  job.adds() ? "added" : "converted", to_string(to)));
}

std::int64_t cells_of(const Traffic& traffic) {
  std::int64_t cells = 0;
  for (const Message& message : traffic.messages) cells += message.cells;
  return cells;
}

// A number that two ranks agree on only if they mean the same pieces in the same order (FNV-1a).
std::uint64_t fingerprint(const Traffic& traffic, const Message& message) {
  std::uint64_t hash = 14695981039346656037u;
  const auto mix = [&](std::int32_t value) { hash = (hash ^ static_cast<std::uint32_t>(value)) * 1099511628211u; };
  for (std::size_t p = message.first; p < message.last; ++p) {
    const Piece& piece = traffic.pieces[p];
    for (const auto value : {piece.source, piece.destination, piece.shift.x, piece.shift.y, piece.shift.z}) mix(value);
  }
  return hash;
}

struct Claim {
  std::int64_t cells = 0;
  std::uint64_t pieces = 0;
};

}  // namespace

struct Redistribution::Plan {
  comm::Communicator comm;
  Tables tables;
  Strategy strategy = Strategy::automatic;
  std::unique_ptr<Exchange> exchange;
  Job job;
  bool is_under_way = false, is_local_ordered_for_sums = false;

  Plan(const comm::Communicator& group, Tables its_tables, Strategy its_strategy)
      : comm(group.duplicate()), tables(std::move(its_tables)), strategy(its_strategy) {
    if (strategy != Strategy::tuned) choose(strategy);
  }

  void choose(Strategy chosen) {
    strategy = chosen;
    exchange = entry_of(chosen).make(comm, tables);
  }

  // What was sent ends when the peers take it. An exchange that an exception cut short, here or there, may never end:
  // its buffers are left to MPI rather than waited for, and so is the communicator, lest a later one with its number
  // get the messages that nobody took.
  ~Plan() {
    const bool is_unwinding = std::uncaught_exceptions() > 0;
    const bool has_ended = !is_under_way && ends_within(is_unwinding ? 0.0 : 5.0);
    if (!has_ended) static_cast<void>(exchange.release());
    if (!has_ended || is_unwinding) comm::abandon(std::move(comm));
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  bool ends_within(double patience_s) const {
    const core::Stopwatch watch;
    while (exchange && !exchange->test()) {
      if (watch.seconds() > patience_s) return false;
      std::this_thread::yield();
    }
    return true;
  }

  void order_local(Combine combine) {
    const bool wanted = combine == Combine::add;
    if (is_local_ordered_for_sums == wanted) return;
    wanted ? order_for_sums(tables.local) : order_for_copies(tables.local);
    is_local_ordered_for_sums = wanted;
  }
};

Redistribution::Redistribution(const comm::Communicator& comm, const Layout& from, const Layout& to, Strategy strategy,
                               Coverage coverage) {
  require_owners_within(from, comm);
  require_owners_within(to, comm);
  require_same_boundaries(from, to, coverage);
  if (strategy == Strategy::automatic) strategy = automatic_strategy(comm);
  plan_ = std::make_unique<Plan>(comm, plan_of_rank(from, to, coverage, comm.rank()), strategy);
#ifndef NDEBUG
  check(*this);
#endif
}

Redistribution::~Redistribution() = default;
Redistribution::Redistribution(Redistribution&&) noexcept = default;
Redistribution& Redistribution::operator=(Redistribution&&) noexcept = default;

const Layout& Redistribution::source() const {
  return plan_->tables.from;
}
const Layout& Redistribution::destination() const {
  return plan_->tables.to;
}
Strategy Redistribution::strategy() const {
  return plan_->strategy;
}

void Redistribution::start(const mesh::AnyField& from, const mesh::WritableField& to, Combine combine) const {
  Plan& plan = *plan_;
  const auto own_from = plan.tables.from.boxes_of(plan.comm.rank()), own_to = plan.tables.to.boxes_of(plan.comm.rank());
  // One that an exception cut short is over where no other rank is in it.
  core::require(!plan.is_under_way || plan.comm.size() == 1,
                "an exchange of this plan is under way already, or an earlier failure cut it short");
  require_fit(from.table(), own_from, plan.tables.coverage.source_ghost, "source");
  require_fit(to.table(), own_to, plan.tables.coverage.destination_ghost, "destination");
  core::require(own_from.empty() || own_to.empty() || from.table().components == to.table().components,
                "source and destination of a redistribution have unlike numbers of components");

  Job& job = plan.job;
  choose_kernel(from.type(), to.type(), combine, job);
  gather_blocks(from, job.from);
  gather_blocks(to, job.to);
  job.components = own_from.empty() ? to.table().components : from.table().components;
  plan.order_local(combine);
  if (!plan.exchange) plan.choose(tuned_strategy(plan.comm, plan.tables, job));
  plan.is_under_way = true;
  const auto timed = job.timed_exchange();
  plan.exchange->start(job);
  if (combine == Combine::replace) copy_local(plan.tables, job);
}

void Redistribution::finish(const mesh::WritableField& to, Combine combine) const {
  Plan& plan = *plan_;
  core::require(plan.is_under_way, "no exchange of this plan is under way; start one first");
  const auto& blocks = plan.job.to.blocks;
  const bool is_same = blocks.size() == to.table().blocks.size() &&
                       (blocks.empty() || blocks.front().origin == to.table().blocks.front().origin);
  core::require(is_same && plan.job.adds() == (combine == Combine::add),
                "an exchange is finished with the field and the combination it was started with");
  const auto timed = plan.job.timed_exchange();
  plan.exchange->finish();
  plan.is_under_way = false;
}

void Redistribution::measure(MoveTimes* times) {
  plan_->job.times = times;
}

bool Redistribution::test() const {
  const auto timed = plan_->job.timed_exchange();
  return !plan_->exchange || plan_->exchange->test();
}

std::size_t Redistribution::sent_bytes(std::size_t element_size_bytes) const {
  return static_cast<std::size_t>(cells_of(plan_->tables.outgoing)) * element_size_bytes;
}

std::size_t Redistribution::size_bytes() const {
  return sizeof(Plan) + plan_->tables.size_bytes();
}

void check(const Redistribution& plan) {
  const Tables& tables = plan.plan_->tables;
  const comm::Communicator& comm = plan.plan_->comm;
  comm::ByRank<Claim> claims;
  for (const Message& message : tables.outgoing.messages)
    claims[message.peer] = {{message.cells, fingerprint(tables.outgoing, message)}};
  auto heard = comm::deliver(comm, claims).incoming;
  std::string problem;
  const auto compare = [&](int peer, const Claim& here, const Claim& there) {
    if (here.cells != there.cells || here.pieces != there.pieces)
      problem = fmt::format("a redistribution is inconsistent: rank {} would send {} cells, rank {} expects {}", peer,
                            there.cells, comm.rank(), here.cells);
  };
  for (const Message& message : tables.incoming.messages) {
    auto& from_peer = heard[message.peer];
    compare(message.peer, {message.cells, fingerprint(tables.incoming, message)},
            from_peer.empty() ? Claim{} : from_peer[0]);
    from_peer.clear();
  }
  for (const auto& [peer, rest] : heard)
    for (const Claim& unexpected : rest) compare(peer, {}, unexpected);
  comm.agree(problem);
}

GhostFill::GhostFill(const comm::Communicator& comm, const Layout& layout, mesh::Ghosts ghost, Strategy strategy)
    : fill_(comm, layout, layout, strategy, {.source_ghost = 0, .destination_ghost = ghost, .skip_own = true}) {}

GhostFold::GhostFold(const comm::Communicator& comm, const Layout& layout, std::int32_t ghost, Strategy strategy)
    : fold_(comm, layout, layout, strategy, {.source_ghost = ghost, .destination_ghost = 0, .skip_own = true}) {}

}  // namespace sidestream::redistribute
