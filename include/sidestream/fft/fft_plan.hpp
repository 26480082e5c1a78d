#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/comm/threads.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/redistribute/move_times.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::fft {

/// How the transform splits the grid over the ranks: `pencils` for any number up to N^2, `slabs` (one transpose) up to
/// N, `automatic` takes slabs while there are planes enough.
enum class Decomposition { automatic, slabs, pencils };

/// The ranks as rows x columns. x-pencils are cut in `rows` along y and `columns` along z, y-pencils in `rows` along x
/// and `columns` along z, z-pencils in `rows` along x and `columns` along y. With one row the first two are the same
/// slabs.
struct ProcessGrid {
  int rows = 1, columns = 1;
  int ranks() const { return rows * columns; }
};

/// What is on its way by itself: some planes of all components, or some planes of one component.
enum class Pieces { planes, components };

/// Which threads of a rank call MPI, as the hybrid runs of the turbulence code of Blue Waters compare it.
enum class ThreadMode {
  funneled,    ///< the one that transforms; the others help it with the lines of each piece
  serialized,  ///< all, one at a time: each has pieces of its own on their way
  multiple     ///< all, at once: each has pieces of its own on their way; needs MPI_THREAD_MULTIPLE
};

struct ThreadModeEntry {
  std::string name, documentation;
  ThreadMode mode;
  comm::ThreadLevel level;  ///< which MPI has to allow, of more threads than one
};
/// All modes there are, each with a higher level than the one before.
const core::Registry<ThreadModeEntry>& thread_modes();
const ThreadModeEntry& entry_of(ThreadMode mode);

/// Where the time of transforms goes on this rank [s]; the parts add up to the whole. Of threads that have pieces of
/// their own on their way, the mean.
struct FftTimes {
  double transform_s = 0.0;  ///< lines
  redistribute::MoveTimes moves;

  double total_s() const { return transform_s + moves.total_s(); }
};

struct FftOptions {
  Decomposition decomposition = Decomposition::automatic;
  /// Takes the place of the decomposition. Ranks beyond it own no pencils.
  std::optional<ProcessGrid> grid = {};
  /// Of the fields; all are transformed, and sent, together.
  int components = 1;
  /// Layers of ghost cells (across the periodic boundaries of the cells' layout) that `backward` also fills.
  std::int32_t ghost = 0;
  /// The wavenumbers from -K to K of each axis are kept, 2 K + 1 <= cells; the others are neither transformed nor sent
  /// nor held, and `backward` takes them as zeros. The spectrum is compact: indexed as that of a grid of 2 K + 1 cells.
  std::optional<mesh::Int3> kept = {};
  /// Where the caller wants the modes: a layout that covers their domain once. By default they stay in the z-pencils
  /// that the last lines leave them in, which saves an exchange.
  std::optional<mesh::Layout> spectral = {};
  /// Of all exchanges; the bits do not depend on it. `tuned`, or `automatic` on a communicator that says so: the plan
  /// takes the strategy, depth and (unless it or the decomposition is given) process grid that are fastest, as the
  /// wisdom file says or as measured when the plan is made (`tuning.hpp`).
  redistribute::Strategy strategy = redistribute::Strategy::automatic;
  /// Pieces that are on their way at once (for each thread that has pieces of its own), each in memory of its own:
  /// while one travels, lines of another are transformed. 1: each waits for its exchanges; 0: what tuning finds, or
  /// else 1.
  int depth = 0;
  Pieces pieces = Pieces::planes;
  /// Of each rank, the one that transforms among them; the others are made with the plan and sleep between its
  /// transforms. Tuning takes them for the most there may be, and no more than the rank has cores. The same on all
  /// ranks; no bits depend on it.
  int threads = 1;
  /// Where threads have pieces of their own, the first transform in each direction is done by one thread all the same,
  /// because some strategies make windows then.
  ThreadMode thread_mode = ThreadMode::funneled;
  /// The cells and the modes of a rank may lie in the same memory (`InPlaceField`): whatever is in it before a
  /// transform, afterwards its result is. No ghost cells. The plan has memory for the full lines along z, unless one
  /// rank does it all from cells in one block. Without this, fields that share memory are refused.
  bool in_place = false;
  /// To which the seconds of each transform are added, as long as the plan is used; null: nothing is measured, and that
  /// costs nothing.
  FftTimes* times = nullptr;
};

