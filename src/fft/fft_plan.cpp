#include "sidestream/fft/fft_plan.hpp"

#include <algorithm>

#include "fft/rows.hpp"
#include "fft/slices.hpp"
#include "sidestream/comm/progress.hpp"
#include "sidestream/fft/tuning.hpp"

namespace sidestream::fft {

using mesh::FieldView;
using mesh::Int3;
using mesh::Layout;
using redistribute::Redistribution;

namespace {

// A multiple of what lines take of the cache at a time.
constexpr std::ptrdiff_t columns_in_piece = 4096;

/// A slice on its way, and the exchange that it is in.
template <typename Cell>
class Traveller {
 public:
  int stage = 0;

  void begin(const Slice<Cell>* slice) {
    slice_ = slice;
    stage = 0;
    under_way_ = nullptr;
  }
  bool has_slice() const { return slice_ != nullptr; }
  const Slice<Cell>& slice() const { return *slice_; }

  bool is_under_way() const { return under_way_ != nullptr; }
  template <typename T>
  void leave(const Redistribution& by, const mesh::AnyField& from, const FieldView<T>& to) {
    by.start(from, to);
    under_way_ = &by;
    to_ = to.table();
    to_cells_ = std::is_same_v<T, Cell>;
  }
  void let_travel() const {
    if (is_under_way()) under_way_->test();
  }
  void arrive() {
    if (!is_under_way()) return;
    to_cells_ ? under_way_->finish(FieldView<Cell>(to_))
              : under_way_->finish(FieldView<typename ModeOf<Cell>::Type>(to_));
    under_way_ = nullptr;
  }

 private:
  const Slice<Cell>* slice_ = nullptr;
  const Redistribution* under_way_ = nullptr;
  std::shared_ptr<const mesh::BlockTable> to_;
  bool to_cells_ = false;
};

}  // namespace

template <typename Cell>
struct FftPlan<Cell>::Plan {
  static constexpr bool is_real = !std::is_same_v<Cell, Mode>;
  using Number = typename RowsOf<Cell>::Number;
  using Modes = FieldView<Mode>;

  comm::Communicator comm;
  FftOptions options;
  Pencils pencils;
  typename RowsOf<Cell>::Type x;
  ComplexLines<Number> y, z;
  Slices<Cell> slices;
  // Full lines along z, where the caller's field does not hold them, and their modes in the same memory.
  bool has_own_z;
  std::vector<Mode> z_memory;
  Modes own_z_cells, own_z_modes;
  std::optional<Redistribution> ghost_fill, z_to_wanted, wanted_to_z;
  // Slices on their way, slice n in place n modulo their number, and the modes between z and where they are wanted.
  std::vector<Traveller<Cell>> travellers;
  Traveller<Cell> travelling_modes;

  Plan(const comm::Communicator& its_comm, const Layout& given, const FftOptions& its_options);

  void forward(const FieldView<const Cell>& input, const Modes& spectrum);
  void backward(const Modes& spectrum, const FieldView<Cell>& output);

 private:
  // The stages along z of a group of components, where the caller's modes of it are in `spectrum`.
  Modes z_cells(const Modes& spectrum, int group) const { return has_own_z ? of_group(own_z_cells, group) : spectrum; }
  Modes z_modes(const Modes& spectrum, int group) const {
    return z_to_wanted ? of_group(own_z_modes, group) : spectrum;
  }
  template <typename T>
  FieldView<T> of_group(const FieldView<T>& all, int group) const {
    if (slices.groups() == 1 || all.blocks() == 0) return all;
    return all.component(group * slices.components_of_group(), slices.components_of_group());
  }
  auto timed_lines() const {
    FftTimes* const times = options.times;
    return redistribute::Timed(times ? &times->transform_s : nullptr, [times] { return times->moves.total_s(); });
  }

