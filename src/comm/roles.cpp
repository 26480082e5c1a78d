#include "sidestream/comm/roles.hpp"

#include <fmt/format.h>

#include "sidestream/comm/shared_memory.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::comm {

RankCounts plan_ranks(int ranks, int sidecars, SidecarCount count) {
  core::require(ranks >= 1 && sidecars >= 0, "a run takes at least one rank and no negative number of sidecars");
  if (count == SidecarCount::extra) return {ranks + sidecars, ranks, sidecars};
  if (sidecars >= ranks)
    throw core::Error(fmt::format("{} of {} rank{} cannot be sidecars: none would be left to compute", sidecars, ranks,
                                  ranks == 1 ? "" : "s"),
                      "key `coupling.sidecars`",
                      fmt::format("start at least {} ranks, or analyse with transport = \"in-situ\"", sidecars + 1));
  return {ranks, ranks - sidecars, sidecars};
}

namespace {

RankCounts counts_of(const Communicator& world, int sidecars) {
  RankCounts counts;
  world.agree_on([&] { counts = plan_ranks(world.size(), sidecars, SidecarCount::total); });
  return counts;
}

}  // namespace

Roles::Roles(const Communicator& world, int sidecars, bool shares_memory)
    : counts_(counts_of(world, sidecars)),
      world_(world.duplicate()),
      group_(world.split(world.rank() < counts_.compute ? 0 : 1)),
      sharers_of_memory_(shares_memory && sidecars > 0 ? comm::sharers_of_memory(world_)
                                                       : std::vector<bool>(static_cast<std::size_t>(world.size()))) {}

}  // namespace sidestream::comm
