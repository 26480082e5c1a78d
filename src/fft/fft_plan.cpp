#include "sidestream/fft/fft_plan.hpp"

#include <algorithm>
#include <optional>

#include "fft/lines.hpp"
#include "fft/process_grid.hpp"
#include "sidestream/comm/progress.hpp"

namespace sidestream::fft {

using mesh::Box;
using mesh::Field;
using mesh::FieldView;
using RealView = FieldView<const double>;
using mesh::Int3;
using mesh::Layout;
using redistribute::Redistribution;
using Complex = std::complex<double>;
using Spectrum = Field<Complex>;

namespace {

constexpr auto strategy = redistribute::Strategy::automatic;

// A multiple of what lines take of the cache at a time.
constexpr std::ptrdiff_t columns_in_piece = 4096;

bool have_equal_boxes(const Layout& a, const Layout& b) {
  return std::ranges::equal(a.boxes(), b.boxes()) && std::ranges::equal(a.owners(), b.owners());
}

Int3 cells_of(const Layout& real) {
  core::require(real.size() > 0 && real.domain().lo == Int3{},
                "a Fourier transform takes a layout whose domain begins at cell 0");
  std::int64_t covered = 0;
  for (const Box& box : real.boxes()) covered += box.volume();
  core::require(covered == real.domain().volume(),
                "a Fourier transform takes a layout that covers its whole domain once");
  return real.domain().hi;
}

}  // namespace

struct FftPlan::Plan {
  comm::Communicator comm;
  int rank;
  Int3 cells;
  ProcessGrid grid;
  Layout real, real_x, spectral_x, spectral_y, spectral_z;
  RealLines x;
  ComplexLines y, z;
  std::optional<Redistribution> real_to_x, x_to_y, y_to_z, z_to_y, y_to_x, x_to_real;
  // Where the lines along x and y are worked on, unless that is the caller's field.
  Spectrum x_work, y_work;

  Plan(const comm::Communicator& its_comm, const Layout& layout, Decomposition decomposition, std::int32_t ghost);

  bool x_is_real() const { return have_equal_boxes(real, real_x); }
  bool y_is_x() const { return have_equal_boxes(spectral_x, spectral_y); }
  bool z_is_y() const { return have_equal_boxes(spectral_y, spectral_z); }

  Spectrum& y_field(Spectrum& z_field) { return y_to_z ? y_work : z_field; }
  Spectrum& x_field(Spectrum& z_field) { return x_to_y ? x_work : y_field(z_field); }
  // The lines along x in the memory of their modes, which take a little more: a line begins before its modes do, so
  // forward from the last line to the first, and backward from the first to the last, none is written over too early.
  Field<double> rows_in(Spectrum& on_x) const { return {real_x, rank, 1, 0, std::as_writable_bytes(on_x.all())}; }

  void forward(const RealView& input, Spectrum& spectrum);
  void backward(Spectrum& spectrum, const FieldView<double>& output);

