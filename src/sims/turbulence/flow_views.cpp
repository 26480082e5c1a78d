#include "sims/turbulence/flow_views.hpp"

#include <algorithm>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/fft/modes.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using solvers::Spectrum, solvers::Wave;

constexpr std::array axes{"x", "y", "z"};

// Calls `f(wavenumbers, k, j, i)` for every mode of a spectrum of `flow`.
template <typename Real, typename F>
void for_each_wave(const solvers::IncompressibleFlow<Real>& flow, const Spectrum<Real>& spectrum, F f) {
  for (int b = 0; b < spectrum.blocks(); ++b)
    fft::for_each_mode(spectrum.box(b), flow.waves(), [&](const fft::Mode& mode) {
      f(flow.grid().wavenumber(mode.wavenumber), mode.index.z, mode.index.y, mode.index.x);
    });
}

// As analyses take them.
Field<double> in_doubles(Field<double> field) {
  return field;
}
Field<double> in_doubles(const Field<float>& field) {
  Field<double> doubles(field.layout(), field.rank());
  std::ranges::copy(field.all(), doubles.all().begin());
  return doubles;
}

std::vector<mesh::Quantity> amplitudes_of(const std::vector<std::string>& names) {
  std::vector<mesh::Quantity> all;
  for (const std::string& name : names) {
    const auto parts = mesh::complex_parts(name);
    all.push_back({parts[0], "", "real part of the amplitudes of the waves of " + name, true});
    all.push_back({parts[1], "", "imaginary part of the amplitudes of the waves of " + name, true});
  }
  return all;
}

}  // namespace

std::vector<std::string> component_names(const std::vector<solvers::PassiveScalar>& scalars) {
  std::vector<std::string> names;
  for (const char* axis : axes) names.push_back(std::string("velocity_") + axis);
  for (const solvers::PassiveScalar& scalar : scalars) names.push_back(scalar.name);
  return names;
}

std::vector<mesh::Quantity> mode_quantities(const std::vector<solvers::PassiveScalar>& scalars) {
  return amplitudes_of(component_names(scalars));
}

std::vector<mesh::Quantity> two_component_quantities(const std::vector<solvers::PassiveScalar>& scalars) {
  std::vector<std::string> names(independent_components.begin(), independent_components.end());
  for (const solvers::PassiveScalar& scalar : scalars) names.push_back(scalar.name);
  return amplitudes_of(names);
}

std::vector<mesh::Quantity> space_quantities(const std::vector<solvers::PassiveScalar>& scalars) {
  std::vector<mesh::Quantity> all;
  for (const char* axis : axes) all.push_back({std::string("velocity_") + axis, "", "velocity"});
  for (const char* axis : axes) all.push_back({std::string("vorticity_") + axis, "", "curl of the velocity"});
  all.push_back({"pressure", "", "over the density; its mean is zero"});
  all.push_back({"vorticity_magnitude", "", "length of the curl of the velocity"});
  all.push_back({"q_criterion", "", "(|rotation|^2 - |strain|^2) / 2: positive in vortices"});
  for (const solvers::PassiveScalar& scalar : scalars)
    all.push_back({scalar.name, "", "passive scalar, beside its mean"});
  return all;
}

template <typename Real>
FlowViews<Real>::FlowViews(const comm::Communicator& comm, const solvers::IncompressibleFlow<Real>& flow,
                           const std::vector<solvers::PassiveScalar>& scalars, const mesh::Layout& blocks)
    : comm_(comm),
      flow_(flow),
      scalars_(scalars),
      blocks_(blocks),
      modes_(solvers::mode_planes(flow.grid().waves(), comm.size())),
      kept_(flow.grid()) {}

template <typename Real>
solvers::SpectralTransform<Real>& FlowViews<Real>::transform() const {
  if (!transform_) transform_ = std::make_unique<solvers::SpectralTransform<Real>>(comm_, flow_.grid(), blocks_);
  return *transform_;
}

template <typename Real>
Field<Real> FlowViews<Real>::transformed(Spectrum<Real>& spectrum) const {
  Field<Real> cells(blocks_, comm_.rank());
  transform().backward(spectrum, cells);
  return cells;
}

template <typename Real>
Spectrum<Real> FlowViews<Real>::component(int component) const {
  Spectrum<Real> one(flow_.modes(), comm_.rank());
  const Spectrum<Real>& state = flow_.state();
  for (int b = 0; b < state.blocks(); ++b)
    core::for_each_cell(state.box(b), [=, from = state.view(b), to = one.view(b)](int k, int j, int i) {
      to(k, j, i) = from(component, k, j, i);
    });
  return one;
}

// The first or second of the components that the other one follows from.
template <typename Real>
Spectrum<Real> FlowViews<Real>::independent(int number) const {
  Spectrum<Real> one(flow_.modes(), comm_.rank());
  for_each_wave(flow_, one, [&](const std::array<double, 3>& wave, int k, int j, int i) {
    const int left_out = solvers::dependent_axis(wave);
    one.view(0)(k, j, i) = flow_.state().view(0)(number < left_out ? number : number + 1, k, j, i);
  });
  return one;
}

