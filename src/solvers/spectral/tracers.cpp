#include "sidestream/solvers/spectral/tracers.hpp"

#include <algorithm>
#include <numbers>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "solvers/spectral/tracer_rows.hpp"

namespace sidestream::solvers {

namespace {

constexpr std::uint64_t place_stream = 0x54524143;  // of random numbers, none of which serves anything else

// A cubic B-spline at its nodes is 1/6, 4/6, 1/6: a wave that turns by an angle from cell to cell has (2 + cos) / 3 of
// its coefficients there.
std::vector<double> spline_factors(int waves, int cells) {
  std::vector<double> factors;
  for (int index = 0; index < waves; ++index) {
    const double turn = 2.0 * std::numbers::pi * fft::wavenumber(index, waves) / cells;
    factors.push_back(cells == 1 ? 1.0 : 3.0 / (2.0 + core::cos(turn)));
  }
  return factors;
}

std::array<std::vector<double>, 3> spline_factors(mesh::Int3 waves, mesh::Int3 cells) {
  return {spline_factors(waves.x, cells.x), spline_factors(waves.y, cells.y), spline_factors(waves.z, cells.z)};
}

SplineAxis axis_of(const mesh::Geometry& geometry, const mesh::Box& box, int axis) {
  constexpr std::int32_t ghost = Tracers<double>::ghost;
  const std::int32_t cells = geometry.domain.extent()[axis];
  return {cells / geometry.length[static_cast<std::size_t>(axis)], box.lo[axis] - ghost + 1, box.hi[axis] + ghost - 3,
          cells == 1};
}

}  // namespace

template <typename Real>
Tracers<Real>::Tracers(const comm::Communicator& comm, const IncompressibleFlow<Real>& flow)
    : comm_(comm),
      flow_(flow),
      transform_(comm, flow.grid(), flow.cells(), {3, 1}),
      ghosts_(comm, flow.cells(), mesh::ghosts_of_active_axes(flow.cells().domain(), ghost)),
      factors_(spline_factors(flow.waves(), flow.grid().cells())),
      spline_(flow.cells(), comm.rank(), 3, mesh::ghosts_of_active_axes(flow.cells().domain(), ghost)) {
  core::require(spline_.blocks() <= 1, "a rank has one box of the cells of a flow");
}

template <typename Real>
void Tracers<Real>::scatter(std::int64_t count, std::uint64_t seed) {
  const std::int64_t ranks = comm_.size(),
                     first = count / ranks * comm_.rank() + std::min(count % ranks, std::int64_t{comm_.rank()});
  const std::int64_t own = count / ranks + (comm_.rank() < count % ranks ? 1 : 0);
  mesh::Particles particles;
  particles.resize(static_cast<std::size_t>(own));
  for (std::size_t p = 0; p < particles.size(); ++p) {
    particles.id[p] = first + static_cast<std::int64_t>(p);
    for (std::size_t axis = 0; axis < 3; ++axis)
      particles.position[axis][p] =
          core::uniform(seed, place_stream, 3 * static_cast<std::uint64_t>(particles.id[p]) + axis) *
          flow_.grid().geometry().length[axis];
  }
  add(std::move(particles));
}

template <typename Real>
void Tracers<Real>::add(mesh::Particles particles) {
  redistribute::migrate(comm_, flow_.cells(), flow_.grid().geometry(), particles);
  sets_.push_back({.particles = std::move(particles), .start = {}, .sum = {}, .velocity = {}});
}

template <typename Real>
void Tracers<Real>::make_spline(Spectrum<Real>& velocity) {
  for (int b = 0; b < velocity.blocks(); ++b)
    core::for_each_cell(velocity.box(b), [&, u = velocity.view(b)](int k, int j, int i) {
      const auto at = [](int n) { return static_cast<std::size_t>(n); };
      const double factor = factors_[0][at(i)] * (factors_[1][at(j)] * factors_[2][at(k)]);
      for (int c = 0; c < 3; ++c) u(c, k, j, i) = Wave<Real>(factor * Wave<double>(u(c, k, j, i)));
    });
  transform_.backward(velocity, spline_);
  ghosts_.fill(spline_);
}

template <typename Real>
bool Tracers<Real>::interpolate(const mesh::Particles& particles, std::array<std::vector<double>, 3>& velocity) const {
  for (auto& component : velocity) component.resize(particles.size());
  if (particles.size() == 0) return true;
  const mesh::Geometry& geometry = flow_.grid().geometry();
  const auto view = spline_.view(0);
  const mesh::Box& box = spline_.box(0);
  return interpolate_spline<Real>(
      {view.origin(),
       view.stride_y(),
       view.stride_z(),
       view.stride_component(),
       {axis_of(geometry, box, 0), axis_of(geometry, box, 1), axis_of(geometry, box, 2)}},
      particles.size(), {particles.position[0].data(), particles.position[1].data(), particles.position[2].data()},
      {velocity[0].data(), velocity[1].data(), velocity[2].data()});
}

template <typename Real>
void Tracers<Real>::advance(const FlowStage& stage, Spectrum<Real>& velocity) {
  make_spline(velocity);
  for (Set& set : sets_) {
    if (stage.is_first) {
      set.start = set.particles.position;
      for (auto& sum : set.sum) sum.assign(set.particles.size(), 0.0);
    }
    is_within_reach_ = interpolate(set.particles, set.velocity) && is_within_reach_;
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t p = 0; p < set.particles.size(); ++p) {
        const double u = set.velocity[axis][p];
        set.sum[axis][p] += stage.sum * u;
        set.particles.position[axis][p] = set.start[axis][p] + (stage.is_last ? set.sum[axis][p] : stage.next * u);
      }
  }
  if (!stage.is_last) return;
  comm_.agree_on([&] {
    if (!is_within_reach_)
      throw core::Error("a tracer crossed more cells in a step than tracers may", "",
                        "lower `turbulence.courant` or `turbulence.dt`");
  });
  for (Set& set : sets_) redistribute::migrate(comm_, flow_.cells(), flow_.grid().geometry(), set.particles);
}

template <typename Real>
mesh::Particles Tracers<Real>::with_velocities(int n) {
  Spectrum<Real> velocity(flow_.modes(), comm_.rank(), 3);
  for (int b = 0; b < velocity.blocks(); ++b)
    core::for_each_cell(velocity.box(b), [from = flow_.state().view(b), to = velocity.view(b)](int k, int j, int i) {
      for (int c = 0; c < 3; ++c) to(c, k, j, i) = from(c, k, j, i);
    });
  make_spline(velocity);
  mesh::Particles particles = set(n);
  std::array<std::vector<double>, 3> velocities;
  interpolate(particles, velocities);
  for (std::size_t axis = 0; axis < 3; ++axis)
    particles.attributes.push_back({tracer_velocities[axis], "", std::move(velocities[axis])});
  return particles;
}

template class Tracers<float>;
template class Tracers<double>;

}  // namespace sidestream::solvers
