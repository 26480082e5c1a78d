#include "analysis/friends_of_friends/distinct_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

constexpr std::uint64_t most_bits_an_id = 64;  // in a table of bits: as much memory as the ids

std::optional<std::int64_t> twice_by_bits(std::span<const std::int64_t> ids, std::int64_t lowest, std::uint64_t range) {
  std::vector<std::uint64_t> seen(static_cast<std::size_t>(range / 64 + 1));
  for (const std::int64_t id : ids) {
    const std::uint64_t place = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(lowest);
    std::uint64_t& word = seen[static_cast<std::size_t>(place / 64)];
    const std::uint64_t bit = std::uint64_t{1} << (place % 64);
    if ((word & bit) != 0) return id;
    word |= bit;
  }
  return std::nullopt;
}

std::optional<std::int64_t> twice_by_order(std::vector<std::int64_t> ids) {
  std::ranges::sort(ids);
  const auto found = std::ranges::adjacent_find(ids);
  return found == ids.end() ? std::nullopt : std::optional(*found);
}

std::optional<std::int64_t> twice_in(std::span<const std::int64_t> ids) {
  if (ids.size() < 2) return std::nullopt;
  const auto [lowest, highest] = std::ranges::minmax(ids);
  const std::uint64_t range = static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(lowest);
  if (range / most_bits_an_id < ids.size()) return twice_by_bits(ids, lowest, range);
  return twice_by_order({ids.begin(), ids.end()});
}

[[noreturn]] void refuse(std::int64_t id) {
  throw core::Error(fmt::format("two particles have the id {}", id), "",
                    "friends-of-friends groups are named by the smallest id in them: give each particle an id of its "
                    "own, and each species other ones");
}

// Which rank looks at an id: those of neighbours in number are spread, whatever their pattern is (the mix of
// SplitMix64).
std::size_t rank_of(std::int64_t id, std::size_t ranks) {
  std::uint64_t mixed = static_cast<std::uint64_t>(id) >> 10;  // a piece of ids together, for the table of bits
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<std::size_t>((mixed ^ (mixed >> 31)) % ranks);
}

}  // namespace

void require_distinct(std::span<const std::int64_t> ids) {
  if (const auto id = twice_in(ids)) refuse(*id);
}

void require_distinct(const comm::Communicator& comm, std::span<const std::int64_t> ids) {
  if (comm.size() == 1) return require_distinct(ids);
  std::vector<std::vector<std::int64_t>> outgoing(static_cast<std::size_t>(comm.size()));
  for (const std::int64_t id : ids) outgoing[rank_of(id, outgoing.size())].push_back(id);
  std::vector<std::int64_t> mine;
  for (const std::vector<std::int64_t>& part : comm.exchange(outgoing))
    mine.insert(mine.end(), part.begin(), part.end());
  const std::optional<std::int64_t> found = twice_in(mine);
  if (comm.max(std::int64_t{found ? 1 : 0}) == 0) return;
  // Of several, all ranks name the same.
  refuse(comm.min(found.value_or(std::numeric_limits<std::int64_t>::max())));
}

}  // namespace sidestream::analysis