  template <typename Stage>
  void send_all(Stage stage);
  bool forward_stage(Traveller<Cell>& traveller, const FieldView<const Cell>& input, const Modes& spectrum);
  bool backward_stage(Traveller<Cell>& traveller, const Modes& spectrum, const FieldView<Cell>& output);
  void fetch_modes(const Modes& spectrum, int group);
  void forward_columns(const Modes& cells, const Modes& modes);
  void backward_columns(const Modes& modes, const Modes& cells);
  void let_travel() const;

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
FftPlan<Cell>::Plan::Plan(const comm::Communicator& its_comm, const Layout& given, const FftOptions& its_options)
    : comm(its_comm.duplicate()),
      options(its_options),
      pencils(pencils_of(given, comm.size(), is_real, options)),
      x(pencils.cells.x, pencils.x_modes.domain().hi.x),
      y(pencils.cells.y, pencils.waves.y),
      z(pencils.cells.z, pencils.waves.z),
      slices(comm, pencils, options),
      has_own_z(!pencils.keeps_all_of_z() || !pencils.is_wanted_in_pencils()),
      travellers(static_cast<std::size_t>(slices.depth())) {
  options.grid = pencils.grid;
  options.depth = slices.depth();
  const int rank = comm.rank(), components = options.components;
  if (has_own_z) {
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
  for (auto* step : {&ghost_fill, &z_to_wanted, &wanted_to_z})
    if (*step) (*step)->measure(options.times ? &options.times->moves : nullptr);
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
  const auto timed = timed_lines();
  for (int component = 0; component < modes.components(); ++component)
    for (int k = modes.box(0).lo.z; k < modes.box(0).hi.z; ++k) {
      let_travel();
      f(component, k);
    }
}

// Lines along z: neighbours along x are neighbours in memory, and so are rows that follow on each other. Calls
// f(cells, their stride, modes, their stride, columns).
template <typename Cell>
template <typename F>
void FftPlan<Cell>::Plan::for_each_columns(const Modes& cells, const Modes& modes, F f) const {
  if (cells.blocks() == 0) return;
  const auto timed = timed_lines();
  const mesh::Box& box = cells.box(0);
  const auto on_cells = cells.view(0), on_modes = modes.view(0);
  const Int3 extent = box.extent();
  const bool follow = on_cells.stride_y() == extent.x && on_modes.stride_y() == extent.x;
  const int rows = follow ? 1 : extent.y;
  const std::ptrdiff_t columns = follow ? std::ptrdiff_t{extent.x} * extent.y : extent.x;
  for (int component = 0; component < cells.components(); ++component)
    for (int j = box.lo.y; j < box.lo.y + rows; ++j)
      for (std::ptrdiff_t first = 0; first < columns; first += columns_in_piece) {
        let_travel();
        f(&on_cells(component, 0, j, box.lo.x) + first, on_cells.stride_z(),
          &on_modes(component, 0, j, box.lo.x) + first, on_modes.stride_z(),
          std::min(columns_in_piece, columns - first));
      }
}

template <typename Cell>
void FftPlan<Cell>::Plan::forward_columns(const Modes& cells, const Modes& modes) {
  for_each_columns(cells, modes, [&](Mode* from, auto from_stride, Mode* to, auto to_stride, auto columns) {
    z.forward(from, from_stride, to, to_stride, columns);
  });
}

template <typename Cell>
void FftPlan<Cell>::Plan::backward_columns(const Modes& modes, const Modes& cells) {
  for_each_columns(cells, modes, [&](Mode* to, auto to_stride, Mode* from, auto from_stride, auto columns) {
    z.backward(from, from_stride, to, to_stride, columns);
  });
}

// Between two pieces of work: MPI, and whoever else has something under way, may go on.
template <typename Cell>
void FftPlan<Cell>::Plan::let_travel() const {
  comm::progress(comm);
  for (const Traveller<Cell>& traveller : travellers) traveller.let_travel();
  travelling_modes.let_travel();
}

// Has all slices go their way, as many at once as there are travellers. `stage(traveller)` does what comes before the
// next exchange and starts that; false: there was nothing left to do. All slices are in as many exchanges (one at
// least, where several are on their way), so they end in their order, and all ranks start the same exchanges in the
// same order.
template <typename Cell>
template <typename Stage>
void FftPlan<Cell>::Plan::send_all(Stage stage) {
  const auto has_ended = [&](Traveller<Cell>& traveller) {
    traveller.arrive();
    while (!traveller.is_under_way())
      if (!stage(traveller)) return true;
    return false;
  };
  auto next = slices.all().begin();
  for (Traveller<Cell>& traveller : travellers) traveller.begin(&*next++);
  for (std::size_t left = slices.all().size(); left > 0;)
    for (Traveller<Cell>& traveller : travellers)
      while (traveller.has_slice() && has_ended(traveller)) {
        --left;
        traveller.begin(next == slices.all().end() ? nullptr : &*next++);
      }
}

template <typename Cell>
bool FftPlan<Cell>::Plan::forward_stage(Traveller<Cell>& traveller, const FieldView<const Cell>& input,
                                        const Modes& spectrum) {
  const Slice<Cell>& slice = traveller.slice();
  const FieldView<const Cell> given = of_group(input, slice.group);
  const FieldView<const Cell> cells = slice.given_to_x ? slice.x_cells : given;
  const Modes wanted = of_group(spectrum, slice.group), along_z = z_cells(wanted, slice.group);
  const Modes& y_modes = slice.y_to_z ? slice.y_modes : along_z;
  switch (traveller.stage++) {
    case 0:
      if (slice.given_to_x) traveller.leave(*slice.given_to_x, given, slice.x_cells);
      return true;
    case 1:
      // With slabs a plane goes through both x and y while it is in the cache.
      for_each_plane(slice.x_modes, [&](int component, int k) {
        forward_rows(cells, slice.x_modes, component, k);
        if (!slice.x_to_y) forward_plane(slice.y_cells, y_modes, component, k);
      });
      if (slice.x_to_y) traveller.leave(*slice.x_to_y, slice.x_modes, slice.y_cells);
      return true;
    case 2:
      if (slice.x_to_y)
        for_each_plane(slice.y_cells,
                       [&](int component, int k) { forward_plane(slice.y_cells, y_modes, component, k); });
      if (slice.y_to_z) traveller.leave(*slice.y_to_z, slice.y_modes, along_z);
      return true;
    default:
      if (slice.ends_group) {
        const Modes modes = z_modes(wanted, slice.group);
        forward_columns(along_z, modes);
        travelling_modes.arrive();
        if (z_to_wanted) travelling_modes.leave(*z_to_wanted, modes, wanted);
      }
      return false;
  }
}

template <typename Cell>
void FftPlan<Cell>::Plan::forward(const FieldView<const Cell>& input, const Modes& spectrum) {
  travelling_modes.begin(nullptr);
  send_all([&](Traveller<Cell>& traveller) { return forward_stage(traveller, input, spectrum); });
  travelling_modes.arrive();
}

template <typename Cell>
void FftPlan<Cell>::Plan::fetch_modes(const Modes& spectrum, int group) {
  if (!wanted_to_z || group == slices.groups()) return;
  const Modes wanted = of_group(spectrum, group);
  travelling_modes.leave(*wanted_to_z, wanted, z_modes(wanted, group));
}

template <typename Cell>
bool FftPlan<Cell>::Plan::backward_stage(Traveller<Cell>& traveller, const Modes& spectrum,
                                         const FieldView<Cell>& output) {
  const Slice<Cell>& slice = traveller.slice();
  const FieldView<Cell> given = of_group(output, slice.group);
  const FieldView<Cell>& cells = slice.x_to_given ? slice.x_cells : given;
  const Modes wanted = of_group(spectrum, slice.group), along_z = z_cells(wanted, slice.group);
  const Modes& y_modes = slice.z_to_y ? slice.y_modes : along_z;
  switch (traveller.stage++) {
    case 0:
      if (slice.begins_group) {
        travelling_modes.arrive();
        fetch_modes(spectrum, slice.group + 1);
        backward_columns(z_modes(wanted, slice.group), along_z);
      }
      if (slice.z_to_y) traveller.leave(*slice.z_to_y, along_z, slice.y_modes);
      return true;
    case 1:
      if (!slice.y_to_x) return true;
      for_each_plane(slice.y_cells,
                     [&](int component, int k) { backward_plane(y_modes, slice.y_cells, component, k); });
      traveller.leave(*slice.y_to_x, slice.y_cells, slice.x_modes);
      return true;
    case 2:
      for_each_plane(slice.x_modes, [&](int component, int k) {
        if (!slice.y_to_x) backward_plane(y_modes, slice.y_cells, component, k);
        backward_rows(slice.x_modes, cells, component, k);
      });
      if (slice.x_to_given) traveller.leave(*slice.x_to_given, slice.x_cells, given);
      return true;
    default:
      return false;
  }
}

template <typename Cell>
void FftPlan<Cell>::Plan::backward(const Modes& spectrum, const FieldView<Cell>& output) {
  travelling_modes.begin(nullptr);
  fetch_modes(spectrum, 0);
  send_all([&](Traveller<Cell>& traveller) { return backward_stage(traveller, spectrum, output); });
  if (ghost_fill) ghost_fill->apply(output, output);
}

template <typename Cell>
FftPlan<Cell>::FftPlan(const comm::Communicator& comm, const Layout& cells, const FftOptions& options)
    : plan_(std::make_unique<Plan>(comm, cells,
                                   is_to_be_tuned(comm, options) ? tuned<Cell>(comm, cells, options) : options)) {}
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
const FftOptions& FftPlan<Cell>::options() const {
  return plan_->options;
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
  require_fit(input, real(), plan_->comm.rank(), plan_->options.components);
  require_fit(spectrum, spectral(), plan_->comm.rank(), plan_->options.components);
  plan_->forward(input, spectrum);
}

template <typename Cell>
void FftPlan<Cell>::backward(const FieldView<Mode>& spectrum, const FieldView<Cell>& output) const {
  require_fit(spectrum, spectral(), plan_->comm.rank(), plan_->options.components);
  require_fit(output, real(), plan_->comm.rank(), plan_->options.components);
  plan_->backward(spectrum, output);
}

template class FftPlan<double>;
template class FftPlan<float>;
template class FftPlan<std::complex<double>>;
template class FftPlan<std::complex<float>>;

}  // namespace sidestream::fft
