#include "sims/turbulence/flow_views.hpp"

#include <algorithm>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/fft/modes.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using solvers::Spectrum;
using Complex = std::complex<double>;

constexpr std::array axes{"x", "y", "z"};

// Calls `f(wavenumbers, k, j, i)` for every mode of a spectrum of `flow`.
template <typename F>
void for_each_wave(const solvers::IncompressibleFlow& flow, const Spectrum& spectrum, F f) {
  for (int b = 0; b < spectrum.blocks(); ++b)
    fft::for_each_mode(spectrum.box(b), flow.waves(), [&](const fft::Mode& mode) {
      f(flow.grid().wavenumber(mode.wavenumber), mode.index.z, mode.index.y, mode.index.x);
    });
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

FlowViews::FlowViews(const comm::Communicator& comm, const solvers::IncompressibleFlow& flow,
                     const std::vector<solvers::PassiveScalar>& scalars, const mesh::Layout& blocks)
    : comm_(comm),
      flow_(flow),
      scalars_(scalars),
      blocks_(blocks),
      modes_(solvers::mode_planes(flow.grid().waves(), comm.size())),
      kept_(flow.grid()) {}

solvers::SpectralTransform& FlowViews::transform() const {
  if (!transform_) transform_ = std::make_unique<solvers::SpectralTransform>(comm_, flow_.grid(), blocks_);
  return *transform_;
}

Field<double> FlowViews::transformed(Spectrum& spectrum) const {
  Field<double> cells(blocks_, comm_.rank());
  transform().backward(spectrum, cells);
  return cells;
}

Spectrum FlowViews::component(int component) const {
  Spectrum one(flow_.modes(), comm_.rank());
  const Spectrum& state = flow_.state();
  for (int b = 0; b < state.blocks(); ++b)
    core::for_each_cell(state.box(b), [=, from = state.view(b), to = one.view(b)](int k, int j, int i) {
      to(k, j, i) = from(component, k, j, i);
    });
  return one;
}

// The first or second of the components that the other one follows from.
Spectrum FlowViews::independent(int number) const {
  Spectrum one(flow_.modes(), comm_.rank());
  for_each_wave(flow_, one, [&](const std::array<double, 3>& wave, int k, int j, int i) {
    const int left_out = solvers::dependent_axis(wave);
    one.view(0)(k, j, i) = flow_.state().view(0)(number < left_out ? number : number + 1, k, j, i);
  });
  return one;
}

Field<double> FlowViews::component_in_space(int component) const {
  Spectrum one = this->component(component);
  return transformed(one);
}

// i k x u
Field<double> FlowViews::vorticity(int axis) const {
  Spectrum curl(flow_.modes(), comm_.rank());
  const int next = (axis + 1) % 3, last = (axis + 2) % 3;
  for_each_wave(flow_, curl, [&](const std::array<double, 3>& wave, int k, int j, int i) {
    const auto u = flow_.state().view(0);
    const Complex turn = wave[static_cast<std::size_t>(next)] * u(last, k, j, i) -
                         wave[static_cast<std::size_t>(last)] * u(next, k, j, i);
    curl.view(0)(k, j, i) = {-turn.imag(), turn.real()};
  });
  return transformed(curl);
}

// What is aliased once by products of waves in the ellipsoid has the other sign on cells displaced by half a cell along
// each axis (Patterson & Orszag 1971), so that the mean of both sets of cells has none; other waves alias onto none.
std::vector<std::array<double, 3>> FlowViews::displacements() const {
  if (flow_.grid().dealiasing() != solvers::Dealiasing::phase_shift) return {{}};
  std::array<double, 3> half{};
  for (int axis = 0; axis < 3; ++axis)
    if (flow_.grid().cells()[axis] > 1)
      half[static_cast<std::size_t>(axis)] = 0.5 * flow_.grid().geometry().cell_size(axis);
  return {{}, half};
}

// lap p = -d_i d_j u_i u_j + 2 Omega omega_z, so p(k) = -(k_i k_j (u_i u_j)(k) + 2 Omega omega_z(k)) / k^2
Field<double> FlowViews::pressure() const {
  Spectrum sum(flow_.modes(), comm_.rank());
  const std::vector<std::array<double, 3>> all = displacements();
  for (const std::array<double, 3>& by : all) add_advection(by, 1.0 / static_cast<double>(all.size()), sum);
  const auto u = flow_.state().view(0);
  for_each_wave(flow_, sum, [&](const std::array<double, 3>& k, int z, int y, int x) {
    Complex& value = sum.view(0)(z, y, x);
    const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
    const Complex turn = k[0] * u(1, z, y, x) - k[1] * u(0, z, y, x);
    value += 2.0 * flow_.rotation() * Complex(-turn.imag(), turn.real());
    value = square > 0.0 ? -value / square : 0.0;
  });
  const solvers::WaveGrid& grid = flow_.grid();
  for (int b = 0; b < sum.blocks(); ++b)
    fft::for_each_mode(sum.box(b), flow_.waves(), [&](const fft::Mode& mode) {
      if (!grid.keeps(mode.wavenumber)) sum.view(b)(mode.index.z, mode.index.y, mode.index.x) = 0.0;
    });
  return transformed(sum);
}

void FlowViews::add_advection(const std::array<double, 3>& by, double weight, Spectrum& sum) const {
  const auto displaced = [&](Spectrum& spectrum, double sign) {
    if (by == std::array<double, 3>{}) return;
    for_each_wave(flow_, spectrum, [&](const std::array<double, 3>& k, int z, int y, int x) {
      const double angle = sign * (k[0] * by[0] + k[1] * by[1] + k[2] * by[2]);
      spectrum.view(0)(z, y, x) *= Complex(core::cos(angle), core::sin(angle));
    });
  };
  std::array<Field<double>, 3> velocity;
  for (int axis = 0; axis < 3; ++axis) {
    Spectrum one = component(axis);
    displaced(one, 1.0);
    velocity[static_cast<std::size_t>(axis)] = transformed(one);
  }
  Spectrum term(flow_.modes(), comm_.rank());
  Field<double> product(blocks_, comm_.rank());
  const double norm = weight / static_cast<double>(flow_.grid().geometry().domain.volume());
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = a; b < 3; ++b) {
      std::ranges::transform(velocity[a].all(), velocity[b].all(), product.all().begin(),
                             [](double u, double v) { return u * v; });
      transform().forward(product, term);
      displaced(term, -1.0);
      const double times = a == b ? norm : 2.0 * norm;
      for_each_wave(flow_, sum, [&](const std::array<double, 3>& k, int z, int y, int x) {
        sum.view(0)(z, y, x) += times * k[a] * k[b] * term.view(0)(z, y, x);
      });
    }
}

