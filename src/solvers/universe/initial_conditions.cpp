#include "sidestream/solvers/initial_conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/fft/modes.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "solvers/universe/cubic_spline.hpp"

namespace sidestream::solvers {

using mesh::Field;

namespace {

using Complex = std::complex<double>;
using Vector = std::array<double, 3>;

mesh::Box lattice_of(const mesh::Box& cells, const InitialConditionsConfig& config) {
  mesh::Int3 points = cells.extent();
  for (int axis = 0; axis < 3; ++axis) {
    const auto wanted = config.particles[static_cast<std::size_t>(axis)];
    if (wanted > 0) points[axis] = wanted;
  }
  return mesh::domain_of(points);
}

// The boxes of the mesh as boxes of the lattice: each rank gets the lattice points near its cells, and every point has
// one owner.
mesh::Layout layout_of(const mesh::Box& lattice, const mesh::Layout& layout) {
  const auto scaled = [&](mesh::Int3 corner) {
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t points = lattice.hi[axis], cells = layout.domain().hi[axis];
      corner[axis] = static_cast<std::int32_t>(corner[axis] * points / cells);
    }
    return corner;
  };
  if (lattice == layout.domain()) return layout;
  std::vector<mesh::Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t index = 0; index < layout.size(); ++index) {
    const mesh::Box box{scaled(layout.box(index).lo), scaled(layout.box(index).hi)};
    if (box.is_empty()) continue;
    boxes.push_back(box);
    owners.push_back(layout.owner(index));
  }
  return mesh::Layout(lattice, layout.periodic(), std::move(boxes), std::move(owners));
}

// Wavenumbers [1/Mpc] of a lattice.
struct Wavenumbers {
  mesh::Int3 points;
  Vector fundamental;

  explicit Wavenumbers(const mesh::Geometry& lattice) : points(lattice.domain.extent()) {
    for (std::size_t axis = 0; axis < 3; ++axis) fundamental[axis] = 2.0 * std::numbers::pi / lattice.length[axis];
  }
  Vector operator()(mesh::Int3 n) const { return {n.x * fundamental[0], n.y * fundamental[1], n.z * fundamental[2]}; }
  // The wave alternates from point to point along this axis, so that its first derivative there is undetermined: zero.
  bool alternates(mesh::Int3 n, int axis) const { return 2 * std::abs(n[axis]) == points[axis]; }
  double smallest() const { return *std::min_element(fundamental.begin(), fundamental.end()); }
  double largest() const {
    const Vector k = (*this)({points.x / 2, points.y / 2, points.z / 2});
    return std::sqrt(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
  }
};

double square(const Vector& k) {
  return k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
}

// The power spectrum sampled so finely (200 points in each e-fold of k) that a spline through the samples is as good as
// the spectrum itself, and quicker.
CubicSpline amplitude_of_ln_k(const LinearPower& power, double k_min, double k_max) {
  const double from = core::log(k_min), to = core::log(k_max);
  const int intervals = 4 + static_cast<int>(200.0 * (to - from));
  std::vector<double> ln_k, amplitude;
  for (int n = 0; n <= intervals; ++n) {
    ln_k.push_back(from + (to - from) * n / intervals);
    amplitude.push_back(std::sqrt(power(std::min(core::exp(ln_k.back()), power.k_max()))));
  }
  return CubicSpline(std::move(ln_k), std::move(amplitude));
}

// Room for those that come from other ranks later, so that the arrays need not be twice as long then.
void reserve(mesh::Particles& particles, std::size_t count) {
  particles.id.reserve(count);
  for (auto& coordinate : particles.position) coordinate.reserve(count);
  for (auto& attribute : particles.attributes) attribute.values.reserve(count);
}

// The random number of a point of a lattice of so many `points` that refines coarser ones: that of the coarser point
// which holds it over sqrt 8, and how far its own deviate is from the mean of its seven siblings and itself. So it has
// variance 1, is independent of its siblings, and their sum over sqrt 8 is the coarser number (Hoffman & Ribak 1991).
double nested_normal(std::uint64_t seed, mesh::Int3 points, int coarser_levels, mesh::Int3 point) {
  const auto deviate = [&](mesh::Int3 at) {
    const auto index = static_cast<std::uint64_t>(mesh::linear_index(mesh::domain_of(points), at));
    return core::normal(seed, static_cast<std::uint64_t>(coarser_levels), index);
  };
  if (coarser_levels == 0) return deviate(point);
  const mesh::Int3 parent{point.x / 2, point.y / 2, point.z / 2};
  double sum = 0.0;
  for (int n = 0; n < 8; ++n) sum += deviate({2 * parent.x + n % 2, 2 * parent.y + n / 2 % 2, 2 * parent.z + n / 4});
  const mesh::Int3 coarser{points.x / 2, points.y / 2, points.z / 2};
  return nested_normal(seed, coarser, coarser_levels - 1, parent) / std::sqrt(8.0) + (deviate(point) - sum / 8.0);
}

Complex with_modulus(Complex value, double modulus) {
  const double found = core::hypot(value.real(), value.imag());
  return found > 0.0 ? value * (modulus / found) : Complex(modulus);
}

}  // namespace

