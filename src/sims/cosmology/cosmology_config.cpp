#include "sims/cosmology/cosmology_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sidestream/core/config_path.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/fft/engine.hpp"
#include "sims/checks/same_physics.hpp"
#include "sims/cosmology/universe_gas.hpp"
#include "sims/quantities/ionization.hpp"

namespace sidestream::sims {

namespace {

// From the Jeans mass of the first gas to far beyond the horizon: what is outside is a slip of units.
constexpr double smallest_box_mpc = 1e-6, largest_box_mpc = 1e6;

// Lengths are comoving. Those given in Mpc/h are divided by h once it is known.
double read_box(const core::Node& node, double hubble) {
  const core::Units units{{"Mpc", 1.0}, {"kpc", 1e-3}, {"Gpc", 1e3}, {"Mpc/h", 1.0 / hubble}, {"kpc/h", 1e-3 / hubble}};
  const double box = core::quantity(node, units);
  if (!(box > 0.0)) core::reject(node, "the box has no size", "for example box = \"14.2 Mpc\"");
  if (!(box >= smallest_box_mpc && box <= largest_box_mpc))
    core::reject(node,
                 fmt::format("the box is {:.6g} Mpc long, not between {:g} and {:g} Mpc", box, smallest_box_mpc,
                             largest_box_mpc),
                 "for example box = \"14.2 Mpc\"");
  return box;
}

const core::Units& temperature_units() {
  static const core::Units units{{"K", 1.0}};
  return units;
}

core::Table<CosmologyRun> run_table(double hubble) {
  core::Table<CosmologyRun> table("A box of the universe");
  table
      .parsed<double>("box", &CosmologyRun::box_mpc, 0.0,
                      [hubble](const core::Node& node) { return read_box(node, hubble); })
      .required()
      .doc("comoving side along x, with its unit: \"14.2 Mpc\" or \"10 Mpc/h\"; from 1e-6 to 1e6 Mpc");
  table.option("z_start", &CosmologyRun::z_start, 50.0).range(0.0, 1100.0).doc("redshift of the initial conditions");
  table.option("z_end", &CosmologyRun::z_end, 0.0).range(-0.99, 1100.0).doc("redshift at which the run ends");
  table.option("largest_expansion", &CosmologyRun::largest_expansion, 0.02)
      .range(1e-5, 0.2)
      .doc("largest relative growth of the scale factor in a step");
  table.option("particle_cfl", &CosmologyRun::particle_cfl, 0.4)
      .range(0.01, 1.0)
      .doc("cells that the fastest particle may cross in a step");
  table.option("step_growth", &CosmologyRun::step_growth, 1.3)
      .range(1.01, 10.0)
      .doc("largest growth of the step from one to the next, as they are before one is cut to land on a moment");
  table.option("molecular_weight", &CosmologyRun::molecular_weight, 1.2195)
      .range(0.5, 2.5)
      .doc("mean molecular weight that turns internal energy into temperature [proton masses]");
  table.option("temperature_start", &CosmologyRun::temperature_start, std::nullopt)
      .in(temperature_units())
      .doc("of gas at the mean density at the start, \"214 K\"; without it, that of the time");
  table.parsed<std::string>("initial_conditions", &CosmologyRun::initial_file, "", core::path_of)
      .doc("file of particles or fields to begin with, instead of a random field");
  return table;
}

// What `[hydro]` has beside the options of the solver.
struct GasLimits {
  std::optional<double> temperature_floor;
};

core::Table<GasLimits> limits_table() {
  core::Table<GasLimits> table("Gas of the universe");
  table.option("temperature_floor", &GasLimits::temperature_floor, std::nullopt)
      .in(temperature_units())
      .at_least(0.0)
      .doc("gas is never colder, \"1 K\"; by default a thousandth of what uniform gas has at z_end");
  return table;
}

// The floor of the solver is in supercomoving units; here it is a temperature.
core::Table<solvers::HydroConfig> gas_table() {
  auto table = solvers::hydro_table();
  table.leave_out("internal_energy_floor");
  return table;
}

double standard_temperature_floor(const CosmologyConfig& config) {
  constexpr double share = 1e-3;
  const double expansion = (1.0 + config.run.z_start) / (1.0 + config.run.z_end);
  return share * config.start_temperature() * core::pow(expansion, -3.0 * (config.hydro.gamma - 1.0));
}

// `[cosmology]` holds the keys of three tables, each of which takes those of the others as known.
template <typename T, typename... Others>
T read_part(core::Table<T> table, const core::Node& node, core::Node& resolved, const Others&... others) {
  (
      [&] {
        for (const core::Option& option : others.options()) table.ignore(option.name);
      }(),
      ...);
  core::Node full;
  const T value = table.read(node, &full);
  for (const auto& [name, member] : full.members()) resolved.set(name, member);
  return value;
}

void check_span(const CosmologyConfig& config, const core::Node& node) {
  if (config.run.z_end < config.run.z_start) return;
  const core::Node* end = node.find("z_end");
  core::reject(end != nullptr ? *end : node,
               fmt::format("the run ends at z = {}, but starts at z = {}", config.run.z_end, config.run.z_start),
               "redshift falls with time: `z_end` is below `z_start`");
}

// As many random numbers as particles along the axes that name no others.
void take_random_lattice(CosmologyConfig& config, const core::Node& node) {
  const mesh::Int3 particles = config.particle_lattice();
  for (int axis = 0; axis < 3; ++axis)
    if (auto& points = config.initial.random_lattice[static_cast<std::size_t>(axis)]; points == 0)
      points = particles[axis];
  try {
    coarser_levels(config.initial, particles);
  } catch (const core::Error& error) {
    core::reject(*node.find("random_lattice"), error.message(), error.hint());
  }
}

void check_lattice(const CosmologyConfig& config, const core::Node& node) {
  if (!config.has_gas || config.particle_lattice() == config.mesh.extent()) return;
  core::reject(*node.find("particles"), "with gas there is one particle for each cell",
               "leave `particles` out, or use simulation = \"nbody\"");
}

// Where a file takes the place of the random field, keys of the field would be without effect.
void leave_out_random_field(const CosmologyConfig& config, const core::Node& node, core::Node& full) {
  if (config.run.initial_file.empty()) return;
  full.set("initial_conditions", core::Node(config.run.initial_file));
  for (const core::Option& option : solvers::initial_conditions_table().options()) {
    if (const core::Node* key = node.find(option.name))
      core::reject(*key, fmt::format("`{}` has no effect on initial conditions from a file", option.name),
                   "leave it out, or leave out `initial_conditions`");
    std::erase_if(std::get<core::Node::Members>(full.value()),
                  [&](const auto& member) { return member.first == option.name; });
  }
}

void check_temperature(const CosmologyConfig& config, const core::Node& node) {
  if (!config.run.temperature_start) return;
  const double kelvin = *config.run.temperature_start, light = core::units::speed_of_light;
  if (!(kelvin > 0.0))
    core::reject(*node.find("temperature_start"), "the gas has no temperature", "for example \"214 K\"");
  // Atoms as fast as light would be this hot.
  const double most = config.run.molecular_weight * core::units::proton_mass_over_boltzmann * light * light;
  if (!(kelvin < most))
    core::reject(*node.find("temperature_start"),
                 fmt::format("at {:.3g} K the atoms of the gas are faster than light", kelvin),
                 "for example \"214 K\"; without the key, it has the temperature of the time");
}

// Both kinds of matter, each of which has a mass.
void check_matter(const CosmologyConfig& config, const core::Node& node) {
  const solvers::CosmologyParameters& p = config.parameters;
  if (!config.has_gas || (p.omega_b > 0.0 && p.omega_b < p.omega_m)) return;
  const core::Node* given = node.find("omega_b");
  core::reject(given != nullptr ? *given : node,
               p.omega_b > 0.0 ? "all matter is gas: there is no dark matter" : "there is no gas",
               p.omega_b > 0.0 ? "`omega_m` counts all matter: omega_b is below it"
                               : "give `omega_b` a value above zero, or take simulation = \"nbody\"");
}

core::Table<solvers::HeatingConfig> universe_heating_table() {
  auto table = solvers::heating_table();
  table.leave_out("temperature_floor");  // `[hydro]` has it
  return table;
}

// In the resolved text there is no key that is refused when it is read again.
void leave_out_molecular_weight(core::Node& resolved) {
  core::Node cosmology = *resolved.find("cosmology");
  std::erase_if(std::get<core::Node::Members>(cosmology.value()),
                [](const auto& member) { return member.first == "molecular_weight"; });
  resolved.set("cosmology", cosmology);
}

void read_heating(const core::Node& root, const core::Node& node, CosmologyConfig& config, core::Node& resolved) {
  core::Node full;
  config.heating = universe_heating_table().read(node, &full);
  full.set("uv_background", core::Node(config.heating->uv_background));
  config.heating->temperature_floor = std::max(config.heating->temperature_floor, config.temperature_floor);
  resolved.set("heating", full);
  if (config.hydro.gamma != solvers::HydroConfig().gamma)
    core::reject(*root.find("hydro")->find("gamma"), "gas that is heated and cools is of single atoms: gamma is 5/3",
                 "leave `gamma` out, or leave `[heating]` out");
  if (const core::Node* weight = root.find("cosmology")->find("molecular_weight"))
    core::reject(*weight, "with `[heating]` the molecular weight follows from the ionisation of the gas",
                 "leave `molecular_weight` out");
  leave_out_molecular_weight(resolved);
  const solvers::UvBackground background = named_background(config.heating->uv_background, node);
  const BackgroundUse end{config.run.z_end, "the run ends at"};
  check_has_set_in(background, end, node);
  check_goes_on(background, end, node);
  config.uv_digest = background.digest();
}

// Particles stay within a cell of their level while it takes two steps; levels share the seven-point Laplacian.
void check_refinement(const CosmologyConfig& config, const core::Node& root) {
  if (config.amr.max_level == 0) return;
  if (config.run.particle_cfl > largest_refined_particle_cfl)
    core::reject(
        *root.find("cosmology")->find("particle_cfl"),
        fmt::format("on a refined mesh particles cross at most {} cells in a step", largest_refined_particle_cfl));
  if (config.gravity.green != "seven-point")
    core::reject(*root.find("gravity")->find("green"), "on a refined mesh gravity uses the seven-point Laplacian",
                 "leave `green` out");
}

}  // namespace

void tell_universe(const CosmologyConfig& config, mesh::Moment& moment) {
  const solvers::CosmologyParameters& p = config.parameters;
  moment.attributes.insert({{"box_mpc", config.run.box_mpc},
                            {"hubble", p.hubble},
                            {"omega_lambda", p.lambda()},
                            {"omega_m", p.omega_m},
                            {"omega_b", config.has_gas ? p.omega_b : 0.0},
                            {"sigma8", p.sigma8},
                            {"ns", p.ns}});
  if (const auto mass = config.initial.wdm_mass_kev) moment.attributes["wdm_mass_kev"] = *mass;
  if (config.heating) tell_heating(*config.heating, moment);
}

std::string words_of_box(double box_mpc) {
  return fmt::format("{} Mpc", box_mpc);
}

std::map<std::string, std::string> physics_of(const CosmologyConfig& config) {
  std::map<std::string, std::string> all{{fft_engine_key, std::string(fft::engine)}};
  const auto add = [&](const char* table, const char* key, const auto& value) {
    all[fmt::format("{}.{}", table, key)] = fmt::format("{}", value);
  };
  const solvers::CosmologyParameters& p = config.parameters;
  for (const auto& [key, value] : {std::pair{"omega_m", p.omega_m},
                                   {"omega_b", p.omega_b},
                                   {"omega_lambda", p.lambda()},
                                   {"hubble", p.hubble},
                                   {"sigma8", p.sigma8},
                                   {"ns", p.ns},
                                   {"t_cmb", p.t_cmb}})
    add("cosmology", key, value);
  all[box_key] = words_of_box(config.run.box_mpc);
  if (config.run.initial_file.empty()) add("cosmology", "seed", config.initial.seed);
  if (const auto mass = config.initial.wdm_mass_kev) add("cosmology", "wdm_mass", fmt::format("{} keV", *mass));
  if (config.has_gas) add("hydro", "gamma", config.hydro.gamma);
  if (!config.heating) return all;
  const solvers::HeatingConfig& heating = *config.heating;
  // A table that was moved is the same.
  add("heating", "uv_background",
      fmt::format("{} ({})", std::filesystem::path(heating.uv_background).filename().string(), config.uv_digest));
  add("heating", "rates", heating.rates);
  add("heating", "self_shielding", heating.self_shielding);
  add("heating", "ionization_factor", heating.ionization_factor);
  add("heating", "heating_factor", heating.heating_factor);
  add("heating", "heating_exponent", heating.heating_exponent);
  if (heating.hydrogen_reionization) add("heating", "hydrogen_reionization", *heating.hydrogen_reionization);
  if (heating.helium_reionization) add("heating", "helium_reionization", *heating.helium_reionization);
  return all;
}

void check_floor(const CosmologyConfig& config) {
  if (config.temperature_floor <= config.start_temperature()) return;
  throw core::Error(fmt::format("`hydro.temperature_floor` is {:.4g} K, but the gas begins with {:.4g} K",
                                config.temperature_floor, config.start_temperature()),
                    "[hydro]", "a floor that is above the start would heat all gas at once: lower it");
}

void check_power(const CosmologyConfig& config) {
  int finest = 0;
  for (const amr::Criterion& criterion : config.amr.criteria)
    if (criterion.fields.empty()) finest = std::max(finest, std::min(criterion.max_level, config.amr.max_level));
  mesh::Geometry lattice = config.geometry();
  lattice.domain = mesh::domain_of(config.particle_lattice());
  const solvers::LinearPower power = solvers::initial_power(config.initial, config.parameters);
  power(solvers::largest_wavenumber(lattice.refined(finest)));
}

mesh::Geometry CosmologyConfig::geometry() const {
  const mesh::Int3 cells = mesh.extent();
  const double size = run.box_mpc / cells.x;
  return {mesh::domain_of(cells), {size * cells.x, size * cells.y, size * cells.z}, {true, true, true}};
}

mesh::Int3 CosmologyConfig::particle_lattice() const {
  mesh::Int3 lattice;
  for (int axis = 0; axis < 3; ++axis) {
    const auto asked = initial.particles[static_cast<std::size_t>(axis)];
    lattice[axis] = asked > 0 ? asked : mesh.extent()[axis];
  }
  return lattice;
}

double CosmologyConfig::start_temperature() const {
  const double a = solvers::scale_factor(run.z_start);
  return run.temperature_start.value_or(solvers::initial_gas_temperature(a, parameters.t_cmb));
}

double CosmologyConfig::temperature_factor(double a) const {
  return (hydro.gamma - 1.0) * run.molecular_weight * core::units::proton_mass_over_boltzmann / (a * a);
}

// Gas with its ghost cells, and what gravity and the particles keep; see docs/concepts/cosmology.md.
double CosmologyConfig::bytes_per_cell() const {
  const double block = mesh.block;
  const auto with_ghosts = [&](double ghost) { return core::pow((block + 2.0 * ghost) / block, 3); };
  const double state = has_gas ? 8.0 * solvers::gas_components : 0.0;
  const double gas = state * with_ghosts(solvers::hydro_ghost);
  // Density, potential, what deposit and transform share, and on several ranks the transform's lines and messages.
  if (amr.max_level == 0) return gas + 8.0 + 8.0 * with_ghosts(2) + 8.0 * with_ghosts(1) + 32.0;
  // The state and the acceleration before a step, three levels of the potential and one laid aside, and wider ghost
  // layers.
  return gas + state + 8.0 + 48.0 * with_ghosts(2) + 48.0 * with_ghosts(1) + 8.0 * with_ghosts(2);
}

GasUnits CosmologyConfig::gas_units(double a) const {
  return {hydro.gamma, 1.0 / a, temperature_factor(a), parameters.baryon_density(), true};
}

std::vector<mesh::Quantity> cosmology_quantities(const CosmologyConfig& config) {
  std::vector<mesh::Quantity> all{
      {"dark_matter_density", "Msun/Mpc^3", "mass of the dark matter in a comoving volume"},
      {"dark_matter_overdensity", "1", "density of the dark matter in units of its mean"},
      {"potential", "(km/s)^2", "of gravity, of all matter's deviations from the mean", config.amr.max_level > 0}};
  if (!config.has_gas) return all;
  for (const GasQuantity& gas : universe_gas(config, 1.0, nullptr)) all.push_back(gas.quantity);
  return all;
}

CosmologyConfig read_cosmology(const core::Node& root, bool has_gas, core::Node& resolved) {
  CosmologyConfig config;
  config.has_gas = has_gas;
  config.mesh = read_mesh(root, resolved);
  if (std::ranges::min(config.mesh.cells) < 8)
    core::reject(*root.find("mesh")->find("cells"), "a cosmological box has at least 8 cells along each axis");

  const core::Node* node = root.find("cosmology");
  if (node == nullptr) core::reject(root, "the table `[cosmology]` is missing", "it takes at least box = \"14.2 Mpc\"");
  core::Node full = *node;
  const auto parameters = solvers::cosmology_table();
  const auto initial = solvers::initial_conditions_table();
  config.parameters = read_part(parameters, *node, full, initial, run_table(1.0));
  solvers::check(config.parameters);
  config.initial = read_part(initial, *node, full, parameters, run_table(1.0));
  config.run = read_part(run_table(config.parameters.hubble), *node, full, parameters, initial);
  check_span(config, *node);
  take_random_lattice(config, *node);
  check_lattice(config, *node);
  check_temperature(config, *node);
  check_matter(config, *node);
  leave_out_random_field(config, *node, full);
  resolved.set("cosmology", full);

  core::Node part;
  config.gravity = solvers::gravity_table().read(table_or_empty(root, "gravity"), &part);
  resolved.set("gravity", part);
  if (has_gas) {
    core::Node gas;
    const core::Node hydro = table_or_empty(root, "hydro");
    config.hydro = read_part(gas_table(), hydro, gas, limits_table());
    solvers::check(config.hydro);
    const GasLimits limits = read_part(limits_table(), hydro, gas, gas_table());
    config.temperature_floor = limits.temperature_floor.value_or(standard_temperature_floor(config));
    if (config.run.initial_file.empty() || config.run.temperature_start) check_floor(config);
    gas.set("temperature_floor", core::Node(fmt::format("{} K", config.temperature_floor)));
    resolved.set("hydro", gas);
    if (const core::Node* heating = root.find("heating")) read_heating(root, *heating, config, resolved);
  }
  config.amr = read_amr(root, config.mesh, cosmology_quantities(config), {"potential"}, true, resolved);
  check_refinement(config, root);
  if (config.run.initial_file.empty()) solvers::initial_power(config.initial, config.parameters);
  return config;
}

std::map<std::string, std::vector<core::Option>> cosmology_options(bool has_gas) {
  std::vector<core::Option> all = run_table(1.0).options();
  for (const auto& part : {solvers::cosmology_table().options(), solvers::initial_conditions_table().options()})
    all.insert(all.end(), part.begin(), part.end());
  std::map<std::string, std::vector<core::Option>> tables{{"mesh", mesh_table().options()},
                                                          {"amr", amr_table().options()},
                                                          {"cosmology", all},
                                                          {"gravity", solvers::gravity_table().options()}};
  if (has_gas) {
    tables["hydro"] = gas_table().options();
    for (const core::Option& option : limits_table().options()) tables["hydro"].push_back(option);
    tables["heating"] = universe_heating_table().options();
  }
  return tables;
}

}  // namespace sidestream::sims