template <typename Real>
Field<Real> FlowViews<Real>::component_in_space(int component) const {
  Spectrum<Real> one = this->component(component);
  return transformed(one);
}

// i k x u
template <typename Real>
Field<Real> FlowViews<Real>::vorticity(int axis) const {
  Spectrum<Real> curl(flow_.modes(), comm_.rank());
  const int next = (axis + 1) % 3, last = (axis + 2) % 3;
  for_each_wave(flow_, curl, [&](const std::array<double, 3>& wave, int k, int j, int i) {
    const auto u = flow_.state().view(0);
    const Wave<double> first = u(last, k, j, i), second = u(next, k, j, i);
    const Wave<double> turn =
        wave[static_cast<std::size_t>(next)] * first - wave[static_cast<std::size_t>(last)] * second;
    curl.view(0)(k, j, i) = Wave<Real>(Wave<double>(-turn.imag(), turn.real()));
  });
  return transformed(curl);
}

// What is aliased once by products of waves in the ellipsoid has the other sign on cells displaced by half a cell along
// each axis (Patterson & Orszag 1971), so that the mean of both sets of cells has none; other waves alias onto none.
template <typename Real>
std::vector<std::array<double, 3>> FlowViews<Real>::displacements() const {
  if (flow_.grid().dealiasing() != solvers::Dealiasing::phase_shift) return {{}};
  std::array<double, 3> half{};
  for (int axis = 0; axis < 3; ++axis)
    if (flow_.grid().cells()[axis] > 1)
      half[static_cast<std::size_t>(axis)] = 0.5 * flow_.grid().geometry().cell_size(axis);
  return {{}, half};
}

// lap p = -d_i d_j u_i u_j + 2 Omega omega_z, so p(k) = -(k_i k_j (u_i u_j)(k) + 2 Omega omega_z(k)) / k^2
template <typename Real>
Field<Real> FlowViews<Real>::pressure() const {
  Spectrum<Real> sum(flow_.modes(), comm_.rank());
  const std::vector<std::array<double, 3>> all = displacements();
  for (const std::array<double, 3>& by : all) add_advection(by, 1.0 / static_cast<double>(all.size()), sum);
  const auto u = flow_.state().view(0);
  for_each_wave(flow_, sum, [&](const std::array<double, 3>& k, int z, int y, int x) {
    Wave<double> value = sum.view(0)(z, y, x);
    const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
    const Wave<double> turn = k[0] * Wave<double>(u(1, z, y, x)) - k[1] * Wave<double>(u(0, z, y, x));
    value += 2.0 * flow_.rotation() * Wave<double>(-turn.imag(), turn.real());
    sum.view(0)(z, y, x) = square > 0.0 ? Wave<Real>(-value / square) : Wave<Real>{};
  });
  const solvers::WaveGrid& grid = flow_.grid();
  for (int b = 0; b < sum.blocks(); ++b)
    fft::for_each_mode(sum.box(b), flow_.waves(), [&](const fft::Mode& mode) {
      if (!grid.keeps(mode.wavenumber)) sum.view(b)(mode.index.z, mode.index.y, mode.index.x) = Wave<Real>{};
    });
  return transformed(sum);
}

template <typename Real>
void FlowViews<Real>::add_advection(const std::array<double, 3>& by, double weight, Spectrum<Real>& sum) const {
  const auto displaced = [&](Spectrum<Real>& spectrum, double sign) {
    if (by == std::array<double, 3>{}) return;
    for_each_wave(flow_, spectrum, [&](const std::array<double, 3>& k, int z, int y, int x) {
      const double angle = sign * (k[0] * by[0] + k[1] * by[1] + k[2] * by[2]);
      Wave<Real>& value = spectrum.view(0)(z, y, x);
      value = Wave<Real>(Wave<double>(value) * Wave<double>(core::cos(angle), core::sin(angle)));
    });
  };
  std::array<Field<Real>, 3> velocity;
  for (int axis = 0; axis < 3; ++axis) {
    Spectrum<Real> one = component(axis);
    displaced(one, 1.0);
    velocity[static_cast<std::size_t>(axis)] = transformed(one);
  }
  Spectrum<Real> term(flow_.modes(), comm_.rank());
  Field<Real> product(blocks_, comm_.rank());
  const double norm = weight / static_cast<double>(flow_.grid().geometry().domain.volume());
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = a; b < 3; ++b) {
      std::ranges::transform(velocity[a].all(), velocity[b].all(), product.all().begin(),
                             [](Real u, Real v) { return u * v; });
      transform().forward(product, term);
      displaced(term, -1.0);
      const double times = a == b ? norm : 2.0 * norm;
      for_each_wave(flow_, sum, [&](const std::array<double, 3>& k, int z, int y, int x) {
        Wave<Real>& value = sum.view(0)(z, y, x);
        value = Wave<Real>(Wave<double>(value) + times * k[a] * k[b] * Wave<double>(term.view(0)(z, y, x)));
      });
    }
}