core::Table<InitialConditionsConfig> initial_conditions_table() {
  static const core::Units mass_units{{"keV", 1.0}};
  const InitialConditionsConfig standard;
  core::Table<InitialConditionsConfig> table("The random field that the simulation starts from");
  table.option("seed", &InitialConditionsConfig::seed, standard.seed)
      .at_least(0)
      .doc("Number of the realisation; equal seeds give equal universes on any number of ranks");
  table.option("order", &InitialConditionsConfig::order, standard.order)
      .one_of({"zeldovich", "2lpt"})
      .doc("Lagrangian perturbation theory of first or second order for the particles");
  table.option("power", &InitialConditionsConfig::power, standard.power)
      .doc("Linear power spectrum: \"camb\" (the table that is shipped), \"eisenstein-hu\" or the path of a table");
  table.option("wdm_mass", &InitialConditionsConfig::wdm_mass_kev, std::nullopt)
      .in(mass_units)
      .range(0.05, 100.0)
      .doc(
          "Mass of the thermal relics that are the dark matter, \"2.1 keV\", from 0.05 to 100 keV; without it, it is "
          "cold");
  table.option("fixed_amplitude", &InitialConditionsConfig::fixed_amplitude, standard.fixed_amplitude)
      .doc("Give every mode exactly the amplitude of the power spectrum, and only its phase at random");
  table.option("particles", &InitialConditionsConfig::particles, standard.particles)
      .at_least(0)
      .doc("Dark-matter particles along x, y and z; 0: as many as cells");
  table.option("random_lattice", &InitialConditionsConfig::random_lattice, standard.random_lattice)
      .at_least(0)
      .doc(
          "Points along x, y and z of the lattice of random numbers, which that of the particles refines by a power of "
          "two: runs of 64^3, 128^3 and 256^3 particles from the numbers of [64, 64, 64] begin with nearly the same "
          "waves, the longest most of all; 0: as many as particles");
  return table;
}

int coarser_levels(const InitialConditionsConfig& config, mesh::Int3 points) {
  const auto halved = [&](int levels) {
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t random = config.random_lattice[static_cast<std::size_t>(axis)];
      if (random > 0 && random << levels != points[axis]) return false;
    }
    return true;
  };
  for (int levels = 0; levels < 31; ++levels)
    if (halved(levels)) return levels;
  throw core::Error(
      fmt::format("{} x {} x {} particles do not refine random numbers at {} x {} x {} points", points.x, points.y,
                  points.z, config.random_lattice[0], config.random_lattice[1], config.random_lattice[2]),
      "random_lattice", "take the same power of two times fewer points along all axes");
}

LinearPower initial_power(const InitialConditionsConfig& config, const CosmologyParameters& parameters) {
  LinearPower cold = make_linear_power(config.power, parameters);
  return config.wdm_mass_kev ? warm(cold, parameters, *config.wdm_mass_kev) : cold;
}

double largest_wavenumber(const mesh::Geometry& lattice) {
  return Wavenumbers(lattice).largest();
}

InitialConditions::InitialConditions(const comm::Communicator& comm, const mesh::Layout& layout,
                                     const mesh::Layout& lattice_layout, const mesh::Geometry& geometry,
                                     const Background& background, const std::string& order)
    : comm_(comm),
      layout_(layout),
      geometry_(geometry),
      background_(background),
      is_second_order_(order == "2lpt"),
      lattice_{lattice_layout.domain(), geometry.length, geometry.periodic},
      plan_(comm, lattice_layout),
      modes_(plan_.spectral(), comm.rank()) {
  core::require(geometry.periodic == mesh::Periodicity{true, true, true}, "initial conditions need a periodic domain");
  core::require(is_second_order_ || order == "zeldovich", "the order is \"zeldovich\" or \"2lpt\"");
}

InitialConditions::InitialConditions(const comm::Communicator& comm, const mesh::Layout& layout,
                                     const mesh::Geometry& geometry, const Background& background,
                                     const LinearPower& power, const InitialConditionsConfig& config)
    : InitialConditions(comm, layout, layout_of(lattice_of(layout.domain(), config), layout), geometry, background,
                        config.order) {
  power(largest_wavenumber(lattice_));  // fails here, on all ranks, if the power spectrum does not go so far
  plan_.forward(white_noise(config.seed, coarser_levels(config, lattice().domain().hi)), modes_);
  shape(power, config.fixed_amplitude);
}