void FlowViews::add_parts(const std::vector<mesh::Quantity>& parts, const Component& make, const Place& place,
                          mesh::Snapshot& snapshot) const {
  for (std::size_t n = 0; n < parts.size(); ++n)
    snapshot.add(parts[n], [this, make, place, n](int) {
      Spectrum planes(modes_, comm_.rank());
      solvers::transfer_modes(comm_, make(static_cast<int>(n / 2)), flow_.waves(), planes, flow_.grid().waves());
      const Spectrum placed = place ? place(planes) : std::move(planes);
      Field<double> part(placed.layout(), comm_.rank());
      std::ranges::transform(placed.all(), part.all().begin(),
                             [n](const Complex& value) { return n % 2 == 0 ? value.real() : value.imag(); });
      return mesh::AnyField(std::make_shared<const Field<double>>(std::move(part)));
    });
}

void FlowViews::add_modes(mesh::Snapshot& snapshot) const {
  add_parts(
      mode_quantities(scalars_), [this](int c) { return component(c); }, {}, snapshot);
}

mesh::Snapshot FlowViews::in_rows(std::map<std::string, double> numbers) const {
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

mesh::Snapshot FlowViews::kept(const std::map<std::string, double>& numbers) const {
  mesh::Snapshot snapshot = in_rows(numbers);
  add_parts(
      mode_quantities(scalars_), [this](int c) { return component(c); },
      [this](const Spectrum& planes) { return kept_.in_rows(comm_, planes); }, snapshot);
  return snapshot;
}

mesh::Snapshot FlowViews::two_components(std::map<std::string, double> numbers) const {
  const Spectrum& state = flow_.state();
  core::ExactSum mean;
  for (int b = 0; b < state.blocks(); ++b)
    if (state.box(b).contains(mesh::Int3{0, 0, 0})) mean.add(state.view(b)(2, 0, 0, 0).real());
  numbers[mean_velocity_z] = comm_.sum(mean);
  mesh::Snapshot snapshot = in_rows(std::move(numbers));
  add_parts(
      two_component_quantities(scalars_), [this](int c) { return c < 2 ? independent(c) : component(c + 1); },
      [this](const Spectrum& planes) { return kept_.in_rows(comm_, planes); }, snapshot);
  return snapshot;
}

Field<double> FlowViews::of_velocity(FromVelocity compute) const {
  const Field<double> x = component_in_space(0), y = component_in_space(1), z = component_in_space(2);
  return compute(comm_, {x, y, z}, flow_.grid().geometry());
}

mesh::Snapshot FlowViews::in_space() const {
  mesh::Snapshot snapshot;
  snapshot.geometry = flow_.grid().geometry();
  snapshot.rank = comm_.rank();
  snapshot.levels = {blocks_};
  const auto add = [&](const mesh::Quantity& quantity, auto make) {
    snapshot.add(quantity,
                 [this, make](int) { return mesh::AnyField(std::make_shared<const Field<double>>(make(*this))); });
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

}  // namespace sidestream::sims
