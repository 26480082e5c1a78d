#include "redistribute/planner.hpp"

#include <gtest/gtest.h>

#include "redistribute/layouts.hpp"
#include "sidestream/mesh/forest.hpp"

namespace sidestream::redistribute {
namespace {

TEST(Planner, TakesUnder100BytesABoxForAQuarterOfAMillionBoxes) {
  const auto layout = mesh::Forest({1024, 1024, 1024}, 16).layout(2048);
  ASSERT_EQ(layout.size(), 262144);

  const auto tables = plan_of_rank(layout, layout, {.destination_ghost = 4, .skip_own = true}, 1000);

  EXPECT_LT((layout.size_bytes() + tables.size_bytes()) / static_cast<std::size_t>(layout.size()), 100u);
}

TEST(Planner, FindsThe26NeighborsOfEachBox) {
  const auto layout = test::owned_by(split(mesh::domain_of({32, 32, 32}), {4, 4, 4}), [](auto i) { return i; });

  const auto tables = plan_of_rank(layout, layout, {.destination_ghost = 2, .skip_own = true}, 21);

  EXPECT_EQ(tables.incoming.pieces.size(), 26u);
  EXPECT_EQ(tables.outgoing.pieces.size(), 26u);
  EXPECT_EQ(tables.incoming.messages.size(), 26u);
  EXPECT_TRUE(tables.local.empty());
}

TEST(Planner, TellsSenderAndReceiverTheSame) {
  const std::vector<std::int32_t> ranks{0, 1, 2, 3, 4};
  const auto from = test::random_layout(mesh::domain_of({9, 8, 7}), 30, ranks, 1);
  const auto to = test::random_layout(mesh::domain_of({9, 8, 7}), 30, ranks, 2);
  std::vector<Tables> tables;
  for (int rank = 0; rank < 5; ++rank) tables.push_back(plan_of_rank(from, to, {1, 2}, rank));

  int unlike = 0, compared = 0;
  for (int sender = 0; sender < 5; ++sender)
    for (const Message& sent : tables[static_cast<std::size_t>(sender)].outgoing.messages) {
      const Traffic& heard = tables[static_cast<std::size_t>(sent.peer)].incoming;
      for (const Message& message : heard.messages) {
        if (message.peer != sender) continue;
        unlike += message.cells != sent.cells || message.last - message.first != sent.last - sent.first;
        for (std::size_t n = 0; n < sent.last - sent.first; ++n, ++compared) {
          const Piece& a = tables[static_cast<std::size_t>(sender)].outgoing.pieces[sent.first + n];
          const Piece& b = heard.pieces[message.first + n];
          unlike += a.source != b.source || a.destination != b.destination || !(a.shift == b.shift);
        }
      }
    }

  EXPECT_GT(compared, 0);
  EXPECT_EQ(unlike, 0);
}

}  // namespace
}  // namespace sidestream::redistribute
