#include "sidestream/fft/fft_plan.hpp"

#include <algorithm>

#include "fft/rows.hpp"
#include "fft/slices.hpp"
#include "sidestream/comm/progress.hpp"

namespace sidestream::fft {

using mesh::FieldView;
using mesh::Int3;
using mesh::Layout;
using redistribute::Redistribution;

namespace {

// A multiple of what lines take of the cache at a time.
constexpr std::ptrdiff_t columns_in_piece = 4096;

}  // namespace

template <typename Cell>
struct FftPlan<Cell>::Plan {
  static constexpr bool is_real = !std::is_same_v<Cell, Mode>;
  using Number = typename RowsOf<Cell>::Number;
  using Modes = FieldView<Mode>;

  comm::Communicator comm;
  int components;
  Pencils pencils;
  typename RowsOf<Cell>::Type x;
  ComplexLines<Number> y, z;
  Slices<Cell> slices;
  // Full lines along z, where the caller's field does not hold them, and their modes in the same memory.
  std::vector<Mode> z_memory;
  Modes own_z_cells, own_z_modes;
  std::optional<Redistribution> ghost_fill, z_to_wanted, wanted_to_z;

  Plan(const comm::Communicator& its_comm, const Layout& given, const FftOptions& options);

  // The stages along z when the caller's modes are in `spectrum`.
  const Modes& z_cells(const Modes& spectrum) const { return z_memory.empty() ? spectrum : own_z_cells; }
  const Modes& z_modes(const Modes& spectrum) const { return z_to_wanted ? own_z_modes : spectrum; }
  bool has_own_z() const { return !pencils.keeps_all_of_z() || !pencils.is_wanted_in_pencils(); }

  void forward(const FieldView<const Cell>& input, const Modes& spectrum);
  void backward(const Modes& spectrum, const FieldView<Cell>& output);