InitialConditions::InitialConditions(const comm::Communicator& comm, const Field<double>& contrast,
                                     const mesh::Geometry& geometry, const Background& background,
                                     const std::string& order)
    : InitialConditions(comm, contrast.layout(), contrast.layout(), geometry, background, order) {
  plan_.forward(contrast, modes_);
  for (Complex& amplitude : modes_.all()) amplitude /= static_cast<double>(lattice_.domain.volume());
}

Field<double> InitialConditions::white_noise(std::int64_t seed, int coarser) const {
  Field<double> noise(lattice(), comm_.rank());
  const mesh::Int3 points = lattice().domain().hi;
  for (int b = 0; b < noise.blocks(); ++b) {
    const core::View4<double> value = noise.view(b);
    core::for_each_cell(noise.box(b), [=](int k, int j, int i) {
      value(k, j, i) = nested_normal(static_cast<std::uint64_t>(seed), points, coarser, {i, j, k});
    });
  }
  return noise;
}

// White noise has <|w|^2> = points; the contrast is wanted with <|delta|^2> = P / volume.
void InitialConditions::shape(const LinearPower& power, bool fixed_amplitude) {
  const auto points = static_cast<double>(lattice_.domain.volume());
  const double scale = 1.0 / std::sqrt(lattice_.volume() * points);
  const Wavenumbers wavenumbers(lattice_);
  const CubicSpline amplitude_at = amplitude_of_ln_k(power, wavenumbers.smallest(), wavenumbers.largest());
  fft::for_each_mode(modes_, plan_.cells(), [&](const fft::Mode& mode, Complex& amplitude) {
    const double k_squared = square(wavenumbers(mode.wavenumber));
    if (fixed_amplitude) amplitude = with_modulus(amplitude, std::sqrt(points));
    amplitude *= k_squared > 0.0 ? scale * amplitude_at(0.5 * core::log(k_squared)) : 0.0;
  });
}

template <typename F>
Field<double> InitialConditions::field_of(const Spectrum& spectrum, F f) const {
  const Wavenumbers wavenumbers(lattice_);
  Spectrum work(spectrum.layout(), spectrum.rank());
  for (int b = 0; b < spectrum.blocks(); ++b) {
    const core::View4<const Complex> from = spectrum.view(b);
    const core::View4<Complex> to = work.view(b);
    fft::for_each_mode(spectrum.box(b), plan_.cells(), [&](const fft::Mode& mode) {
      const auto [i, j, k] = mode.index;
      const Vector wavenumber = wavenumbers(mode.wavenumber);
      const bool is_mean = mode.wavenumber == mesh::Int3{};
      to(k, j, i) = is_mean ? Complex() : from(k, j, i) * f(wavenumber, square(wavenumber), mode.wavenumber);
    });
  }
  Field<double> field(lattice(), comm_.rank());
  plan_.backward(work, field);
  return field;
}

Field<double> InitialConditions::inverse_gradient(const Spectrum& spectrum, int axis) const {
  const Wavenumbers wavenumbers(lattice_);
  return field_of(spectrum, [=](const Vector& k, double k_squared, mesh::Int3 n) {
    return wavenumbers.alternates(n, axis) ? Complex() : Complex(0.0, k[static_cast<std::size_t>(axis)] / k_squared);
  });
}

Field<double> InitialConditions::tidal(int axis, int other) const {
  const Wavenumbers wavenumbers(lattice_);
  return field_of(modes_, [=](const Vector& k, double k_squared, mesh::Int3 n) {
    if (axis != other && (wavenumbers.alternates(n, axis) || wavenumbers.alternates(n, other))) return 0.0;
    return k[static_cast<std::size_t>(axis)] * k[static_cast<std::size_t>(other)] / k_squared;
  });
}

// Sum over pairs i < j of phi_ii phi_jj - phi_ij^2, with three fields at a time.
InitialConditions::Spectrum InitialConditions::second_order_source() const {
  const auto combine = [](Field<double>& to, const Field<double>& with, auto f) {
    for (std::size_t n = 0; n < to.all().size(); ++n) to.all()[n] = f(to.all()[n], with.all()[n]);
  };
  Field<double> diagonal = tidal(0, 0), source = tidal(1, 1);
  Field<double> sum(lattice(), comm_.rank());
  combine(sum, diagonal, [](double, double xx) { return xx; });
  combine(sum, source, std::plus<>());
  combine(source, diagonal, std::multiplies<>());
  diagonal = tidal(2, 2);
  combine(sum, diagonal, std::multiplies<>());
  combine(source, sum, std::plus<>());
  sum = Field<double>();
  for (const auto& [axis, other] : {std::pair{0, 1}, {0, 2}, {1, 2}}) {
    diagonal = tidal(axis, other);
    combine(source, diagonal, [](double total, double shear) { return total - shear * shear; });
  }
  Spectrum spectrum(plan_.spectral(), comm_.rank());
  plan_.forward(source, spectrum);
  for (Complex& amplitude : spectrum.all()) amplitude /= static_cast<double>(lattice_.domain.volume());
  return spectrum;
}

