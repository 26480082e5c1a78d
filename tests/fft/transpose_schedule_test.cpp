#include "bench/transpose_schedule.hpp"

#include <gtest/gtest.h>

#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::bench {
namespace {

using fft::ProcessGrid;
using mesh::Int3;

// The messages of a run, peer by peer, as places in the row or column of the sender.
std::vector<std::pair<int, std::int64_t>> by_place(const std::vector<MessageRun>& runs, ProcessGrid grid,
                                                   const std::string& transpose) {
  std::vector<std::pair<int, std::int64_t>> messages;
  for (const MessageRun& run : runs)
    for (int i = 0; i < run.messages; ++i) {
      const int peer = run.first_peer + i * run.step;
      messages.emplace_back(transpose == "x_to_y" ? peer % grid.rows : peer / grid.rows, run.cells);
    }
  return messages;
}

std::int64_t cells_to(const std::vector<std::pair<int, std::int64_t>>& messages, int place, std::int64_t own_cells) {
  for (const auto& [at, cells] : messages)
    if (at == place) return cells;
  return own_cells;
}

std::int64_t cells_sent(const RankTraffic& traffic) {
  std::int64_t cells = 0;
  for (const MessageRun& run : traffic.sent) cells += run.messages * run.cells;
  return cells;
}

std::vector<std::pair<Int3, ProcessGrid>> uneven_and_even_grids() {
  return {{{16, 16, 16}, {4, 8}}, {{18, 20, 14}, {3, 5}}, {{13, 17, 11}, {4, 3}}, {{32, 32, 32}, {2, 16}}};
}

TEST(TransposeSchedule, RanksOfOneShapeSendAlikeToTheirRowsAndColumns) {
  for (const auto& [cells, grid] : uneven_and_even_grids()) {
    const auto transposes = transposes_of(cells, grid, all_modes(cells));
    const Kinds kinds = kinds_of(transposes, grid.ranks());
    for (const Transpose& transpose : transposes)
      for (int rank = 0; rank < grid.ranks(); ++rank) {
        const int first =
            kinds.first_rank[static_cast<std::size_t>(kinds.kind_of_rank[static_cast<std::size_t>(rank)])];
        const RankTraffic mine = traffic_of(transpose, rank), stands_for_it = traffic_of(transpose, first);
        const auto messages = by_place(mine.sent, grid, transpose.name);
        const auto theirs = by_place(stands_for_it.sent, grid, transpose.name);

        for (const auto& [place, sent] : messages)
          EXPECT_EQ(sent, cells_to(theirs, place, stands_for_it.cells_that_stay)) << transpose.name << rank;
        EXPECT_EQ(messages.size(), theirs.size());
      }
  }
}

TEST(TransposeSchedule, MessagesStayInTheRowOrColumnOfTheirSender) {
  for (const auto& [cells, grid] : uneven_and_even_grids())
    for (const Transpose& transpose : transposes_of(cells, grid, all_modes(cells)))
      for (int rank = 0; rank < grid.ranks(); ++rank)
        for (const MessageRun& run : traffic_of(transpose, rank).sent)
          for (int i = 0; i < run.messages; ++i) {
            const int peer = run.first_peer + i * run.step;
            if (transpose.name == "x_to_y")
              EXPECT_EQ(peer / grid.rows, rank / grid.rows);
            else
              EXPECT_EQ(peer % grid.rows, rank % grid.rows);
          }
}

TEST(TransposeSchedule, EvenGridsSendWhatTheClosedFormulasSay) {
  const Int3 cells{64, 64, 64};
  const ProcessGrid grid{4, 8};
  const KeptModes kept{32, 64};  // without the last mode along x all boxes are equal
  const std::int64_t share = std::int64_t{32} * 64 * 64 / grid.ranks();
  const auto transposes = transposes_of(cells, grid, kept);

  for (int rank = 0; rank < grid.ranks(); ++rank) {
    const RankTraffic in_rows = traffic_of(transposes[0], rank), in_columns = traffic_of(transposes[1], rank);

    EXPECT_EQ(cells_sent(in_rows), share * (grid.rows - 1) / grid.rows);
    EXPECT_EQ(cells_sent(in_columns), share * (grid.columns - 1) / grid.columns);
    EXPECT_EQ(by_place(in_rows.sent, grid, "x_to_y").size(), static_cast<std::size_t>(grid.rows - 1));
    EXPECT_EQ(by_place(in_columns.sent, grid, "y_to_z").size(), static_cast<std::size_t>(grid.columns - 1));
    EXPECT_EQ(in_rows.cells_received, cells_sent(in_rows));
  }
}

TEST(TransposeSchedule, DroppedModesAreNotSent) {
  const Int3 cells{48, 48, 48};
  const ProcessGrid grid{4, 4};
  const auto all = transposes_of(cells, grid, {24, 48}), kept = transposes_of(cells, grid, {16, 32});

  EXPECT_EQ(3 * cells_sent(traffic_of(kept[0], 5)), 2 * cells_sent(traffic_of(all[0], 5)));
  EXPECT_EQ(9 * cells_sent(traffic_of(kept[1], 5)), 4 * cells_sent(traffic_of(all[1], 5)));
}

TEST(TransposeSchedule, IsThatOfAPlanOnTheRanksOfThisRun) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const Int3 cells{18, 20, 14};
  const ProcessGrid grid = choose_process_grid(cells, comm.size(), fft::Decomposition::pencils);
  const fft::FftPlan plan(comm, split(mesh::domain_of(cells), {1, grid.rows, grid.columns}),
                          fft::Decomposition::pencils);
  const auto transposes = transposes_of(cells, grid, all_modes(cells));

  for (const Transpose& transpose : transposes) {
    const redistribute::Redistribution exchange(comm, transpose.from, transpose.to);
    EXPECT_EQ(exchange.sent_bytes(16), 16 * static_cast<std::size_t>(cells_sent(traffic_of(transpose, comm.rank()))));
  }
  if (grid.columns > 1) {
    EXPECT_EQ(transposes.back().to, plan.spectral());
  }
}

}  // namespace
}  // namespace sidestream::bench
