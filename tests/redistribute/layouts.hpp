#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/redistribute/exchange_choice.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::test {

/// All ranks; what is tuned on them is not kept.
inline const comm::Communicator& world() {
  static const comm::Communicator comm =
      redistribute::with_exchange(comm::Communicator(MPI_COMM_WORLD), {.wisdom = "none"});
  return comm;
}

inline constexpr redistribute::Strategy all_strategies[] = {
    redistribute::Strategy::p2p,   redistribute::Strategy::alltoallv, redistribute::Strategy::alltoallw,
    redistribute::Strategy::rma,   redistribute::Strategy::shared,    redistribute::Strategy::pipelined,
    redistribute::Strategy::tuned, redistribute::Strategy::automatic};

inline std::string name_of(const testing::TestParamInfo<redistribute::Strategy>& info) {
  return redistribute::entry_of(info.param).name;
}

/// `layout` with its owners dealt modulo the number of ranks.
inline mesh::Layout dealt(const mesh::Layout& layout) {
  std::vector<std::int32_t> owners;
  for (const auto owner : layout.owners()) owners.push_back(owner % world().size());
  return {layout.domain(), layout.periodic(), {layout.boxes().begin(), layout.boxes().end()}, owners};
}

/// The layout with each box given to the rank that `owner_of` names.
template <typename F>
mesh::Layout owned_by(const mesh::Layout& layout, F owner_of) {
  std::vector<std::int32_t> owners(static_cast<std::size_t>(layout.size()));
  for (std::int32_t i = 0; i < layout.size(); ++i) owners[static_cast<std::size_t>(i)] = owner_of(i);
  return {layout.domain(), layout.periodic(), {layout.boxes().begin(), layout.boxes().end()}, owners};
}

/// `domain` cut at random `cuts` times into boxes (of one cell at the least); with `coverage` below one, boxes are left
/// out. Owners are drawn from `ranks`. The same on every rank.
inline mesh::Layout random_layout(const mesh::Box& domain, int cuts, std::vector<std::int32_t> ranks, unsigned seed,
                                  mesh::Periodicity periodic = {true, true, true}, double coverage = 1.0) {
  std::mt19937 random(seed);
  std::vector<mesh::Box> boxes{domain};
  for (int n = 0; n < cuts; ++n) {
    mesh::Box& box = boxes[random() % boxes.size()];
    const int axis = static_cast<int>(random() % 3);
    if (box.extent()[axis] < 2) continue;
    mesh::Box upper = box;
    box.hi[axis] = upper.lo[axis] =
        box.lo[axis] + 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(box.extent()[axis] - 1));
    boxes.push_back(upper);
  }
  std::vector<mesh::Box> kept;
  std::vector<std::int32_t> owners;
  for (const auto& box : boxes) {
    if (static_cast<double>(random() % 1000) >= 1000 * coverage) continue;
    kept.push_back(box);
    owners.push_back(ranks[random() % ranks.size()]);
  }
  return {domain, periodic, kept, owners};
}

/// All ranks of the world; its lower part and the rest (rank 0 and itself when there is only one).
inline std::vector<std::int32_t> all_ranks() {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(world().size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace sidestream::test