// 1. Particles on the lattice. 2. Displacement and momentum of first order: x = q - D grad phi1, u = -a H f D grad
// phi1.
// 3. Of second order: x += D2 grad phi2, u += a H f2 D2 grad phi2. 4. To the owners of their cells.
mesh::Particles InitialConditions::particles(double a, double mean_density) const {
  mesh::Particles particles = at_rest_on_lattice(mean_density);
  const double growth = background_.growth(a), speed = a * a * background_.hubble(a);
  const double momentum = speed * background_.growth_rate(a) * growth;
  for (int axis = 0; axis < 3; ++axis) displace(inverse_gradient(modes_, axis), axis, growth, momentum, particles);
  if (is_second_order_) {
    const double second = -background_.second_order_growth(a);
    const double second_momentum = speed * background_.second_order_growth_rate(a) * second;
    const Spectrum source = second_order_source();
    for (int axis = 0; axis < 3; ++axis)
      displace(inverse_gradient(source, axis), axis, second, second_momentum, particles);
  }
  redistribute::migrate(comm_, layout_, geometry_, particles);
  return particles;
}

mesh::Particles InitialConditions::at_rest_on_lattice(double mean_density) const {
  mesh::Particles particles;
  particles.mass = mean_density * lattice_.cell_volume();
  for (const auto& name : momentum_names) particles.attributes.push_back({name, "km/s", {}});
  std::int64_t count = 0;
  for (const auto index : lattice().boxes_of(comm_.rank())) count += lattice().box(index).volume();
  if (comm_.size() > 1) reserve(particles, static_cast<std::size_t>(count + count / 8));
  particles.resize(static_cast<std::size_t>(count));

  std::size_t n = 0;
  for (const auto index : lattice().boxes_of(comm_.rank()))
    core::for_each_cell(lattice().box(index), [&](int k, int j, int i) {
      particles.id[n] = mesh::linear_index(lattice_.domain, {i, j, k});
      particles.position[0][n] = (i + 0.5) * lattice_.cell_size(0);
      particles.position[1][n] = (j + 0.5) * lattice_.cell_size(1);
      particles.position[2][n] = (k + 0.5) * lattice_.cell_size(2);
      ++n;
    });
  return particles;
}

void InitialConditions::displace(const Field<double>& displacement, int axis, double by, double momentum,
                                 mesh::Particles& particles) const {
  auto& x = particles.position[static_cast<std::size_t>(axis)];
  auto& w = particles.attribute(momentum_names[static_cast<std::size_t>(axis)]);
  const auto values = displacement.all();  // without ghost cells, so in the order of the particles
  for (std::size_t n = 0; n < values.size(); ++n) {
    x[n] += by * values[n];
    w[n] += momentum * values[n];
  }
}

Field<double> InitialConditions::density_contrast(double a) const {
  const double growth = background_.growth(a);
  return field_of(modes_, [=](const Vector&, double, mesh::Int3) { return growth; });
}

InitialGas InitialConditions::gas(double a, double mean_density) const {
  if (!(lattice_.domain == geometry_.domain))
    throw core::Error("gas starts on a lattice of as many points as the mesh has cells", "",
                      "leave `particles` out, or run dark matter alone");
  InitialGas gas{density_contrast(a), Field<double>(layout_, comm_.rank(), 3)};
  bool is_positive = true;
  for (double& density : gas.density.all()) {
    density = mean_density * (1.0 + density);
    is_positive &= density > 0.0;
  }
  if (!comm_.all(is_positive))
    throw core::Error("the linear density of the gas is not above zero everywhere at the start", "",
                      "start earlier: a larger z_start makes the fluctuations smaller");
  const double speed = a * a * background_.hubble(a) * background_.growth_rate(a) * background_.growth(a);
  for (int axis = 0; axis < 3; ++axis) {
    const Field<double> displacement = inverse_gradient(modes_, axis);
    for (int b = 0; b < displacement.blocks(); ++b) {
      const core::View4<const double> from = displacement.view(b);
      const core::View4<double> to = gas.velocity.view(b);
      core::for_each_cell(displacement.box(b), [=](int k, int j, int i) { to(axis, k, j, i) = speed * from(k, j, i); });
    }
  }
  return gas;
}

double initial_gas_temperature(double a, double t_cmb) {
  return t_cmb / a * std::min(1.0, 1.0 / (137.0 * a));
}

}  // namespace sidestream::solvers
