#include "solvers/spectral/initial_flows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sidestream/core/config_path.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::solvers {

namespace {

using Vector = std::array<double, 3>;
using core::cos, core::sin;

// u(phase), the phase being 2 pi x / length times the whole waves of `wave`, for a speed of 1; `direction` is that of
// the wavenumber k.
using VelocityAt = Vector (*)(const Vector& phase, const Vector& direction);

// Without divergence for any two wavenumbers: k_x u_x and k_y u_y are opposite.
Vector taylor_green(const Vector& x, const Vector& k) {
  return {sin(x[0]) * cos(x[1]) * cos(x[2]), -k[0] / k[1] * cos(x[0]) * sin(x[1]) * cos(x[2]), 0.0};
}

Vector taylor_green_2d(const Vector& x, const Vector& k) {
  return {sin(x[0]) * cos(x[1]), -k[0] / k[1] * cos(x[0]) * sin(x[1]), 0.0};
}

// A = B = C = 1: curl u = k u where the three wavenumbers are equal (Arnold 1965; Childress 1970).
Vector abc(const Vector& x, const Vector&) {
  return {sin(x[2]) + cos(x[1]), sin(x[0]) + cos(x[2]), sin(x[1]) + cos(x[0])};
}

// One wave of a direction e that turns along it, curl u = |k| u: a cos(k.x) - e x a sin(k.x), with a across e.
Vector helical_wave(const Vector& phase, const Vector& e) {
  const double angle = phase[0] + phase[1] + phase[2];
  const double across = core::hypot(e[0], e[1]);
  const Vector a = across > 0.0 ? Vector{-e[1] / across, e[0] / across, 0.0} : Vector{1.0, 0.0, 0.0};
  const Vector b{e[1] * a[2] - e[2] * a[1], e[2] * a[0] - e[0] * a[2], e[0] * a[1] - e[1] * a[0]};
  Vector u{};
  for (std::size_t c = 0; c < 3; ++c) u[c] = a[c] * cos(angle) - b[c] * sin(angle);
  return u;
}

// The whole waves along axes that have any.
mesh::Int3 wave_of(const InitialFlowConfig& config, const WaveGrid& grid) {
  mesh::Int3 wave{config.wave[0], config.wave[1], config.wave[2]};
  for (int axis = 0; axis < 3; ++axis)
    if (grid.cells()[axis] == 1) wave[axis] = 0;
  return wave;
}

template <VelocityAt at, typename Real>
void set_analytic(const InitialFlowConfig& config, std::uint64_t, const comm::Communicator& comm,
                  IncompressibleFlow<Real>& flow) {
  const WaveGrid& grid = flow.grid();
  const mesh::Int3 wave = wave_of(config, grid);
  Vector turn{}, direction{};
  double square = 0.0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int a = static_cast<int>(axis);
    turn[axis] = 2.0 * std::numbers::pi * wave[a] / grid.cells()[a];
    direction[axis] = grid.fundamental(a) * wave[a];
    square += direction[axis] * direction[axis];
  }
  for (double& component : direction) component /= square > 0.0 ? std::sqrt(square) : 1.0;
  mesh::Field<Real> fields(flow.cells(), comm.rank(), flow.state().components());
  for (int b = 0; b < fields.blocks(); ++b)
    core::for_each_cell(fields.box(b), [&, out = fields.view(b)](int k, int j, int i) {
      const Vector u = at({turn[0] * i, turn[1] * j, turn[2] * k}, direction);
      for (int c = 0; c < 3; ++c) out(c, k, j, i) = static_cast<Real>(config.speed * u[static_cast<std::size_t>(c)]);
    });
  flow.set(fields);
}

template <typename Real>
void set_rest(const InitialFlowConfig&, std::uint64_t, const comm::Communicator&, IncompressibleFlow<Real>& flow) {
  std::ranges::fill(flow.state().all(), Wave<Real>{});
}

template <VelocityAt at>
constexpr decltype(InitialFlowEntry::set) of_formula{set_analytic<at, float>, set_analytic<at, double>};

}  // namespace

