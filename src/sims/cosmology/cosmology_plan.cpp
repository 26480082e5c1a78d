#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"
#include "sims/cosmology/cosmology.hpp"
#include "sims/cosmology/cosmology_config.hpp"
#include "sims/cosmology/initial_matter.hpp"
#include "sims/cosmology/initial_universe.hpp"
#include "sims/registry.hpp"

namespace sidestream::sims {

namespace {

class CosmologyPlan : public SimulationPlan {
 public:
  explicit CosmologyPlan(CosmologyConfig config)
      : config_(std::move(config)), particles_(static_cast<double>(initial_particles(config_))) {}

  mesh::Int3 cells() const override { return config_.mesh.extent(); }

  // A refined mesh may grow to its budget of blocks, but not beyond the finest level everywhere.
  double memory_bytes() const override {
    const double block_cells = core::pow(config_.mesh.block, 3);
    double blocks = 0.0;
    for (int level = 0; level <= config_.amr.max_level; ++level)
      blocks += static_cast<double>(cells().product()) / block_cells * core::pow(8.0, level);
    if (config_.amr.max_level > 0) blocks = std::min(blocks, static_cast<double>(config_.amr.max_blocks));
    return config_.bytes_per_cell() * blocks * block_cells + 64.0 * particles_;
  }

  // Id, position and momentum.
  std::vector<couple::ExpectedSpecies> species(const std::string&) const override {
    return {{mesh::dark_matter, {"mass", "xvel", "yvel", "zvel"}, 56.0 * particles_}};
  }

  void check_start(bool reads_all) const override {
    if (config_.run.initial_file.empty())
      check_power(config_);
    else
      check_initial_file(config_, reads_all);
  }

  couple::TimeKeeping times() const override {
    static const core::Units units{{"Gyr", 1.0 / core::units::gyr_per_time_unit},
                                   {"Myr", 1e-3 / core::units::gyr_per_time_unit}};
    const solvers::Background background(config_.parameters);
    const auto time = [&](double z) { return background.time(solvers::scale_factor(z)); };
    const double first = config_.run.z_start, last = config_.run.z_end;
    return {true, &units, 1.0 / core::units::gyr_per_time_unit, time(first), time(last), first, last};
  }
  std::vector<mesh::Quantity> quantities() const override { return cosmology_quantities(config_); }

  std::map<std::string, std::string> physics() const override { return physics_of(config_); }
  // The box, to which positions belong.
  std::map<std::string, std::string> physics_of_start(const io::FileDescription& file) const override {
    if (file.state.length_unit != "Mpc") return {};
    const double in_file = file.state.geometry.length[0], wanted = config_.run.box_mpc;
    const bool is_same = std::abs(in_file - wanted) <= largest_difference_in_file * wanted;
    return {{box_key, words_of_box(is_same ? wanted : in_file)}};
  }

  double blocks() const override {
    return config_.amr.max_level > config_.amr.min_level ? 0.0 : block_count(config_.mesh, config_.amr.min_level);
  }
  nlohmann::json description() const override {
    const mesh::Int3 n = cells();
    nlohmann::json description{{"cells", {n.x, n.y, n.z}},
                               {"block", config_.mesh.block},
                               {"max_level", config_.amr.max_level},
                               {"box_mpc", config_.run.box_mpc},
                               {"z_start", config_.run.z_start},
                               {"z_end", config_.run.z_end},
                               {"omega_m", config_.parameters.omega_m},
                               {"hubble", config_.parameters.hubble},
                               {"has_gas", config_.has_gas},
                               {"uv_background", config_.heating ? config_.heating->uv_background : ""}};
    if (const auto mass = config_.initial.wdm_mass_kev) description["wdm_mass_kev"] = *mass;
    return description;
  }

  std::unique_ptr<Simulation> make(const comm::Communicator& compute, const couple::Landings& landings,
                                   core::Bill& bill) const override {
    return make_cosmology(config_, compute, landings, bill);
  }

 private:
  CosmologyConfig config_;
  double particles_;
};

SimulationEntry entry(const char* name, const char* documentation, bool has_gas) {
  std::vector<std::string> tables{"mesh", "amr", "refine", "cosmology", "gravity"};
  if (has_gas) tables.insert(tables.end(), {"hydro", "heating"});
  return {name,
          documentation,
          tables,
          [has_gas](const core::Node& root, core::Node& resolved) {
            return std::make_unique<CosmologyPlan>(read_cosmology(root, has_gas, resolved));
          },
          [has_gas] { return cosmology_options(has_gas); },
          [has_gas] {
            CosmologyConfig config;
            config.has_gas = has_gas;
            return cosmology_quantities(config);
          }};
}

}  // namespace

SimulationEntry cosmology_entry() {
  return entry("cosmology", "gas, dark matter and gravity in an expanding box", true);
}
SimulationEntry nbody_entry() {
  return entry("nbody", "dark matter alone in an expanding box", false);
}

}  // namespace sidestream::sims