/// The modes of a field of `Cell`.
template <typename Cell>
struct ModeOf {
  using Type = std::complex<Cell>;
};
template <typename T>
struct ModeOf<std::complex<T>> {
  using Type = std::complex<T>;
};

/// A three-dimensional Fourier transform distributed over the ranks of a communicator: of real fields (`Cell` is double
/// or float) to and from the half-complex spectrum, of complex ones to and from the full one. Built once (collective),
/// applied often (collective, without allocation); one transform of a plan may run at a time. The bits of a mode and of
/// a cell depend on the data alone: not on ranks, threads, layouts, process grid, strategy, number of components, nor
/// on which modes are kept beside it.
///
/// Steps of `forward`: cells -> x-pencils, lines along x, -> y-pencils, lines along y, -> z-pencils, lines along z, ->
/// the layout of the modes. Each arrow is a redistribution and falls away where its two layouts are equal: with slabs
/// the second, on one rank all but the first. The first two go slice by slice of planes, so that a slice stays in the
/// cache and its work space is small; with `depth` several slices are on their way at once. `backward` walks the other
/// way.
template <typename Cell>
class FftPlan {
 public:
  using Mode = typename ModeOf<Cell>::Type;

  /// `cells` is any layout that covers the domain [0, n) once, for example the simulation's blocks. Memory that stays:
  /// two slices for each piece that is on its way, and the full lines along z where not all of their modes are kept,
  /// the caller wants another layout, or has the modes in the memory of the cells.
  FftPlan(const comm::Communicator& comm, const mesh::Layout& cells, const FftOptions& options = {});
  ~FftPlan();
  FftPlan(FftPlan&&) noexcept;
  FftPlan& operator=(FftPlan&&) noexcept;

  /// The modes that each rank holds: x from 0 to waves().x/2 (real fields; all for complex ones), y and z all;
  /// `wavenumber(i, waves()[axis])` gives the sign.
  const mesh::Layout& spectral() const;
  const mesh::Layout& real() const;
  /// Cells of the grid.
  mesh::Int3 cells() const;
  /// Cells of the smallest grid that has all modes of the spectrum: those of the grid itself, or 2 K + 1. What
  /// `for_each_mode` takes.
  mesh::Int3 waves() const;
  /// The ranks that do the work.
  ProcessGrid grid() const;
  /// What the plan was made with: process grid, strategy and depth as they were chosen.
  const FftOptions& options() const;
  /// Bytes of this rank's work space and tables.
  std::size_t size_bytes() const;

  /// sum over cells of input(x) exp(-i k.x), not normalised, each component by itself. `input` may have ghost cells
  /// (unused); `spectrum` is on `spectral()`. Throws core::Error where they share memory that they may not.
  void forward(const mesh::FieldView<const Cell>& input, const mesh::FieldView<Mode>& spectrum) const;
  /// sum over modes of spectrum(k) exp(+i k.x), not normalised; `spectrum` is used as work space and lost. Writes the
  /// owned cells of `output` and as many layers of its ghost cells as the plan was made for.
  void backward(const mesh::FieldView<Mode>& spectrum, const mesh::FieldView<Cell>& output) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

/// The signed wavenumber of index `i` on an axis of `n` cells: i for i <= n/2, else i - n.
inline int wavenumber(int i, int n) {
  return i <= n / 2 ? i : i - n;
}

}  // namespace sidestream::fft
