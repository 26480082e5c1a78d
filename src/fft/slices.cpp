#include "fft/slices.hpp"

#include <algorithm>

#include "fft/threads/threads.hpp"

namespace sidestream::fft {

using mesh::Box;
using mesh::Int3;
using mesh::Layout;
using redistribute::Redistribution;

namespace {

// A slice stays in the cache from one end of its way to the other; but each costs messages.
constexpr std::int64_t slice_size_bytes = 1 << 20;
constexpr std::int64_t most_slices = 16;

// Of each group. Equal on all ranks; no slice is empty everywhere.
template <typename Cell>
int count_of(const Pencils& pencils, int components, int groups, int places) {
  const std::int64_t planes = std::max<std::int64_t>(1, pencils.cells.z / pencils.grid.columns);
  const std::int64_t bytes =
      pencils.cells.product() * components * static_cast<std::int64_t>(sizeof(Cell)) / pencils.grid.ranks();
  const std::int64_t most = std::min(planes, std::max(std::int64_t{1}, most_slices / groups));
  // Enough for the work on one to last while the others travel.
  const std::int64_t least = places == 1 ? 1 : std::min<std::int64_t>(most, (2 * places + groups - 1) / groups);
  return static_cast<int>(std::clamp(bytes / slice_size_bytes, least, most));
}

Int3 extent_of(const Layout& layout, int rank) {
  const auto own = layout.boxes_of(rank);
  return own.empty() ? Int3{} : layout.box(own.front()).extent();
}

// Modes that a row along x takes, before or after its transform.
template <typename Cell>
int pitch_of(const Pencils& pencils) {
  using Mode = typename ModeOf<Cell>::Type;
  const int cells = pencils.cells.x;
  return std::max(pencils.x_modes.domain().hi.x, std::is_same_v<Cell, Mode> ? cells : (cells + 1) / 2);
}

}  // namespace

template <typename Cell>
Slices<Cell>::Slices(const comm::Communicator& comm, const Pencils& pencils, const FftOptions& options)
    : groups_(options.pieces == Pieces::components ? options.components : 1),
      components_(options.components / groups_) {
  // Slices that never travel would not wait for each other.
  const bool travels = !pencils.is_given_in_pencils() || !pencils.y_is_x() || !pencils.z_is_y();
  const int places = (travels ? std::max(options.depth, 1) : 1) * drivers_of(options),
            count = count_of<Cell>(pencils, components_, groups_, places);
  for (int n = 0; n < std::min(places, count * groups_); ++n) memory_.push_back(allocated(pencils, comm.rank(), count));
  for (int index = 0; index < count * groups_; ++index) slices_.push_back(make(comm, pencils, options, index, count));
}

template <typename Cell>
auto Slices<Cell>::allocated(const Pencils& pencils, int rank, int count) const -> Memory {
  const auto rows_of = [&](Int3 extent) {
    const int planes = (extent.z + count - 1) / count;
    return static_cast<std::size_t>(extent.y) * static_cast<std::size_t>(planes) *
           static_cast<std::size_t>(components_);
  };
  const Int3 on_x = extent_of(pencils.x_cells, rank), on_y = extent_of(pencils.y_cells, rank);
  Memory memory;
  memory.x.resize(static_cast<std::size_t>(pitch_of<Cell>(pencils)) * rows_of(on_x));
  if (!pencils.y_is_x()) memory.y.resize(static_cast<std::size_t>(on_y.x) * rows_of(on_y));
  return memory;
}

template <typename Cell>
Slice<Cell> Slices<Cell>::make(const comm::Communicator& comm, const Pencils& pencils, const FftOptions& options,
                               int index, int count) {
  constexpr int numbers = sizeof(Mode) / sizeof(Cell);
  const int rank = comm.rank(), pitch = pitch_of<Cell>(pencils), components = components_, part = index % count;
  const Layout x_cells = slice_of(pencils.x_cells, part, count), x_modes = slice_of(pencils.x_modes, part, count),
               y_cells = slice_of(pencils.y_cells, part, count), y_modes = slice_of(pencils.y_modes, part, count);
  Memory& own = memory_[static_cast<std::size_t>(index) % memory_.size()];
  Slice<Cell> slice;
  slice.group = index / count;
  slice.begins_group = part == 0;
  slice.ends_group = part == count - 1;
  slice.x_cells =
      pitched_view(reinterpret_cast<Cell*>(own.x.data()), x_cells, x_cells, rank, numbers * pitch, components);
  slice.x_modes = pitched_view(own.x.data(), x_modes, x_modes, rank, pitch, components);
  Mode* const memory = pencils.y_is_x() ? own.x.data() : own.y.data();
  const int y_pitch = pencils.y_is_x() ? pitch : extent_of(y_cells, rank).x;
  slice.y_cells = pitched_view(memory, y_cells, y_cells, rank, y_pitch, components);
  slice.y_modes = pitched_view(memory, y_modes, y_cells, rank, y_pitch, components);
  if (!pencils.is_given_in_pencils()) {
    slice.given_to_x.emplace(comm, pencils.given, x_cells, options.strategy);
    slice.x_to_given.emplace(comm, x_cells, pencils.given, options.strategy,
                             redistribute::Coverage{.source_ghost = 0, .destination_ghost = options.ghost});
  }
  if (!pencils.y_is_x()) {
    slice.x_to_y.emplace(comm, x_modes, y_cells, options.strategy);
    slice.y_to_x.emplace(comm, y_cells, x_modes, options.strategy);
  }
  if (!pencils.z_is_y()) {
    slice.y_to_z.emplace(comm, y_modes, pencils.z_cells, options.strategy);
    slice.z_to_y.emplace(comm, pencils.z_cells, y_modes, options.strategy);
  }
  return slice;
}

template <typename Cell>
std::size_t Slices<Cell>::size_bytes() const {
  std::size_t bytes = 0;
  for (const Memory& memory : memory_) bytes += (memory.x.size() + memory.y.size()) * sizeof(Mode);
  for (const Slice<Cell>& slice : slices_)
    for (const auto* step :
         {&slice.given_to_x, &slice.x_to_given, &slice.x_to_y, &slice.y_to_x, &slice.y_to_z, &slice.z_to_y})
      if (*step) bytes += (*step)->size_bytes();
  return bytes;
}

template class Slices<double>;
template class Slices<float>;
template class Slices<std::complex<double>>;
template class Slices<std::complex<float>>;

}  // namespace sidestream::fft
