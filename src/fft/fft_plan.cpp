#include "sidestream/fft/fft_plan.hpp"

#include <algorithm>

#include "fft/memory_ranges.hpp"
#include "fft/pencil_lines.hpp"
#include "fft/threads/driver.hpp"
#include "fft/threads/team.hpp"
#include "fft/threads/threads.hpp"
#include "sidestream/comm/progress.hpp"
#include "sidestream/fft/tuning.hpp"

namespace sidestream::fft {

using mesh::FieldView;
using mesh::Int3;
using mesh::Layout;
using redistribute::Redistribution;

namespace {

// A multiple of what lines take of the cache at a time.
constexpr std::ptrdiff_t columns_in_piece = 1024;

// The times of one of so many threads at once.
void add(const FftTimes& one, std::size_t threads, FftTimes& all) {
  const double share = 1.0 / static_cast<double>(threads);
  all.transform_s += share * one.transform_s;
  all.moves.pack_s += share * one.moves.pack_s;
  all.moves.exchange_s += share * one.moves.exchange_s;
  all.moves.unpack_s += share * one.moves.unpack_s;
}

}  // namespace

template <typename Cell>
struct FftPlan<Cell>::Plan {
  static constexpr bool is_real = !std::is_same_v<Cell, Mode>;
  using Lines = PencilLines<Cell>;
  using Modes = FieldView<Mode>;

  comm::Communicator comm;
  FftOptions options;
  Pencils pencils;
  Slices<Cell> slices;
  // Full lines along z, where the caller's field does not hold them, and their modes in the same memory.
  bool has_own_z;
  std::vector<Mode> z_memory;
  Modes own_z_cells, own_z_modes;
  std::optional<Redistribution> ghost_fill, z_to_wanted, wanted_to_z;
  std::vector<FftTimes> times_of_drivers;  // where there are several
  SerializedCalls mpi;
  std::vector<Driver<Cell>> drivers;
  Traveller<Cell> travelling_modes;  // between z and where they are wanted
  std::vector<Lines> lines;          // of each thread
  bool has_windows_forward = false, has_windows_backward = false;
  Team team;

  Plan(const comm::Communicator& its_comm, const Layout& given, const FftOptions& its_options);

  void require_memory(const FieldView<const Cell>& cells, const Modes& modes) const;
  void forward(const FieldView<const Cell>& input, const Modes& spectrum);
  void backward(const Modes& spectrum, const FieldView<Cell>& output);

 private:
  // Lines along z wait for all slices where other threads have some of them, or theirs may be the caller's cells.
  bool do_columns_wait() const { return options.in_place || drivers.size() > 1; }
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
  static auto timed_lines(FftTimes* times) {
    return redistribute::Timed(times ? &times->transform_s : nullptr, [times] { return times->moves.total_s(); });
  }

  template <typename Stage>
  void drive(bool& has_windows, Stage stage);
  bool forward_stage(Driver<Cell>& driver, Traveller<Cell>& traveller, const FieldView<const Cell>& input,
                     const Modes& spectrum);
  bool backward_stage(Driver<Cell>& driver, Traveller<Cell>& traveller, const Modes& spectrum,
                      const FieldView<Cell>& output);
  void end_group(const Modes& spectrum, int group);
  void begin_group(const Modes& spectrum, int group);
  void fetch_modes(const Modes& spectrum, int group);
  void let_travel(const Driver<Cell>& driver);

