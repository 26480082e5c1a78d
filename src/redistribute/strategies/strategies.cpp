#include "redistribute/exchange.hpp"

namespace sidestream::redistribute {

const core::Registry<StrategyEntry>& strategies() {
  static const core::Registry<StrategyEntry> all(
      {"strategies", "exchange strategy", "how cells travel between ranks: `exchange` of `[run]`, and in C++"},
      {{"automatic", "what the run says; else alltoallw on up to 64 ranks, p2p beyond", Strategy::automatic, nullptr},
       {"tuned", "the fastest of the others, as measured at the first use and kept in the wisdom file", Strategy::tuned,
        nullptr},
       {"p2p", "one packed message, in chunks, for each pair of ranks that share cells", Strategy::p2p, make_p2p},
       {"alltoallv", "packed, in one collective call among neighbors", Strategy::alltoallv, make_alltoallv},
       {"alltoallw", "MPI derived datatypes in one collective call, no packing", Strategy::alltoallw, make_alltoallw},
       {"rma", "one-sided puts of small pieces, pairs of ranks in a random order", Strategy::rma, make_rma},
       {"shared", "ranks of one node through a window of shared memory, between nodes p2p", Strategy::shared,
        make_shared},
       {"pipelined", "chunks through a few slots for each pair of ranks, packed as slots get free", Strategy::pipelined,
        make_pipelined}});
  return all;
}

const StrategyEntry& entry_of(Strategy strategy) {
  return *std::ranges::find(strategies(), strategy, &StrategyEntry::strategy);
}

}  // namespace sidestream::redistribute