template <typename Real>
void FlowViews<Real>::add_parts(const std::vector<mesh::Quantity>& parts, const Component& make, const Place& place,
                                mesh::Snapshot& snapshot) const {
  for (std::size_t n = 0; n < parts.size(); ++n)
    snapshot.add(parts[n], [this, make, place, n](int) {
      Spectrum<Real> planes(modes_, comm_.rank());
      solvers::transfer_modes(comm_, make(static_cast<int>(n / 2)), flow_.waves(), planes, flow_.grid().waves());
      const Spectrum<Real> placed = place ? place(planes) : std::move(planes);
      Field<Real> part(placed.layout(), comm_.rank());
      std::ranges::transform(placed.all(), part.all().begin(),
                             [n](const Wave<Real>& value) { return n % 2 == 0 ? value.real() : value.imag(); });
      return mesh::AnyField(std::make_shared<const Field<Real>>(std::move(part)));
    });
}

template <typename Real>
void FlowViews<Real>::add_modes(mesh::Snapshot& snapshot) const {
  add_parts(
      mode_quantities(scalars_), [this](int c) { return component(c); }, {}, snapshot);
}

template <typename Real>
mesh::Snapshot FlowViews<Real>::in_rows(std::map<std::string, double> numbers) const {
  mesh::Snapshot snapshot;
  snapshot.levels = {kept_.rows(comm_.size())};
  snapshot.geometry = {snapshot.levels.front().domain(), flow_.grid().geometry().length, {false, false, false}};
  snapshot.rank = comm_.rank();
  const mesh::Int3 cells = flow_.grid().cells();
  for (int axis = 0; axis < 3; ++axis) numbers[kept_cells[static_cast<std::size_t>(axis)]] = cells[axis];
  numbers[kept_phase_shift] = flow_.grid().dealiasing() == solvers::Dealiasing::phase_shift ? 1.0 : 0.0;
  snapshot.state_numbers = std::move(numbers);
  return snapshot;
}

template <typename Real>
mesh::Snapshot FlowViews<Real>::kept(const std::map<std::string, double>& numbers) const {
  mesh::Snapshot snapshot = in_rows(numbers);
  add_parts(
      mode_quantities(scalars_), [this](int c) { return component(c); },
      [this](const Spectrum<Real>& planes) { return kept_.in_rows(comm_, planes); }, snapshot);
  return snapshot;
}

template <typename Real>
mesh::Snapshot FlowViews<Real>::two_components(std::map<std::string, double> numbers) const {
  const Spectrum<Real>& state = flow_.state();
  core::ExactSum mean;
  for (int b = 0; b < state.blocks(); ++b)
    if (state.box(b).contains(mesh::Int3{0, 0, 0})) mean.add(state.view(b)(2, 0, 0, 0).real());
  numbers[mean_velocity_z] = comm_.sum(mean);
  mesh::Snapshot snapshot = in_rows(std::move(numbers));
  add_parts(
      two_component_quantities(scalars_), [this](int c) { return c < 2 ? independent(c) : component(c + 1); },
      [this](const Spectrum<Real>& planes) { return kept_.in_rows(comm_, planes); }, snapshot);
  return snapshot;
}

template <typename Real>
Field<double> FlowViews<Real>::of_velocity(FromVelocity compute) const {
  const Field<double> x = in_doubles(component_in_space(0)), y = in_doubles(component_in_space(1)),
                      z = in_doubles(component_in_space(2));
  return compute(comm_, {x, y, z}, flow_.grid().geometry());
}

template <typename Real>
mesh::Snapshot FlowViews<Real>::in_space() const {
  mesh::Snapshot snapshot;
  snapshot.geometry = flow_.grid().geometry();
  snapshot.rank = comm_.rank();
  snapshot.levels = {blocks_};
  const auto add = [&](const mesh::Quantity& quantity, auto make) {
    snapshot.add(quantity, [this, make](int) {
      auto cells = make(*this);
      return mesh::AnyField(std::make_shared<const decltype(cells)>(std::move(cells)));
    });
  };
  const std::vector<mesh::Quantity> all = space_quantities(scalars_);
  for (int axis = 0; axis < 3; ++axis) {
    const auto n = static_cast<std::size_t>(axis);
    add(all[n], [axis](const FlowViews& views) { return views.component_in_space(axis); });
    add(all[3 + n], [axis](const FlowViews& views) { return views.vorticity(axis); });
  }
  add(all[6], [](const FlowViews& views) { return views.pressure(); });
  add(all[7], [](const FlowViews& views) { return views.of_velocity(analysis::vorticity_magnitude); });
  add(all[8], [](const FlowViews& views) { return views.of_velocity(analysis::q_criterion); });
  for (std::size_t s = 0; s < scalars_.size(); ++s)
    add(all[9 + s], [s](const FlowViews& views) { return views.component_in_space(3 + static_cast<int>(s)); });
  return snapshot;
}

template class FlowViews<float>;
template class FlowViews<double>;

}  // namespace sidestream::sims
