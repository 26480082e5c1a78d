#include "sims/turbulence/turbulence_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numbers>

#include "sidestream/io/quantity_names.hpp"

namespace sidestream::sims {

namespace {

constexpr std::int32_t least_block = 1;  // no cell has ghost cells

core::Table<TurbulenceConfig> turbulence_table() {
  core::Table<TurbulenceConfig> table("Incompressible flow in a periodic box, by a pseudo-spectral method");
  const double two_pi = 2.0 * std::numbers::pi;
  table.option("length", &TurbulenceConfig::length, {two_pi, two_pi, two_pi})
      .range(1e-30, 1e30)
      .doc("sides of the box along x, y and z");
  table.option("viscosity", &TurbulenceConfig::viscosity, 0.01).range(0.0, 1e30).doc("kinematic");
  table.option("rotation", &TurbulenceConfig::rotation, 0.0)
      .range(-1e30, 1e30)
      .doc("of the frame about z, in radians and the unit of time");
  table.option("end", &TurbulenceConfig::end, 10.0).at_least(0.0).doc("time at which the run ends");
  table.option("courant", &TurbulenceConfig::courant, 0.6)
      .range(1e-6, 10.0)
      .doc("cells that the flow crosses in a step (|u|/dx + |v|/dy + |w|/dz, times the step)");
  table.option("dt", &TurbulenceConfig::dt, std::nullopt)
      .range(1e-30, 1e30)
      .doc("the time step; without it, that of `courant`");
  table.option("scheme", &TurbulenceConfig::scheme, "rk4")
      .one_of({"rk4", "rk2"})
      .doc("Runge-Kutta of fourth order or, as Rogallo (1981), of second");
  table.option("dealiasing", &TurbulenceConfig::dealiasing, "two-thirds")
      .one_of({"two-thirds", "phase-shift"})
      .doc("waves below a third of the cells; or products on displaced grids with waves below 0.47 of them");
  table.option("precision", &TurbulenceConfig::precision, "double")
      .one_of({"double", "single"})
      .doc("of fields, waves and transforms; sums, times and what is done with a wave are double");
  table.option("seed", &TurbulenceConfig::seed, 1).range(0, 1e15).doc("of all random numbers, from 0 to 10^15");
  return table;
}

// The table `[scalar.NAME]`.
struct ScalarConfig {
  double schmidt = 1.0;
  std::vector<double> gradient;
  double amplitude = 0.0;
  std::array<std::int32_t, 3> wave{};
};

core::Table<ScalarConfig> scalar_table() {
  core::Table<ScalarConfig> table("A scalar that the flow carries");
  table.option("schmidt", &ScalarConfig::schmidt, 1.0).range(1e-6, 1e6).doc("viscosity over diffusivity");
  table.option("mean_gradient", &ScalarConfig::gradient, {0.0, 0.0, 0.0})
      .range(-1e30, 1e30)
      .doc("of its mean, along x, y and z; the scalar is what is beside the mean");
  table.option("amplitude", &ScalarConfig::amplitude, 0.0).range(-1e30, 1e30).doc("of the cosine that it begins as");
  table.option("wave", &ScalarConfig::wave, {1, 0, 0}).range(-1e6, 1e6).doc("whole waves of it along x, y and z");
  return table;
}

core::Table<TracerSpecies> tracers_table() {
  core::Table<TracerSpecies> table("Particles that the flow carries");
  table.option("count", &TracerSpecies::count, 1000).range(1, 1e15).doc("of them");
  table.option("seed", &TracerSpecies::seed, 1).range(0, 1e15).doc("of where they begin");
  return table;
}

void check_three(const core::Node& root, const std::string& table, const std::string& key, std::size_t size) {
  if (size == 3) return;
  const core::Node* part = root.find(table);
  const core::Node* node = part != nullptr ? part->find(key) : nullptr;
  core::reject(node != nullptr ? *node : root, fmt::format("`{}` has {} numbers", key, size),
               "give three, along x, y and z");
}

bool is_word(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

void check_name(const core::Node& node, const std::string& name) {
  static const std::vector<std::string> taken{"velocity", "vorticity", "pressure", "q_criterion"};
  if (!is_word(name) || std::ranges::find(taken, name) != taken.end() || name.starts_with("velocity_") ||
      name.starts_with("vorticity_"))
    core::reject(node, fmt::format("a scalar cannot be called `{}`", name),
                 "use letters, digits and `_`, and no name of the flow's own quantities");
  if (const auto other = io::quantity_called(name))
    core::reject(node, fmt::format("a scalar cannot be called `{}`: files call `{}` so", name, *other),
                 "give it another name");
}

void read_scalars(const core::Node& root, core::Node& resolved, TurbulenceConfig& config) {
  const core::Node* tables = root.find("scalar");
  if (tables == nullptr) return;
  core::Node all(core::Node::Members{});
  for (const auto& [name, node] : tables->members()) {
    core::Node part;
    const ScalarConfig scalar = scalar_table().read(node, &part);
    check_name(node, name);
    check_three(*tables, name, "mean_gradient", scalar.gradient.size());
    config.scalars.push_back(
        {name, config.viscosity / scalar.schmidt, {scalar.gradient[0], scalar.gradient[1], scalar.gradient[2]}});
    config.scalar_starts.push_back({scalar.amplitude, scalar.wave, scalar.schmidt});
    all.set(name, part);
  }
  resolved.set("scalar", all);
}

/// An option of a table, and whether it is not what it is by default.
struct Setting {
  const char* key;
  bool is_set;
};

// `where`: with what those that are not `used` have no effect.
void refuse_without_effect(const core::Node& root, const std::string& table, std::initializer_list<Setting> settings,
                           const std::vector<std::string>& used, const std::string& where) {
  for (const Setting& setting : settings)
    if (setting.is_set && std::ranges::find(used, setting.key) == used.end())
      core::reject(*root.find(table)->find(setting.key),
                   fmt::format("`{}.{}` has no effect {}", table, setting.key, where), "leave it out");
}

void check_initial_options(const core::Node& root, const solvers::InitialFlowConfig& initial) {
  const solvers::InitialFlowConfig usual = solvers::initial_flow_table().read(core::Node(core::Node::Members{}));
  const bool has_table = !initial.table.empty();
  std::vector<std::string> used = solvers::initial_flows().named(initial.flow).options;
  const bool is_read = has_table && std::ranges::find(used, "table") != used.end();
  if (is_read) used = {"table"};
  refuse_without_effect(root, "initial",
                        {{"wave", initial.wave != usual.wave},
                         {"table", has_table},
                         {"speed", initial.speed != usual.speed},
                         {"peak", initial.peak != usual.peak}},
                        used, is_read ? "beside `initial.table`" : fmt::format("on the flow `{}`", initial.flow));
}

void check_forcing(const core::Node& root, const TurbulenceConfig& config) {
  const solvers::ForcingConfig& forcing = config.forcing;
  const solvers::ForcingConfig usual = solvers::forcing_table().read(core::Node(core::Node::Members{}));
  const bool is_forced = forcing.kind != "none";
  refuse_without_effect(root, "forcing",
                        {{"highest", forcing.highest != usual.highest},
                         {"power", forcing.power != usual.power},
                         {"time", forcing.time != usual.time}},
                        is_forced ? solvers::forcings().named(forcing.kind).options : std::vector<std::string>{},
                        fmt::format("with `forcing.kind` = \"{}\"", forcing.kind));
  const solvers::WaveGrid grid = config.grid();
  const double most = grid.highest_wavenumber() / grid.longest_fundamental();
  if (is_forced && forcing.highest != usual.highest && forcing.highest > most)
    core::reject(*root.find("forcing")->find("highest"),
                 fmt::format("waves up to {:g} times the longest one are to be forced, and none beyond {:.4g} is kept",
                             forcing.highest, most),
                 "a force on the longest waves leaves the others free: 2 or 3 are usual");
}

// Squares of floats, summed over all cells, are to be floats.
void check_speeds(const core::Node& root, const TurbulenceConfig& config) {
  constexpr double most = 1e12;
  if (!config.is_single()) return;
  const auto check = [&](const char* key, double speed, double least) {
    const double size = std::fabs(speed);
    if (size == 0.0 || (size >= least && size <= most)) return;
    core::reject(*root.find("initial")->find(key),
                 fmt::format("a speed of {:g} is out of reach of single precision", speed),
                 "take units in which speeds lie between 1e-12 and 1e12, or `turbulence.precision` = \"double\"");
  };
  check("speed", config.initial.speed, 1.0 / most);
  for (const double component : config.initial.mean) check("mean", component, 0.0);
}

void check_scalars(const core::Node& root, const TurbulenceConfig& config) {
  for (std::size_t s = 0; s < config.scalars.size(); ++s) {
    const ScalarStart& start = config.scalar_starts[s];
    const core::Node& table = *root.find("scalar")->find(config.scalars[s].name);
    const core::Node* const wave = table.find("wave");
    if (start.amplitude == 0.0) {
      if (wave != nullptr && start.wave != scalar_table().read(core::Node(core::Node::Members{})).wave)
        core::reject(*wave, fmt::format("`{}` has no effect where `amplitude` is 0", wave->key()), "leave it out");
      continue;
    }
    const core::Node& place = wave != nullptr ? *wave : table;
    mesh::Int3 whole{start.wave[0], start.wave[1], start.wave[2]};
    if (whole == mesh::Int3{})
      core::reject(place, "a cosine without a wave is a mean", "scalars are beside their mean");
    if (const std::string problem = config.grid().problem_of(whole); !problem.empty())
      core::reject(place, problem, "take a longer wave, or more cells");
  }
}

void read_tracers(const core::Node& root, core::Node& resolved, TurbulenceConfig& config) {
  const core::Node* tables = root.find("tracers");
  if (tables == nullptr) return;
  core::Node all(core::Node::Members{});
  for (const auto& [name, node] : tables->members()) {
    core::Node part;
    TracerSpecies species = tracers_table().read(node, &part);
    if (!is_word(name))
      core::reject(node, fmt::format("tracers cannot be called `{}`", name), "use letters, digits and `_`");
    species.name = name;
    config.tracers.push_back(species);
    all.set(name, part);
  }
  resolved.set("tracers", all);
}

}  // namespace

mesh::Geometry TurbulenceConfig::geometry() const {
  return {mesh::domain_of(mesh.extent()), {length[0], length[1], length[2]}, {true, true, true}};
}

solvers::WaveGrid TurbulenceConfig::grid() const {
  return {geometry(), dealiasing == "phase-shift" ? solvers::Dealiasing::phase_shift : solvers::Dealiasing::two_thirds};
}

solvers::FlowConfig TurbulenceConfig::flow() const {
  return {.scheme = scheme == "rk2" ? solvers::TimeScheme::rk2 : solvers::TimeScheme::rk4,
          .viscosity = viscosity,
          .rotation = rotation,
          .seed = static_cast<std::uint64_t>(seed),
          .forcing = forcing,
          .scalars = scalars};
}

std::map<std::string, std::vector<core::Option>> turbulence_options() {
  return {{"mesh", mesh_table(least_block).options()},
          {"turbulence", turbulence_table().options()},
          {"initial", solvers::initial_flow_table().options()},
          {"forcing", solvers::forcing_table().options()},
          {"scalar.NAME", scalar_table().options()},
          {"tracers.NAME", tracers_table().options()}};
}

TurbulenceConfig read_turbulence(const core::Node& root, core::Node& resolved) {
  core::Node part;
  TurbulenceConfig config = turbulence_table().read(table_or_empty(root, "turbulence"), &part);
  resolved.set("turbulence", part);
  check_three(root, "turbulence", "length", config.length.size());
  config.mesh = read_mesh(root, resolved, least_block);
  config.initial = solvers::initial_flow_table().read(table_or_empty(root, "initial"), &part);
  resolved.set("initial", part);
  check_three(root, "initial", "mean", config.initial.mean.size());
  config.forcing = solvers::forcing_table().read(table_or_empty(root, "forcing"), &part);
  resolved.set("forcing", part);
  read_scalars(root, resolved, config);
  read_tracers(root, resolved, config);
  const mesh::Int3 n = config.mesh.extent();
  if (n.x == 1 || n.y == 1)
    core::reject(*root.find("mesh"), "the box is flat along x or y", "a flow in a plane has 1 cell along z");
  check_initial_options(root, config.initial);
  check_speeds(root, config);
  check_forcing(root, config);
  check_scalars(root, config);
  return config;
}

}  // namespace sidestream::sims
