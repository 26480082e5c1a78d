#include <nlohmann/json.hpp>

#include "sims/problems/parts.hpp"

namespace sidestream::sims {

namespace {

/// The keys of `[example]`.
struct ExampleConfig {
  double speed = 1.0, contrast = 2.0, end = 1.0;
};

core::Table<ExampleConfig> example_table() {
  core::Table<ExampleConfig> table("A slab of dense gas, carried along x through a periodic box by a wind");
  table.option("speed", &ExampleConfig::speed, 1.0).range(-largest_speed, largest_speed).doc("speed of the wind");
  table.option("contrast", &ExampleConfig::contrast, 2.0).at_least(least_amount).doc("density of the slab");
  table.option("end", &ExampleConfig::end, 1.0).at_least(0.0).doc("time at which the run ends");
  return table;
}

/// Gas at the same pressure and velocity everywhere: its density moves along as it is.
struct ExampleSlab {
  ExampleConfig config;
  double gamma;

  // Mean density of the cells whose faces are at `low` and `high` along x, at a time.
  double density(double low, double high, double time) const {
    const auto dense_before = [](double x) { return 0.5 * std::floor(x) + std::min(x - std::floor(x), 0.5); };
    const double moved = config.speed * time;
    const double share = (dense_before(high - moved) - dense_before(low - moved)) / (high - low);
    return 1.0 + (config.contrast - 1.0) * share;
  }
  double density(const mesh::Geometry& level, mesh::Int3 cell, double time) const {
    return density(cell.x * level.cell_size(0), (cell.x + 1) * level.cell_size(0), time);
  }
};

nlohmann::json measure_example(const ExampleSlab& slab, const comm::Communicator& comm,
                               const mesh::Snapshot& snapshot) {
  MeanDifference error;
  for_each_leaf_cell<1>(snapshot, {"gas_density"},
                        [&](int, const mesh::Geometry& level, mesh::Int3 at, const std::array<double, 1>& values) {
                          error.add(values[0] - slab.density(level, at, snapshot.moment.time), level.cell_volume());
                        });
  return {{"density_l1_error", error.value(comm)}};
}

GasProblem read_example(const core::Node& root, mesh::Int3 cells, const solvers::HydroConfig& hydro,
                        core::Node& resolved) {
  core::Node part;
  const ExampleSlab slab{example_table().read(table_or_empty(root, "example"), &part), hydro.gamma};
  resolved.set("example", part);
  const double size = 1.0 / cells.x;
  GasProblem problem;
  problem.geometry = {mesh::domain_of(cells), {1.0, size * cells.y, size * cells.z}, {true, true, true}};
  problem.end = slab.config.end;
  problem.initial = [slab](const mesh::Geometry& level, mesh::Int3 cell, const mesh::Geometry&) {
    return gas_cell({slab.density(level, cell, 0.0), {slab.config.speed, 0.0, 0.0}, 1.0}, slab.gamma);
  };
  problem.measure = [slab](const comm::Communicator& comm, const mesh::Snapshot& snapshot) {
    return measure_example(slab, comm, snapshot);
  };
  return problem;
}

}  // namespace

GasProblemEntry example_problem() {
  return {"example", "a slab of dense gas in a wind", {}, [] { return example_table().options(); }, read_example};
}

}  // namespace sidestream::sims
