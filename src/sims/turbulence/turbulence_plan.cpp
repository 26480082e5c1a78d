#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sidestream/fft/engine.hpp"
#include "sims/checks/same_physics.hpp"
#include "sims/registry.hpp"
#include "sims/turbulence/flow_views.hpp"
#include "sims/turbulence/tracer_physics.hpp"
#include "sims/turbulence/turbulence.hpp"
#include "sims/turbulence/turbulence_config.hpp"

namespace sidestream::sims {

namespace {

constexpr const char* length_key = "turbulence.length";

std::string words_of_length(const std::array<double, 3>& length) {
  return fmt::format("{}, {}, {}", length[0], length[1], length[2]);
}

class TurbulencePlan final : public SimulationPlan {
 public:
  explicit TurbulencePlan(TurbulenceConfig config) : config_(std::move(config)) {}

  mesh::Int3 cells() const override {
    const mesh::Int3 highest = config_.grid().highest();
    return {highest.x + 1, 2 * highest.y + 1, 2 * highest.z + 1};
  }
  // States at the beginning of a step and of the next stage, sums, products of velocities; the messages of a transform.
  double memory_bytes() const override {
    const double scalars = static_cast<double>(config_.scalars.size());
    const std::int64_t waves = cells().product();
    const double real = config_.is_single() ? sizeof(float) : sizeof(double);
    const double modes = 2.0 * real * static_cast<double>(waves) * (2.0 * (3.0 + scalars) + 5.0 + 4.0 * scalars);
    const double cells = real * static_cast<double>(config_.mesh.extent().product());
    if (config_.tracers.empty()) return modes + cells * (5.0 + 3.0 * scalars + 3.0);
    return modes + 3.0 * 2.0 * real * static_cast<double>(waves) + cells * (5.0 + 3.0 * scalars + 6.0) + tracer_bytes();
  }
  double least_memory_bytes() const override { return memory_bytes(); }
  std::vector<couple::ExpectedSpecies> species(const std::string&) const override {
    std::vector<couple::ExpectedSpecies> all;
    for (const TracerSpecies& one : config_.tracers)
      all.push_back({one.name, {"xvel", "yvel", "zvel"}, 56.0 * static_cast<double>(one.count)});
    return all;
  }
  io::Precision precision() const override {
    return config_.is_single() ? io::Precision::single_precision : io::Precision::double_precision;
  }
  couple::TimeKeeping times() const override {
    return {.has_redshift = false, .first_time = 0.0, .last_time = config_.end};
  }
  std::vector<mesh::Quantity> quantities() const override { return mode_quantities(config_.scalars); }
  mesh::Grids other_grids() const override {
    const mesh::Box rows = solvers::KeptWaves(config_.grid()).rows(1).domain();
    return {{space_grid, {config_.geometry().domain, space_quantities(config_.scalars)}},
            {kept_grid, {rows, mode_quantities(config_.scalars)}},
            {two_components_grid, {rows, two_component_quantities(config_.scalars)}}};
  }
  nlohmann::json description() const override {
    const mesh::Int3 n = config_.mesh.extent(), waves = config_.grid().highest();
    return {{"cells", {n.x, n.y, n.z}},
            {"block", config_.mesh.block},
            {"end", config_.end},
            {"waves", {waves.x, waves.y, waves.z}},
            {"kmax", config_.grid().largest()},
            {"viscosity", config_.viscosity},
            {"initial_flow", config_.initial.flow},
            {"precision", config_.precision},
            {"length", config_.length}};
  }
  std::map<std::string, std::string> physics() const override {
    std::map<std::string, std::string> all{{fft_engine_key, std::string(fft::engine)},
                                           {"turbulence.viscosity", fmt::format("{}", config_.viscosity)},
                                           {"turbulence.rotation", fmt::format("{}", config_.rotation)},
                                           {length_key, words_of_length(config_.geometry().length)},
                                           {"forcing.kind", config_.forcing.kind}};
    if (config_.is_single())
      all["turbulence.precision"] = config_.precision;  // earlier checkpoints, of doubles, have no word
    for (const TracerSpecies& species : config_.tracers) all[key_of(species)] = words_of(species);
    for (const solvers::PassiveScalar& scalar : config_.scalars)
      all["scalar." + scalar.name] = fmt::format("diffusivity {}, mean gradient {}, {}, {}", scalar.diffusivity,
                                                 scalar.gradient[0], scalar.gradient[1], scalar.gradient[2]);
    return all;
  }
  // The box, to which the waves belong, and tracers.
  std::map<std::string, std::string> physics_of_start(const io::FileDescription& file) const override {
    std::map<std::string, std::string> all{{length_key, words_of_length(file.state.geometry.length)}};
    for (const io::FileSpecies& in_file : io::species_in(file))
      for (const TracerSpecies& species : config_.tracers)
        if (species.name == in_file.name) all[key_of(species)] = words_in(file.state, species, in_file.particles);
    return all;
  }
  void check_start(bool) const override {
    if (config_.initial.flow == "random") solvers::shell_energies(config_.initial, config_.grid());
    if (const std::string problem = solvers::problem_of_wave(config_.initial, config_.grid()); !problem.empty())
      throw core::Error(problem, "key `initial.wave`", "take longer waves, or more cells; each is of either sign");
    const std::string& kind = config_.forcing.kind;
    if (kind != "none" && solvers::forcings().named(kind).needs_velocity && solvers::is_at_rest(config_.initial))
      throw core::Error(fmt::format("a forcing of the kind `{}` does nothing to a flow at rest", kind),
                        "key `forcing.kind`", "begin with another `initial.flow`, or take \"stochastic\"");
  }
  std::unique_ptr<Simulation> make(const comm::Communicator& compute, const couple::Landings& landings,
                                   core::Bill& bill) const override {
    return make_turbulence(config_, compute, landings, bill);
  }

 private:
  // Id, position, where it began its step, the sum of its stages and a velocity.
  double tracer_bytes() const {
    double bytes = 0.0;
    for (const TracerSpecies& one : config_.tracers) bytes += 104.0 * static_cast<double>(one.count);
    return bytes;
  }

  TurbulenceConfig config_;
};

}  // namespace

SimulationEntry turbulence_entry() {
  return {"turbulence",
          "incompressible turbulence in a periodic box, by a pseudo-spectral method",
          {"mesh", "turbulence", "initial", "forcing", "scalar", "tracers"},
          [](const core::Node& root, core::Node& resolved) -> std::unique_ptr<SimulationPlan> {
            return std::make_unique<TurbulencePlan>(read_turbulence(root, resolved));
          },
          turbulence_options,
          [] { return mode_quantities({}); }};
}

}  // namespace sidestream::sims
