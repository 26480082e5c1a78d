#include "sidestream/solvers/spectral/incompressible_flow.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sidestream/core/compact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "solvers/spectral/flow_parts.hpp"

namespace sidestream::solvers {

namespace {

constexpr std::uint64_t displacement_stream = 0x53484946;  // of random numbers, none of which serves anything else

}  // namespace

double EnergyBudget::error(double energy) const {
  const double scale = std::max(start, injected);
  return scale > 0.0 ? (energy - start - injected + dissipated) / scale : 0.0;
}

template <typename Real>
IncompressibleFlow<Real>::Parts::Parts(const comm::Communicator& its_comm, const WaveGrid& its_grid,
                                       FlowConfig its_config, core::Bill& its_bill)
    : comm(its_comm.duplicate()),
      grid(its_grid),
      config(std::move(its_config)),
      scheme(stages_of(config.scheme)),
      bill(its_bill),
      transform(comm, grid, {fields(), 5 + 3 * scalars()}),
      base(transform.modes(), comm.rank(), fields()),
      sum(transform.modes(), comm.rank(), fields()),
      products(transform.modes(), comm.rank(), 5 + 3 * scalars()),
      next(transform.modes(), comm.rank(), fields(), 0, std::as_writable_bytes(products.all())),
      sources(transform.modes(), comm.rank(), std::max(1, scalars())),
      real(transform.real(), comm.rank(), 5 + 3 * scalars()) {
  if (base.blocks() > 0) rows.emplace(grid, transform.waves(), base.box(0));
  if (config.forcing.kind != "none") band.emplace(grid, config, rows ? &*rows : nullptr);
  power_of_stage.resize(scheme.stages.size());
}

template <typename Real>
std::array<double, 3> IncompressibleFlow<Real>::Parts::displacement(std::int64_t step, std::size_t stage) const {
  std::array<double, 3> by{};
  if (grid.dealiasing() != Dealiasing::phase_shift) return by;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (grid.cells()[static_cast<int>(axis)] == 1) continue;
    const double random = core::uniform(config.seed, displacement_stream, static_cast<std::uint64_t>(step) * 3 + axis);
    by[axis] = (random + 0.5 * static_cast<double>(stage % 2)) * grid.geometry().cell_size(static_cast<int>(axis));
  }
  return by;
}

template <typename Real>
std::optional<Displacement> IncompressibleFlow<Real>::Parts::phases(std::int64_t step, std::size_t stage) const {
  if (!rows || grid.dealiasing() != Dealiasing::phase_shift) return std::nullopt;
  return Displacement(grid, transform.waves(), rows->box(), displacement(step, stage));
}

template <typename Real>
double IncompressibleFlow<Real>::Parts::fastest() const {
  core::LargestMagnitude rate;
  std::array<double, 3> over_dx{};
  for (int axis = 0; axis < 3; ++axis)
    if (grid.cells()[axis] > 1) over_dx[static_cast<std::size_t>(axis)] = 1.0 / grid.geometry().cell_size(axis);
  for (int b = 0; b < real.blocks(); ++b) {
    const auto view = real.view(b);
    const mesh::Box& box = real.box(b);
    core::for_each_row(box, [&](int k, int j) {
      find_fastest_flow<Real>(box.extent().x, over_dx,
                              {&view(0, k, j, box.lo.x), &view(1, k, j, box.lo.x), &view(2, k, j, box.lo.x)}, rate);
    });
  }
  return std::bit_cast<double>(comm.max(std::bit_cast<std::int64_t>(rate.value())));
}

