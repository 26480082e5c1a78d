#include "sims/config/file_sizes.hpp"

#include <algorithm>

namespace sidestream::sims {

namespace {

double particle_bytes(const RunConfig& config, const std::string& grid) {
  double bytes = 0.0;
  for (const couple::ExpectedSpecies& one : config.plan->species(grid)) bytes += one.bytes;
  return bytes;
}

// In a checkpoint the state counts, and what is shown beside it.
double fields_of(const std::vector<mesh::Quantity>& all, const io::FileChoice& choice) {
  if (choice.kind != io::FileKind::checkpoint) return static_cast<double>(choice.quantities.size());
  const auto is_stored = [&](const mesh::Quantity& quantity) {
    return quantity.is_state || std::ranges::find(choice.quantities, quantity.name) != choice.quantities.end();
  };
  return static_cast<double>(std::ranges::count_if(all, is_stored));
}

}  // namespace

double file_bytes(const RunConfig& config, const io::FileChoice& choice) {
  const auto cells = static_cast<double>(config.plan->cells().product());
  const double particles = particle_bytes(config, "");
  const double fields = fields_of(config.quantities(), choice);
  if (choice.kind == io::FileKind::checkpoint) return 8.0 * cells * fields + particles;
  const double number_bytes = choice.precision == io::Precision::single_precision ? 4.0 : 8.0;
  return number_bytes * cells * fields + choice.particle_share * particles;
}

double carried_bytes(const RunConfig& config, const OutputConfig& output) {
  const mesh::Grid grid = config.grids().at(output.grid);
  const double share = output.file.kind == io::FileKind::checkpoint ? 1.0 : output.file.particle_share;
  return 8.0 * static_cast<double>(grid.domain.volume()) * fields_of(grid.quantities, output.file) +
         share * particle_bytes(config, output.grid);
}

}  // namespace sidestream::sims