 private:
  void plan_redistributions(std::int32_t ghost);
  void forward_rows(const RealView& from, Spectrum& to, int k);
  void backward_rows(const Spectrum& from, const FieldView<double>& to, int k);
  void transform_plane(Direction direction, Spectrum& field, int k);
  void transform_columns(Direction direction, Spectrum& field);
};

FftPlan::Plan::Plan(const comm::Communicator& its_comm, const Layout& layout, Decomposition decomposition,
                    std::int32_t ghost)
    : comm(its_comm.duplicate()),
      rank(comm.rank()),
      cells(cells_of(layout)),
      grid(choose_process_grid(cells, comm.size(), decomposition)),
      real(layout),
      real_x(split(mesh::domain_of(cells), {1, grid.rows, grid.columns}, real.periodic())),
      x(cells.x),
      y(cells.y),
      z(cells.z) {
  const Box modes = mesh::domain_of({cells.x / 2 + 1, cells.y, cells.z});
  spectral_x = split(modes, {1, grid.rows, grid.columns});
  spectral_y = split(modes, {grid.rows, 1, grid.columns});
  spectral_z = split(modes, {grid.rows, grid.columns, 1});
  plan_redistributions(ghost);
}

void FftPlan::Plan::plan_redistributions(std::int32_t ghost) {
  if (!x_is_real()) real_to_x.emplace(comm, real, real_x, strategy);
  if (!y_is_x()) {
    x_to_y.emplace(comm, spectral_x, spectral_y, strategy);
    y_to_x.emplace(comm, spectral_y, spectral_x, strategy);
    x_work = Spectrum(spectral_x, rank);
  }
  if (!z_is_y()) {
    y_to_z.emplace(comm, spectral_y, spectral_z, strategy);
    z_to_y.emplace(comm, spectral_z, spectral_y, strategy);
    y_work = Spectrum(spectral_y, rank);
  }
  if (!x_is_real() || ghost > 0) {
    const redistribute::Coverage with_ghosts{.source_ghost = 0, .destination_ghost = ghost, .skip_own = x_is_real()};
    x_to_real.emplace(comm, real_x, real, strategy, with_ghosts);
  }
}

// Lines along x of plane k, of a rank's one box.
void FftPlan::Plan::forward_rows(const RealView& from, Spectrum& to, int k) {
  const Box& box = to.box(0);
  const auto in = from.view(0);
  const auto out = to.view(0);
  x.forward(&in(k, box.lo.y, 0), in.stride_y(), &out(k, box.lo.y, 0), out.stride_y(), box.extent().y);
}

void FftPlan::Plan::backward_rows(const Spectrum& from, const FieldView<double>& to, int k) {
  const Box& box = from.box(0);
  const auto in = from.view(0);
  const auto out = to.view(0);
  x.backward(&in(k, box.lo.y, 0), in.stride_y(), &out(k, box.lo.y, 0), out.stride_y(), box.extent().y);
}

// Lines along y of plane k.
void FftPlan::Plan::transform_plane(Direction direction, Spectrum& field, int k) {
  comm::progress(comm);
  const Box& box = field.box(0);
  const auto view = field.view(0);
  y.apply(direction, &view(k, 0, box.lo.x), view.stride_y(), view.stride_y());
}

// Lines along z: neighbours along x and y are neighbours in memory.
void FftPlan::Plan::transform_columns(Direction direction, Spectrum& field) {
  if (field.blocks() == 0) return;
  const Int3 extent = field.box(0).extent();
  const std::ptrdiff_t columns = std::ptrdiff_t{extent.x} * extent.y;
  for (std::ptrdiff_t first = 0; first < columns; first += columns_in_piece) {
    comm::progress(comm);
    z.apply(direction, field.block(0).data() + first, columns, std::min(columns_in_piece, columns - first));
  }
}

void FftPlan::Plan::forward(const RealView& input, Spectrum& spectrum) {
  Spectrum& on_x = x_field(spectrum);
  Spectrum& on_y = y_field(spectrum);
  Field<double> own_rows;
  if (real_to_x) {
    own_rows = rows_in(on_x);
    real_to_x->apply(input, own_rows);
  }
  const RealView rows = real_to_x ? RealView(own_rows) : input;
  // With slabs a plane goes through both x and y while it is in the cache.
  for (int b = 0; b < on_x.blocks(); ++b)
    for (int k = on_x.box(b).hi.z; k-- > on_x.box(b).lo.z;) {
      forward_rows(rows, on_x, k);
      if (!x_to_y) transform_plane(Direction::forward, on_y, k);
    }
  if (x_to_y) {
    x_to_y->apply(on_x, on_y);
    for (int b = 0; b < on_y.blocks(); ++b)
      for (int k = on_y.box(b).lo.z; k < on_y.box(b).hi.z; ++k) transform_plane(Direction::forward, on_y, k);
  }
  if (y_to_z) y_to_z->apply(on_y, spectrum);
  transform_columns(Direction::forward, spectrum);
}

void FftPlan::Plan::backward(Spectrum& spectrum, const FieldView<double>& output) {
  Spectrum& on_x = x_field(spectrum);
  Spectrum& on_y = y_field(spectrum);
  Field<double> own_rows;
  if (real_to_x) own_rows = rows_in(on_x);
  const FieldView<double> rows = real_to_x ? FieldView<double>(own_rows) : output;
  transform_columns(Direction::backward, spectrum);
  if (z_to_y) z_to_y->apply(spectrum, on_y);
  if (y_to_x) {
    for (int b = 0; b < on_y.blocks(); ++b)
      for (int k = on_y.box(b).lo.z; k < on_y.box(b).hi.z; ++k) transform_plane(Direction::backward, on_y, k);
    y_to_x->apply(on_y, on_x);
  }
  for (int b = 0; b < on_x.blocks(); ++b)
    for (int k = on_x.box(b).lo.z; k < on_x.box(b).hi.z; ++k) {
      if (!y_to_x) transform_plane(Direction::backward, on_y, k);
      backward_rows(on_x, rows, k);
    }
  if (x_to_real) x_to_real->apply(rows, output);
}

FftPlan::FftPlan(const comm::Communicator& comm, const Layout& real, Decomposition decomposition, std::int32_t ghost)
    : plan_(std::make_unique<Plan>(comm, real, decomposition, ghost)) {}
FftPlan::~FftPlan() = default;
FftPlan::FftPlan(FftPlan&&) noexcept = default;
FftPlan& FftPlan::operator=(FftPlan&&) noexcept = default;

const Layout& FftPlan::spectral() const {
  return plan_->spectral_z;
}
const Layout& FftPlan::real() const {
  return plan_->real;
}
Int3 FftPlan::cells() const {
  return plan_->cells;
}

std::size_t FftPlan::size_bytes() const {
  std::size_t bytes = plan_->x_work.all().size_bytes() + plan_->y_work.all().size_bytes();
  for (const auto* redistribution :
       {&plan_->real_to_x, &plan_->x_to_y, &plan_->y_to_z, &plan_->z_to_y, &plan_->y_to_x, &plan_->x_to_real})
    if (*redistribution) bytes += (*redistribution)->size_bytes();
  return bytes;
}

void FftPlan::forward(const RealView& input, Spectrum& spectrum) const {
  core::require(input.components() == 1 && spectrum.components() == 1 && spectrum.ghost() == 0,
                "a Fourier transform takes fields of one component and a spectrum without ghost cells");
  plan_->forward(input, spectrum);
}

void FftPlan::backward(Spectrum& spectrum, const FieldView<double>& output) const {
  core::require(output.components() == 1 && spectrum.components() == 1 && spectrum.ghost() == 0,
                "a Fourier transform takes fields of one component and a spectrum without ghost cells");
  plan_->backward(spectrum, output);
}

}  // namespace sidestream::fft
