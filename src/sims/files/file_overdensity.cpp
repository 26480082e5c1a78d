#include "sims/files/file_overdensity.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/solvers/cosmology_parameters.hpp"

namespace sidestream::sims {

namespace {

// Of a file that tells which matter there is.
std::optional<solvers::CosmologyParameters> universe_in(const mesh::Moment& moment) {
  const auto& told = moment.attributes;
  if (!told.contains("omega_m") || !told.contains("omega_b") || !told.contains("hubble")) return std::nullopt;
  solvers::CosmologyParameters universe;
  universe.omega_m = told.at("omega_m");
  universe.omega_b = told.at("omega_b");
  universe.hubble = told.at("hubble");
  return universe;
}

void add_over(double mean, const mesh::Quantity& quantity, const std::string& density, mesh::Snapshot& file) {
  file.add_derived(quantity, {density},
                   [unit = 1.0 / mean](const mesh::Box& box, std::span<const core::View4<const double>> of,
                                       const core::View4<double>& out) {
                     core::for_each_cell(box, [&](int k, int j, int i) { out(k, j, i) = unit * of[0](k, j, i); });
                   });
}

void add_over_box(const comm::Communicator& world, const mesh::Quantity& quantity, const std::string& density,
                  mesh::Snapshot& file) {
  file.add(quantity, [&world, &file, density, mean = std::make_shared<std::optional<double>>()](int level) {
    if (!*mean) *mean = analysis::mean(world, analysis::field_or_total(file, density), density);
    const auto field = std::make_shared<mesh::Field<double>>(file.levels[static_cast<std::size_t>(level)], file.rank);
    file.read(density, level, *field);
    for (double& value : field->all()) value /= **mean;
    return mesh::AnyField(std::shared_ptr<const mesh::Field<double>>(field));
  });
}

}  // namespace

void add_overdensities(const comm::Communicator& world, const std::vector<std::string>& but, mesh::Snapshot& file,
                       Sources& sources) {
  if (file.length_unit != "Mpc" || !file.moment.redshift()) return;
  const auto universe = universe_in(file.moment);
  const auto add = [&](const mesh::Quantity& quantity, const std::string& density, double mean) {
    if (!file.has(density) || file.has(quantity.name) || std::ranges::find(but, quantity.name) != but.end()) return;
    sources[quantity.name] = {density};
    mean > 0.0 ? add_over(mean, quantity, density, file) : add_over_box(world, quantity, density, file);
  };
  const double baryons = universe ? universe->baryon_density() : 0.0;
  add({"gas_overdensity", "1", "density of the gas in units of its mean"}, "gas_density", baryons);
  add({"dark_matter_overdensity", "1", "density of the dark matter in units of its mean"}, "dark_matter_density",
      universe ? universe->matter_density() - baryons : 0.0);
}

}  // namespace sidestream::sims