 private:
  void forward_rows(const FieldView<const Cell>& from, const Modes& to, int component, int k);
  void backward_rows(const Modes& from, const FieldView<Cell>& to, int component, int k);
  void forward_plane(const Modes& from, const Modes& to, int component, int k);
  void backward_plane(const Modes& from, const Modes& to, int component, int k);
  template <typename F>
  void for_each_plane(const Modes& modes, F f) const;
  template <typename F>
  void for_each_columns(const Modes& cells, const Modes& modes, F f) const;
};

template <typename Cell>
FftPlan<Cell>::Plan::Plan(const comm::Communicator& its_comm, const Layout& given, const FftOptions& options)
    : comm(its_comm.duplicate()),
      components(options.components),
      pencils(pencils_of(given, comm.size(), is_real, options)),
      x(pencils.cells.x, pencils.x_modes.domain().hi.x),
      y(pencils.cells.y, pencils.waves.y),
      z(pencils.cells.z, pencils.waves.z),
      slices(comm, pencils, options) {
  const int rank = comm.rank();
  if (has_own_z()) {
    z_memory.resize(mesh::Field<Mode>::size_bytes(pencils.z_cells, rank, components) / sizeof(Mode));
    const auto own = pencils.z_cells.boxes_of(rank);
    const int pitch = own.empty() ? 0 : pencils.z_cells.box(own.front()).extent().x;
    own_z_cells = pitched_view(z_memory.data(), pencils.z_cells, pencils.z_cells, rank, pitch, components);
    own_z_modes = pitched_view(z_memory.data(), pencils.z_modes, pencils.z_cells, rank, pitch, components);
  }
  if (!pencils.is_wanted_in_pencils()) {
    z_to_wanted.emplace(comm, pencils.z_modes, pencils.wanted, options.strategy);
    wanted_to_z.emplace(comm, pencils.wanted, pencils.z_modes, options.strategy);
  }
  if (pencils.is_given_in_pencils() && options.ghost > 0)
    ghost_fill.emplace(comm, given, given, options.strategy,
                       redistribute::Coverage{.source_ghost = 0, .destination_ghost = options.ghost, .skip_own = true});
}

// Lines along x of plane k, of a rank's one box.
template <typename Cell>
void FftPlan<Cell>::Plan::forward_rows(const FieldView<const Cell>& from, const Modes& to, int component, int k) {
  const mesh::Box& box = to.box(0);
  const auto in = from.view(0);
  const auto out = to.view(0);
  x.forward(&in(component, k, box.lo.y, 0), in.stride_y(), &out(component, k, box.lo.y, 0), out.stride_y(),
            box.extent().y);
}

template <typename Cell>
void FftPlan<Cell>::Plan::backward_rows(const Modes& from, const FieldView<Cell>& to, int component, int k) {
  const mesh::Box& box = from.box(0);
  const auto in = from.view(0);
  const auto out = to.view(0);
  x.backward(&in(component, k, box.lo.y, 0), in.stride_y(), &out(component, k, box.lo.y, 0), out.stride_y(),
             box.extent().y);
}

// Lines along y of plane k.
template <typename Cell>
void FftPlan<Cell>::Plan::forward_plane(const Modes& from, const Modes& to, int component, int k) {
  const mesh::Box& box = from.box(0);
  const auto in = from.view(0), out = to.view(0);
  y.forward(&in(component, k, 0, box.lo.x), in.stride_y(), &out(component, k, 0, box.lo.x), out.stride_y(),
            box.extent().x);
}

template <typename Cell>
void FftPlan<Cell>::Plan::backward_plane(const Modes& from, const Modes& to, int component, int k) {
  const mesh::Box& box = to.box(0);
  const auto in = from.view(0), out = to.view(0);
  y.backward(&in(component, k, 0, box.lo.x), in.stride_y(), &out(component, k, 0, box.lo.x), out.stride_y(),
             box.extent().x);
}

template <typename Cell>
template <typename F>
void FftPlan<Cell>::Plan::for_each_plane(const Modes& modes, F f) const {
  if (modes.blocks() == 0) return;
  for (int component = 0; component < components; ++component)
    for (int k = modes.box(0).lo.z; k < modes.box(0).hi.z; ++k) {
      comm::progress(comm);
      f(component, k);
    }
}

// Lines along z: neighbours along x are neighbours in memory, and so are rows that follow on each other. Calls
// f(cells, their stride, modes, their stride, columns).
template <typename Cell>
template <typename F>
void FftPlan<Cell>::Plan::for_each_columns(const Modes& cells, const Modes& modes, F f) const {
  if (cells.blocks() == 0) return;
  const mesh::Box& box = cells.box(0);
  const auto on_cells = cells.view(0), on_modes = modes.view(0);
  const Int3 extent = box.extent();
  const bool follow = on_cells.stride_y() == extent.x && on_modes.stride_y() == extent.x;
  const int rows = follow ? 1 : extent.y;
  const std::ptrdiff_t columns = follow ? std::ptrdiff_t{extent.x} * extent.y : extent.x;
  for (int component = 0; component < components; ++component)
    for (int j = box.lo.y; j < box.lo.y + rows; ++j)
      for (std::ptrdiff_t first = 0; first < columns; first += columns_in_piece) {
        comm::progress(comm);
        f(&on_cells(component, 0, j, box.lo.x) + first, on_cells.stride_z(),
          &on_modes(component, 0, j, box.lo.x) + first, on_modes.stride_z(),
          std::min(columns_in_piece, columns - first));
      }
}

template <typename Cell>
void FftPlan<Cell>::Plan::forward(const FieldView<const Cell>& input, const Modes& spectrum) {
  const Modes &along_z = z_cells(spectrum), &modes = z_modes(spectrum);
  for (const Slice<Cell>& slice : slices.all()) {
    const FieldView<const Cell> cells = slice.given_to_x ? slice.x_cells : input;
    const Modes& y_modes = slice.y_to_z ? slice.y_modes : along_z;
    if (slice.given_to_x) slice.given_to_x->apply(input, slice.x_cells);
    // With slabs a plane goes through both x and y while it is in the cache.
    for_each_plane(slice.x_modes, [&](int component, int k) {
      forward_rows(cells, slice.x_modes, component, k);
      if (!slice.x_to_y) forward_plane(slice.y_cells, y_modes, component, k);
    });
    if (slice.x_to_y) {
      slice.x_to_y->apply(slice.x_modes, slice.y_cells);
      for_each_plane(slice.y_cells, [&](int component, int k) { forward_plane(slice.y_cells, y_modes, component, k); });
    }
    if (slice.y_to_z) slice.y_to_z->apply(slice.y_modes, along_z);
  }
  for_each_columns(along_z, modes, [&](Mode* from, auto from_stride, Mode* to, auto to_stride, auto columns) {
    z.forward(from, from_stride, to, to_stride, columns);
  });
  if (z_to_wanted) z_to_wanted->apply(modes, spectrum);
}

template <typename Cell>
void FftPlan<Cell>::Plan::backward(const Modes& spectrum, const FieldView<Cell>& output) {
  const Modes &along_z = z_cells(spectrum), &modes = z_modes(spectrum);
  if (wanted_to_z) wanted_to_z->apply(spectrum, modes);
  for_each_columns(along_z, modes, [&](Mode* to, auto to_stride, Mode* from, auto from_stride, auto columns) {
    z.backward(from, from_stride, to, to_stride, columns);
  });
  for (const Slice<Cell>& slice : slices.all()) {
    const FieldView<Cell>& cells = slice.x_to_given ? slice.x_cells : output;
    const Modes& y_modes = slice.z_to_y ? slice.y_modes : along_z;
    if (slice.z_to_y) slice.z_to_y->apply(along_z, slice.y_modes);
    if (slice.y_to_x) {
      for_each_plane(slice.y_cells,
                     [&](int component, int k) { backward_plane(y_modes, slice.y_cells, component, k); });
      slice.y_to_x->apply(slice.y_cells, slice.x_modes);
    }
    for_each_plane(slice.x_modes, [&](int component, int k) {
      if (!slice.y_to_x) backward_plane(y_modes, slice.y_cells, component, k);
      backward_rows(slice.x_modes, cells, component, k);
    });
    if (slice.x_to_given) slice.x_to_given->apply(slice.x_cells, output);
  }
  if (ghost_fill) ghost_fill->apply(output, output);
}

template <typename Cell>
FftPlan<Cell>::FftPlan(const comm::Communicator& comm, const Layout& cells, const FftOptions& options)
    : plan_(std::make_unique<Plan>(comm, cells, options)) {}
template <typename Cell>
FftPlan<Cell>::~FftPlan() = default;
template <typename Cell>
FftPlan<Cell>::FftPlan(FftPlan&&) noexcept = default;
template <typename Cell>
FftPlan<Cell>& FftPlan<Cell>::operator=(FftPlan&&) noexcept = default;

template <typename Cell>
const Layout& FftPlan<Cell>::spectral() const {
  return plan_->pencils.wanted;
}
template <typename Cell>
const Layout& FftPlan<Cell>::real() const {
  return plan_->pencils.given;
}
template <typename Cell>
Int3 FftPlan<Cell>::cells() const {
  return plan_->pencils.cells;
}
template <typename Cell>
Int3 FftPlan<Cell>::waves() const {
  return plan_->pencils.waves;
}
template <typename Cell>
ProcessGrid FftPlan<Cell>::grid() const {
  return plan_->pencils.grid;
}

template <typename Cell>
std::size_t FftPlan<Cell>::size_bytes() const {
  std::size_t bytes = plan_->slices.size_bytes() + plan_->z_memory.size() * sizeof(Mode);
  for (const auto* step : {&plan_->ghost_fill, &plan_->z_to_wanted, &plan_->wanted_to_z})
    if (*step) bytes += (*step)->size_bytes();
  return bytes;
}

namespace {

// A rank without blocks on one side may pass an empty field there.
template <typename View>
void require_fit(const View& view, const Layout& layout, int rank, int components) {
  const auto blocks = layout.boxes_of(rank).size();
  core::require(blocks == static_cast<std::size_t>(view.blocks()) && (blocks == 0 || view.components() == components),
                "a Fourier transform takes fields on the layouts and with the components of its plan");
}

}  // namespace

template <typename Cell>
void FftPlan<Cell>::forward(const FieldView<const Cell>& input, const FieldView<Mode>& spectrum) const {
  require_fit(input, real(), plan_->comm.rank(), plan_->components);
  require_fit(spectrum, spectral(), plan_->comm.rank(), plan_->components);
  plan_->forward(input, spectrum);
}

template <typename Cell>
void FftPlan<Cell>::backward(const FieldView<Mode>& spectrum, const FieldView<Cell>& output) const {
  require_fit(spectrum, spectral(), plan_->comm.rank(), plan_->components);
  require_fit(output, real(), plan_->comm.rank(), plan_->components);
  plan_->backward(spectrum, output);
}

template class FftPlan<double>;
template class FftPlan<float>;
template class FftPlan<std::complex<double>>;
template class FftPlan<std::complex<float>>;

}  // namespace sidestream::fft