  template <typename F>
  void for_each_plane(const Driver<Cell>& driver, const Modes& modes, F f);
  template <typename F>
  void for_each_columns(const Modes& cells, const Modes& modes, F f);
};

template <typename Cell>
FftPlan<Cell>::Plan::Plan(const comm::Communicator& its_comm, const Layout& given, const FftOptions& its_options)
    : comm(its_comm.duplicate()),
      options(its_options),
      pencils(pencils_of(given, comm.size(), is_real, options)),
      slices(comm, pencils, options),
      has_own_z(!pencils.keeps_all_of_z() || !pencils.is_wanted_in_pencils() ||
                (options.in_place && !pencils.are_planes_whole())),
      mpi(options.thread_mode == ThreadMode::serialized && options.threads > 1),
      travelling_modes(mpi, options.times ? &options.times->moves : nullptr),
      lines(static_cast<std::size_t>(options.threads), Lines(pencils)),
      team(options.threads) {
  options.grid = pencils.grid;
  const int number = std::min(drivers_of(options), slices.places());
  options.depth = (slices.places() + number - 1) / number;
  times_of_drivers.resize(static_cast<std::size_t>(number));
  for (int n = 0; n < number; ++n) {
    FftTimes* const times = number == 1 ? options.times : &times_of_drivers[static_cast<std::size_t>(n)];
    drivers.emplace_back(slices.all(), slices.places(), n, number, mpi, options.times ? times : nullptr);
  }
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

// Calls f(lines, component, k) for the planes of a slice: on the thread that drives it, or on all where there is no
// other one.
template <typename Cell>
template <typename F>
void FftPlan<Cell>::Plan::for_each_plane(const Driver<Cell>& driver, const Modes& modes, F f) {
  if (modes.blocks() == 0) return;
  const auto timed = timed_lines(driver.times());
  const mesh::Box& box = modes.box(0);
  const int planes = box.extent().z;
  const auto work = [&](Lines& own, int n) { f(own, n / planes, box.lo.z + n % planes); };
  const auto number = static_cast<std::size_t>(&driver - drivers.data());
  if (drivers.size() > 1) {
    for (int n = 0; n < planes * modes.components(); ++n) {
      let_travel(driver);
      work(lines[number], n);
    }
    return;
  }
  team.share(planes * modes.components(), [&](int thread, int n) {
    if (thread == 0) let_travel(driver);
    work(lines[static_cast<std::size_t>(thread)], n);
  });
}

// Lines along z, on all threads: neighbours along x are neighbours in memory, and so are rows that follow on each
// other. Calls f(lines, cells, their stride, modes, their stride, columns).
template <typename Cell>
template <typename F>
void FftPlan<Cell>::Plan::for_each_columns(const Modes& cells, const Modes& modes, F f) {
  if (cells.blocks() == 0) return;
  const auto timed = timed_lines(options.times);
  const mesh::Box& box = cells.box(0);
  const auto on_cells = cells.view(0), on_modes = modes.view(0);
  const Int3 extent = box.extent();
  const bool follow = on_cells.stride_y() == extent.x && on_modes.stride_y() == extent.x;
  const int rows = follow ? 1 : extent.y;
  const std::ptrdiff_t columns = follow ? std::ptrdiff_t{extent.x} * extent.y : extent.x;
  const auto pieces = static_cast<int>((columns + columns_in_piece - 1) / columns_in_piece);
  team.share(cells.components() * rows * pieces, [&](int thread, int n) {
    if (thread == 0) let_travel(drivers.front());
    const int component = n / pieces / rows, j = box.lo.y + n / pieces % rows;
    const std::ptrdiff_t first = n % pieces * columns_in_piece;
    f(lines[static_cast<std::size_t>(thread)], &on_cells(component, 0, j, box.lo.x) + first, on_cells.stride_z(),
      &on_modes(component, 0, j, box.lo.x) + first, on_modes.stride_z(), std::min(columns_in_piece, columns - first));
  });
}

// Between two pieces of work: MPI, and whoever else has something under way, may go on.
template <typename Cell>
void FftPlan<Cell>::Plan::let_travel(const Driver<Cell>& driver) {
  mpi.take_if_free([&] {
    if (&driver == &drivers.front()) {
      comm::progress(comm);
      travelling_modes.let_travel();
    }
    driver.let_travel();
  });
}

// Has all slices go their way, each on the thread that drives it; the first time all on this one, in an order that is
// that of all ranks, because some strategies make windows then.
template <typename Cell>
template <typename Stage>
void FftPlan<Cell>::Plan::drive(bool& has_windows, Stage stage) {
  const auto send = [&](Driver<Cell>& driver) {
    driver.send_all([&](Traveller<Cell>& traveller) { return stage(driver, traveller); });
  };
  std::ranges::fill(times_of_drivers, FftTimes{});
  const bool is_at_once = drivers.size() > 1 && has_windows;
  if (is_at_once)
    team.run([&](int thread) {
      if (const auto n = static_cast<std::size_t>(thread); n < drivers.size()) send(drivers[n]);
    });
  else
    std::ranges::for_each(drivers, send);
  has_windows = true;
  if (options.times && drivers.size() > 1)
    for (const FftTimes& one : times_of_drivers) add(one, is_at_once ? drivers.size() : 1, *options.times);
}

template <typename Cell>
bool FftPlan<Cell>::Plan::forward_stage(Driver<Cell>& driver, Traveller<Cell>& traveller,
                                        const FieldView<const Cell>& input, const Modes& spectrum) {
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
      for_each_plane(driver, slice.x_modes, [&](Lines& own, int component, int k) {
        own.forward_rows(cells, slice.x_modes, component, k);
        if (!slice.x_to_y) own.forward_plane(slice.y_cells, y_modes, component, k);
      });
      if (slice.x_to_y) traveller.leave(*slice.x_to_y, slice.x_modes, slice.y_cells);
      return true;
    case 2:
      if (slice.x_to_y)
        for_each_plane(driver, slice.y_cells, [&](Lines& own, int component, int k) {
          own.forward_plane(slice.y_cells, y_modes, component, k);
        });
      if (slice.y_to_z) traveller.leave(*slice.y_to_z, slice.y_modes, along_z);
      return true;
    default:
      if (slice.ends_group && !do_columns_wait()) end_group(spectrum, slice.group);
      return false;
  }
}

// The lines along z of a group, and their modes on their way to where they are wanted.
template <typename Cell>
void FftPlan<Cell>::Plan::end_group(const Modes& spectrum, int group) {
  const Modes wanted = of_group(spectrum, group), modes = z_modes(wanted, group);
  for_each_columns(z_cells(wanted, group), modes,
                   [](Lines& own, Mode* cells, auto cells_stride, Mode* to, auto to_stride, std::ptrdiff_t columns) {
                     own.columns().forward(cells, cells_stride, to, to_stride, columns);
                   });
  travelling_modes.arrive();
  if (z_to_wanted) travelling_modes.leave(*z_to_wanted, modes, wanted);
}

template <typename Cell>
void FftPlan<Cell>::Plan::forward(const FieldView<const Cell>& input, const Modes& spectrum) {
  travelling_modes.begin(nullptr);
  drive(has_windows_forward, [&](Driver<Cell>& driver, Traveller<Cell>& traveller) {
    return forward_stage(driver, traveller, input, spectrum);
  });
  for (int group = 0; do_columns_wait() && group < slices.groups(); ++group) end_group(spectrum, group);
  travelling_modes.arrive();
}

template <typename Cell>
void FftPlan<Cell>::Plan::fetch_modes(const Modes& spectrum, int group) {
  if (!wanted_to_z || group == slices.groups()) return;
  const Modes wanted = of_group(spectrum, group);
  travelling_modes.leave(*wanted_to_z, wanted, z_modes(wanted, group));
}

// Takes the modes of a group and transforms its lines along z, while those of the next one come.
template <typename Cell>
void FftPlan<Cell>::Plan::begin_group(const Modes& spectrum, int group) {
  const Modes wanted = of_group(spectrum, group);
  travelling_modes.arrive();
  fetch_modes(spectrum, group + 1);
  for_each_columns(
      z_cells(wanted, group), z_modes(wanted, group),
      [](Lines& own, Mode* cells, auto cells_stride, Mode* from, auto from_stride, std::ptrdiff_t columns) {
        own.columns().backward(from, from_stride, cells, cells_stride, columns);
      });
}

template <typename Cell>
bool FftPlan<Cell>::Plan::backward_stage(Driver<Cell>& driver, Traveller<Cell>& traveller, const Modes& spectrum,
                                         const FieldView<Cell>& output) {
  const Slice<Cell>& slice = traveller.slice();
  const FieldView<Cell> given = of_group(output, slice.group);
  const FieldView<Cell>& cells = slice.x_to_given ? slice.x_cells : given;
  const Modes wanted = of_group(spectrum, slice.group), along_z = z_cells(wanted, slice.group);
  const Modes& y_modes = slice.z_to_y ? slice.y_modes : along_z;
  switch (traveller.stage++) {
    case 0:
      if (slice.begins_group && !do_columns_wait()) begin_group(spectrum, slice.group);
      if (slice.z_to_y) traveller.leave(*slice.z_to_y, along_z, slice.y_modes);
      return true;
    case 1:
      if (!slice.y_to_x) return true;
      for_each_plane(driver, slice.y_cells, [&](Lines& own, int component, int k) {
        own.backward_plane(y_modes, slice.y_cells, component, k);
      });
      traveller.leave(*slice.y_to_x, slice.y_cells, slice.x_modes);
      return true;
    case 2:
      for_each_plane(driver, slice.x_modes, [&](Lines& own, int component, int k) {
        if (!slice.y_to_x) own.backward_plane(y_modes, slice.y_cells, component, k);
        own.backward_rows(slice.x_modes, cells, component, k);
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
  for (int group = 0; do_columns_wait() && group < slices.groups(); ++group) begin_group(spectrum, group);
  drive(has_windows_backward, [&](Driver<Cell>& driver, Traveller<Cell>& traveller) {
    return backward_stage(driver, traveller, spectrum, output);
  });
  if (ghost_fill) ghost_fill->apply(output, output);
}

template <typename Cell>
void FftPlan<Cell>::Plan::require_memory(const FieldView<const Cell>& cells, const Modes& modes) const {
  if (!overlap(cells, modes)) return;
  if (!options.in_place)
    throw core::Error("cells and modes of a transform lie in the same memory", "",
                      "give them memory of their own, or make the plan with `in_place`");
  if (!has_own_z && !have_same_planes(cells, modes))
    throw core::Error("in place on one rank, each plane of modes begins where its plane of cells does", "",
                      "let rows of cells have room for their modes, as those of an InPlaceField");
}

template <typename Cell>
FftPlan<Cell>::FftPlan(const comm::Communicator& comm, const Layout& cells, const FftOptions& options) {
  require_threads(options, comm::thread_level());
  plan_ =
      std::make_unique<Plan>(comm, cells, is_to_be_tuned(comm, options) ? tuned<Cell>(comm, cells, options) : options);
}
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
  plan_->require_memory(input, spectrum);
  plan_->forward(input, spectrum);
}

template <typename Cell>
void FftPlan<Cell>::backward(const FieldView<Mode>& spectrum, const FieldView<Cell>& output) const {
  require_fit(spectrum, spectral(), plan_->comm.rank(), plan_->options.components);
  require_fit(output, real(), plan_->comm.rank(), plan_->options.components);
  plan_->require_memory(output, spectrum);
  plan_->backward(spectrum, output);
}

template class FftPlan<double>;
template class FftPlan<float>;
template class FftPlan<std::complex<double>>;
template class FftPlan<std::complex<float>>;

}  // namespace sidestream::fft