// The last scalar first: its fluxes lie where no scalar does, and those of the velocity where scalars did.
template <typename Real>
void IncompressibleFlow<Real>::Parts::multiply() {
  for (int b = 0; b < real.blocks(); ++b) {
    const auto view = real.view(b);
    const mesh::Box& box = real.box(b);
    core::for_each_row(box, [&](int k, int j) {
      const auto at = [&](int c) { return &view(c, k, j, box.lo.x); };
      for (int s = scalars(); s-- > 0;)
        multiply_scalar<Real>(box.extent().x, {at(0), at(1), at(2)}, at(3 + s),
                              {at(5 + 3 * s), at(6 + 3 * s), at(7 + 3 * s)});
      multiply_velocities<Real>(box.extent().x, {at(0), at(1), at(2), at(3), at(4)});
    });
  }
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::set_time_step(double dt) {
  if (dt == decay_step || !rows) return;
  decay_step = dt;
  decays.clear();
  decays.emplace_back(grid, transform.waves(), rows->box(), config.viscosity, scheme.decay * dt);
  for (const PassiveScalar& scalar : config.scalars)
    decays.emplace_back(grid, transform.waves(), rows->box(), scalar.diffusivity, scheme.decay * dt);
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::begin_step(std::int64_t step) {
  if (const auto phase = phases(step, 0))
    core::for_each_row(rows->box(), [&](int k, int j) { displace_next(*phase, k, j); });
}

// Without the displacement of its grid.
template <typename Real>
void IncompressibleFlow<Real>::Parts::copy_velocity(std::int64_t step, std::size_t stage) {
  if (!carrying) carrying.emplace(transform.modes(), comm.rank(), 3);
  if (!rows) return;
  const std::optional<Displacement> here = phases(step, stage);
  const std::optional<Displacement> back = here ? std::optional(here->reversed()) : std::nullopt;
  core::for_each_row(rows->box(), [&](int k, int j) {
    for (int c = 0; c < 3; ++c) {
      std::copy_n(row_of(next, c, k, j), rows->box().extent().x, row_of(*carrying, c, k, j));
      if (back) back->apply(rows->kept(k, j), k, j, row_of(*carrying, c, k, j));
    }
  });
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::share_band() {
  if (band) band->share(comm);
}

// Velocities that a forcing sets itself.
template <typename Real>
void IncompressibleFlow<Real>::Parts::adjust_band(double dt) {
  if (!band || !band->forcing().adjust(band->velocity())) return;
  if (rows)
    core::for_each_row(rows->box(), [&](int k, int j) {
      for (const LocalBand::Place& place : band->local().in_row(k, j))
        for (int c = 0; c < 3; ++c) {
          const Wave<Real> value(band->velocity()[place.wave][static_cast<std::size_t>(c)]);
          base.view(0)(c, k, j, rows->box().lo.x + place.i) = value;
          next.view(0)(c, k, j, rows->box().lo.x + place.i) = value;
        }
    });
  if (rows) core::for_each_row(rows->box(), [&](int k, int j) { keep_sources(next, k, j); });
  const double before = sums.energy;
  measure();
  budget.injected += sums.energy - before;
  sums.power = (sums.energy - before) / dt;
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::measure() {
  StageSums totals(config.scalars.size(), 0);
  if (rows) core::for_each_row(rows->box(), [&](int k, int j) { add_to_sums(base, k, j, true, 0, totals); });
  take(totals, 0.0);
}

template <typename Real>
void IncompressibleFlow<Real>::Parts::take(const StageSums& totals, double dt) {
  std::vector<core::ExactSum> all = totals.exact();
  comm.sum(std::span(all));
  const std::size_t stages = totals.of_stage.size();
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const double dissipation = stage == 0 ? sums.dissipation : config.viscosity * all[stage].value();
    budget.dissipated += dt * scheme.stages[stage].sum * dissipation;
    budget.injected += dt * scheme.stages[stage].sum * power_of_stage[stage];
  }
  const core::ExactSum* last = &all[stages];
  sums.energy = 0.5 * last[0].value();
  sums.dissipation = config.viscosity * last[1].value();
  sums.power = stages > 0 ? power_of_stage[stages - 1] : 0.0;
  sums.scalars.clear();
  for (std::size_t s = 0; s < config.scalars.size(); ++s)
    sums.scalars.push_back({last[2 + 3 * s].value(), 2.0 * config.scalars[s].diffusivity * last[3 + 3 * s].value(),
                            -2.0 * last[4 + 3 * s].value()});
}

template <typename Real>
IncompressibleFlow<Real>::IncompressibleFlow(const comm::Communicator& comm, const WaveGrid& grid,
                                             const FlowConfig& config, core::Bill& bill)
    : parts_(std::make_unique<Parts>(comm, grid, config, bill)) {}
template <typename Real>
IncompressibleFlow<Real>::~IncompressibleFlow() = default;
template <typename Real>
IncompressibleFlow<Real>::IncompressibleFlow(IncompressibleFlow&&) noexcept = default;

template <typename Real>
const WaveGrid& IncompressibleFlow<Real>::grid() const {
  return parts_->grid;
}
template <typename Real>
const mesh::Layout& IncompressibleFlow<Real>::modes() const {
  return parts_->transform.modes();
}
template <typename Real>
double IncompressibleFlow<Real>::rotation() const {
  return parts_->config.rotation;
}
template <typename Real>
mesh::Int3 IncompressibleFlow<Real>::waves() const {
  return parts_->transform.waves();
}
template <typename Real>
const mesh::Layout& IncompressibleFlow<Real>::cells() const {
  return parts_->transform.real();
}
template <typename Real>
int IncompressibleFlow<Real>::stages() const {
  return static_cast<int>(parts_->scheme.stages.size());
}
template <typename Real>
const Spectrum<Real>& IncompressibleFlow<Real>::state() const {
  return parts_->base;
}
template <typename Real>
Spectrum<Real>& IncompressibleFlow<Real>::state() {
  return parts_->base;
}
template <typename Real>
const FlowSums& IncompressibleFlow<Real>::sums() const {
  return parts_->sums;
}
template <typename Real>
EnergyBudget& IncompressibleFlow<Real>::budget() {
  return parts_->budget;
}
template <typename Real>
const EnergyBudget& IncompressibleFlow<Real>::budget() const {
  return parts_->budget;
}

// A wave of n whole waves in N cells that is carried by c cells turns by 2 pi n c / N; along several axes the sum of
// cells counts.
template <typename Real>
double IncompressibleFlow<Real>::largest_courant() const {
  double turn = 0.0;
  for (int axis = 0; axis < 3; ++axis)
    if (parts_->grid.cells()[axis] > 1)
      turn = std::max(turn, 2.0 * std::numbers::pi * parts_->grid.highest()[axis] / parts_->grid.cells()[axis]);
  return parts_->scheme.courant / turn;
}

template <typename Real>
std::size_t IncompressibleFlow<Real>::size_bytes() const {
  const Parts& p = *parts_;
  return p.base.all().size_bytes() + p.sum.all().size_bytes() + p.products.all().size_bytes() +
         p.sources.all().size_bytes() + p.real.all().size_bytes();
}

template <typename Real>
void IncompressibleFlow<Real>::set(const mesh::Field<Real>& fields) {
  Parts& p = *parts_;
  core::require(fields.layout() == cells() && fields.components() == p.fields(),
                "a flow is set by fields on its cells, one for each component of its state");
  for (int b = 0; b < fields.blocks(); ++b)
    core::for_each_cell(fields.box(b), [&, from = fields.view(b), to = p.real.view(b)](int k, int j, int i) {
      for (int c = 0; c < p.fields(); ++c) to(c, k, j, i) = from(c, k, j, i);
    });
  p.transform.forward(p.real, p.products);
  const double norm = 1.0 / static_cast<double>(p.grid.geometry().domain.volume());
  for (std::size_t n = 0; n < p.base.all().size(); ++n)
    p.base.all()[n] = Wave<Real>(norm * Wave<double>(p.next.all()[n]));
  project();
}

template <typename Real>
void IncompressibleFlow<Real>::project() {
  Parts& p = *parts_;
  if (!p.rows) return;
  core::for_each_row(p.rows->box(), [&](int k, int j) {
    const ModeRow row = p.rows->row(k, j);
    remove_divergence<Real>(row, p.velocity_of(p.base, k, j));
    for (int c = 0; c < p.fields(); ++c)
      std::fill(p.row_of(p.base, c, k, j) + row.modes, p.row_of(p.base, c, k, j) + p.rows->box().extent().x,
                Wave<Real>{});
  });
}

template <typename Real>
double IncompressibleFlow<Real>::divergence() const {
  const Parts& p = *parts_;
  std::array<core::ExactSum, 2> sums;
  if (p.rows) {
    const auto u = p.base.view(0);
    const mesh::Box& box = p.rows->box();
    core::for_each_row(box, [&](int k, int j) {
      const ModeRow row = p.rows->row(k, j);
      for (int i = 0; i < row.modes; ++i) {
        const int x = box.lo.x + i;
        const double kx = row.kx[i], weight = mode_weight(x);
        const Wave<double> a = u(0, k, j, x), b = u(1, k, j, x), c = u(2, k, j, x);
        const double size = std::norm(a) + std::norm(b) + std::norm(c);
        sums[0].add(weight * std::norm(kx * a + row.ky * b + row.kz * c));
        sums[1].add(weight * size * (kx * kx + row.ky * row.ky + row.kz * row.kz));
      }
    });
  }
  p.comm.sum(std::span(sums));
  return sums[1].value() > 0.0 ? std::sqrt(sums[0].value() / sums[1].value()) : 0.0;
}

template <typename Real>
void IncompressibleFlow<Real>::begin(std::int64_t step, std::span<const double> forcing) {
  Parts& p = *parts_;
  std::ranges::copy(p.base.all(), p.next.all().begin());
  if (p.band) p.band->clear();
  if (p.rows)
    core::for_each_row(p.rows->box(), [&](int k, int j) {
      p.keep_sources(p.next, k, j);
      p.enter_band(k, j);
    });
  p.share_band();
  if (p.band) {
    if (forcing.empty())
      p.band->forcing().start(p.band->velocity());
    else
      p.band->forcing().restore(forcing);
  }
  p.measure();
  p.begin_step(step);
}

template <typename Real>
void IncompressibleFlow<Real>::set_coefficients(double viscosity, std::span<const PassiveScalar> scalars,
                                                double power) {
  Parts& p = *parts_;
  core::require(scalars.size() == p.config.scalars.size(), "a flow keeps its scalars");
  p.config.viscosity = viscosity;
  p.config.scalars.assign(scalars.begin(), scalars.end());
  std::ranges::fill(p.sources.all(), Wave<Real>{});
  if (p.rows) core::for_each_row(p.rows->box(), [&](int k, int j) { p.keep_sources(p.base, k, j); });
  p.config.forcing.power = power;
  if (p.band) p.band->forcing().set_power(power);
  p.decay_step = -1.0;
  p.measure();
}

template <typename Real>
std::vector<double> IncompressibleFlow<Real>::forcing_state() const {
  return parts_->band ? parts_->band->forcing().state() : std::vector<double>{};
}

template <typename Real>
double IncompressibleFlow<Real>::advance(std::int64_t step, const std::function<double(double)>& choose,
                                         const Carry& carry) {
  Parts& p = *parts_;
  double dt = 0.0;
  StageSums totals(p.config.scalars.size(), p.scheme.stages.size());
  for (std::size_t stage = 0; stage < p.scheme.stages.size(); ++stage) {
    if (carry) core::timed(p.bill, "tracers", [&] { p.copy_velocity(step, stage); });
    core::timed(p.bill, "transforms", [&] { p.transform.backward(p.next, p.real); });
    if (stage == 0) {
      dt = choose(p.fastest());
      p.set_time_step(dt);
      if (p.band) p.band->forcing().begin_step(step, dt);
    }
    if (carry) {
      const StageWeights& weights = p.scheme.stages[stage];
      const FlowStage now{dt * weights.next, dt * weights.sum, stage == 0, weights.kind == StageKind::last};
      core::timed(p.bill, "tracers", [&] { carry(now, *p.carrying); });
    }
    core::timed(p.bill, "products", [&] { p.multiply(); });
    core::timed(p.bill, "transforms", [&] { p.transform.forward(p.real, p.products); });
    core::timed(p.bill, "modes", [&] { p.finish_stage(step, stage, dt, totals); });
  }
  p.take(totals, dt);
  p.adjust_band(dt);
  p.begin_step(step + 1);
  return dt;
}

template class IncompressibleFlow<float>;
template class IncompressibleFlow<double>;

}  // namespace sidestream::solvers
