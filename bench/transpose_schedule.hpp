#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fft/process_grid.hpp"
#include "redistribute/planner.hpp"
#include "sidestream/fft/modes.hpp"

/// Who sends how much to whom in the transposes of a forward transform, on any number of ranks: the planner makes the
/// tables of a rank without the others, so one process can ask it for as many ranks as a machine has.
namespace sidestream::bench {

/// One exchange of a transform: an arrow between two layouts of its modes.
struct Transpose {
  std::string name;
  mesh::Layout from, to;
};

/// How many modes along x and y a transform keeps: all of them, or those that dealiasing leaves.
struct KeptModes {
  int x = 0, y = 0;
};

inline KeptModes all_modes(mesh::Int3 cells) {
  return {cells.x / 2 + 1, cells.y};
}

/// The transposes of an `fft::FftPlan` of `cells` on a process grid, x to y and y to z, with modes dropped as soon as
/// their axis is transformed. With one row the first falls away, as it does in the plan.
inline std::vector<Transpose> transposes_of(mesh::Int3 cells, fft::ProcessGrid grid, KeptModes kept) {
  const mesh::Box with_y = mesh::domain_of({kept.x, cells.y, cells.z});
  const mesh::Box with_z = mesh::domain_of({kept.x, kept.y, cells.z});
  std::vector<Transpose> transposes;
  if (grid.rows > 1)
    transposes.push_back(
        {"x_to_y", split(with_y, {1, grid.rows, grid.columns}), split(with_y, {grid.rows, 1, grid.columns})});
  if (grid.columns > 1)
    transposes.push_back(
        {"y_to_z", split(with_z, {grid.rows, 1, grid.columns}), split(with_z, {grid.rows, grid.columns, 1})});
  return transposes;
}

/// Messages of equal size to peers that follow each other at one distance.
struct MessageRun {
  int first_peer = 0, step = 0, messages = 0;
  std::int64_t cells = 0;  ///< of each message
};

inline std::vector<MessageRun> runs_of(const std::vector<redistribute::Message>& messages) {
  std::vector<MessageRun> runs;
  for (const redistribute::Message& message : messages) {
    if (!runs.empty() && runs.back().cells == message.cells) {
      MessageRun& run = runs.back();
      const int distance = message.peer - run.first_peer - run.step * (run.messages - 1);
      if (run.messages == 1) run.step = distance;
      if (distance == run.step) {
        ++run.messages;
        continue;
      }
    }
    runs.push_back({message.peer, 0, 1, message.cells});
  }
  return runs;
}

/// What a rank does in one transpose.
struct RankTraffic {
  std::vector<MessageRun> sent;
  std::int64_t cells_received = 0, cells_that_stay = 0;
};

inline RankTraffic traffic_of(const Transpose& transpose, int rank) {
  const redistribute::Tables tables = redistribute::plan_of_rank(transpose.from, transpose.to, {}, rank);
  RankTraffic traffic{runs_of(tables.outgoing.messages), 0, 0};
  for (const redistribute::Message& message : tables.incoming.messages) traffic.cells_received += message.cells;
  for (const redistribute::Piece& piece : tables.local) traffic.cells_that_stay += tables.region(piece).volume();
  return traffic;
}

/// Extents of the boxes of a rank before and after each transpose. Ranks with equal shapes send alike: what one sends
/// to the i-th of its row or column, the other does (tests/fft/transpose_schedule_test.cpp asks all ranks).
using Shape = std::vector<std::array<int, 3>>;

inline Shape shape_of(const std::vector<Transpose>& transposes, int rank) {
  Shape shape;
  for (const Transpose& transpose : transposes)
    for (const mesh::Layout* layout : {&transpose.from, &transpose.to}) {
      const auto boxes = layout->boxes_of(rank);
      const mesh::Int3 extent = boxes.empty() ? mesh::Int3{} : layout->box(boxes.front()).extent();
      shape.push_back({extent.x, extent.y, extent.z});
    }
  return shape;
}

/// The ranks of a grid by kind: those of one shape. `first_rank[kind]` stands for all of its kind.
struct Kinds {
  std::vector<int> kind_of_rank, first_rank;
};

inline Kinds kinds_of(const std::vector<Transpose>& transposes, int ranks) {
  Kinds kinds;
  std::map<Shape, int> known;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [entry, is_new] =
        known.try_emplace(shape_of(transposes, rank), static_cast<int>(kinds.first_rank.size()));
    if (is_new) kinds.first_rank.push_back(rank);
    kinds.kind_of_rank.push_back(entry->second);
  }
  return kinds;
}

}  // namespace sidestream::bench
