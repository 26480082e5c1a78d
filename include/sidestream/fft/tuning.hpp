#pragma once

#include <span>
#include <string>
#include <vector>

#include "sidestream/fft/fft_plan.hpp"

// Which process grid, exchange strategy, depth of the pipeline and number of threads are fastest is measured, and kept
// in the wisdom file. All ways give the same bits: lines are always transformed by the one engine there is, as their
// length says.
namespace sidestream::fft {

/// A way to do a transform.
struct Way {
  ProcessGrid grid;
  redistribute::Strategy strategy = redistribute::Strategy::automatic;
  int depth = 1;
  Pieces pieces = Pieces::planes;
  int threads = 1;

  /// Such as "2 x 2, p2p", "1 x 4, shared, 2 under way" or "1 x 4, p2p, 2 components under way, 2 threads".
  std::string name() const;
  /// `options` in this way.
  FftOptions of(FftOptions options) const;
};

/// Process grids of all `ranks`, and of half of them: where fewer are faster, the others stay idle.
std::vector<ProcessGrid> process_grids(int ranks);

/// All ways with one of `grids` and one of `strategies`, first those in which pieces wait for their exchanges. One
/// component at a time is tried where there are several. So many threads are tried, half of them, and so on down to 1.
std::vector<Way> ways(std::span<const ProcessGrid> grids, std::span<const redistribute::Strategy> strategies,
                      int components, int threads = 1);
/// The strategies that do not choose one of the others, what `automatic` would take first.
std::vector<redistribute::Strategy> ways_to_travel(const comm::Communicator& comm);

/// `cells` as x-pencils of a process grid.
mesh::Layout x_pencils(mesh::Int3 cells, ProcessGrid grid);

/// Under which the fastest way of a transform is kept: machine, cells, type, and what else its time depends on. `given`
/// is the layout of the cells; nothing for the x-pencils of whichever grid is chosen. Collective; the same on all
/// ranks.
template <typename Cell>
std::string tuning_key(const comm::Communicator& comm, mesh::Int3 cells, const std::optional<mesh::Layout>& given,
                       const FftOptions& options);

/// True where the options, or else the communicator, ask for the strategy `tuned`.
bool is_to_be_tuned(const comm::Communicator& comm, const FftOptions& options);

/// `options` in the fastest way: from the wisdom file that `comm` names, or measured there and back in some seconds,
/// with fields of its own. A process grid, a decomposition and a depth that are given stay; `threads` are the most that
/// are tried, as far as ranks have cores. Collective.
template <typename Cell>
FftOptions tuned(const comm::Communicator& comm, const mesh::Layout& cells, const FftOptions& options);
/// The same for cells that will lie in the x-pencils of the grid that is chosen.
template <typename Cell>
FftOptions tuned(const comm::Communicator& comm, mesh::Int3 cells, const FftOptions& options);

}  // namespace sidestream::fft