core::Table<InitialFlowConfig> initial_flow_table() {
  core::Table<InitialFlowConfig> table("The velocity that a turbulent flow begins with");
  std::vector<std::string> names;
  for (const InitialFlowEntry& entry : initial_flows()) names.push_back(entry.name);
  table.option("flow", &InitialFlowConfig::flow, "taylor-green").one_of(names).doc("its name");
  table.option("speed", &InitialFlowConfig::speed, 1.0)
      .range(0.0, 1e30)
      .doc("of a flow that is a formula, its factor; of a random one the root mean square of a component");
  table.option("wave", &InitialFlowConfig::wave, {1, 1, 1})
      .range(-1e6, 1e6)
      .doc("whole waves over the box along x, y and z of a flow that is a formula");
  table.option("peak", &InitialFlowConfig::peak, 4.0)
      .range(0.1, 1e6)
      .doc("of a random flow: the wavenumber k0 of E(k) ~ k^4 exp(-2 (k / k0)^2), in waves over the longest side");
  table.parsed<std::string>("table", &InitialFlowConfig::table, "", core::path_of)
      .doc(
          "of a random flow: a file with lines of wavenumber and E(k) in the units of the run, which replaces `peak` "
          "and `speed`; linear between lines");
  table.option("mean", &InitialFlowConfig::mean, {0.0, 0.0, 0.0})
      .range(-1e30, 1e30)
      .doc("velocity that is added everywhere, along x, y and z");
  return table;
}

const core::Registry<InitialFlowEntry>& initial_flows() {
  static const std::vector<std::string> formula{"speed", "wave"};
  static const core::Registry<InitialFlowEntry> all(
      {"initial flows", "initial flow", "the key `flow` of `[initial]`"},
      {{"taylor-green", "sin x cos y cos z, -(kx / ky) cos x sin y cos z, 0 (Taylor & Green 1937)", WaveUse::product, 3,
        formula, of_formula<taylor_green>},
       {"taylor-green-2d", "sin x cos y, -(kx / ky) cos x sin y, 0: vortices that only decay", WaveUse::product, 2,
        formula, of_formula<taylor_green_2d>},
       {"abc",
        "sin z + cos y, sin x + cos z, sin y + cos x: with equal wavenumbers a flow along its vorticity, which only "
        "decays",
        WaveUse::separate, 3, formula, of_formula<abc>},
       {"helical-wave", "one wave `wave` that turns to the left along its direction", WaveUse::direction, 3, formula,
        of_formula<helical_wave>},
       {"random",
        "waves of random phases without divergence, each shell of whole wavenumbers with a given energy",
        WaveUse::none,
        0,
        {"speed", "peak", "table"},
        {set_random_flow<float>, set_random_flow<double>}},
       {"rest", "no velocity", WaveUse::none, 0, {}, {set_rest<float>, set_rest<double>}}});
  return all;
}

std::string problem_of_wave(const InitialFlowConfig& config, const WaveGrid& grid) {
  const InitialFlowEntry& flow = initial_flows().named(config.flow);
  if (flow.wave_use == WaveUse::none) return "";
  mesh::Int3 wave = wave_of(config, grid);
  for (int axis = flow.wave_axes; axis < 3; ++axis) wave[axis] = 0;
  for (int axis = 0; axis < flow.wave_axes; ++axis)
    if (wave[axis] == 0 && grid.cells()[axis] > 1 && flow.wave_use != WaveUse::direction)
      return fmt::format("the flow `{}` has no wave along {}", config.flow, "xyz"[axis]);
  if (wave == mesh::Int3{}) return fmt::format("the flow `{}` has no wave", config.flow);
  if (flow.wave_use != WaveUse::separate) return grid.problem_of(wave);
  for (const mesh::Int3 one : {mesh::Int3{wave.x, 0, 0}, {0, wave.y, 0}, {0, 0, wave.z}})
    if (const std::string problem = grid.problem_of(one); !problem.empty()) return problem;
  return "";
}

bool is_at_rest(const InitialFlowConfig& config) {
  const std::vector<std::string>& options = initial_flows().named(config.flow).options;
  return options.empty() || (config.table.empty() && config.speed == 0.0);
}

}  // namespace sidestream::solvers
