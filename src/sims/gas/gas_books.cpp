#include "sims/gas/gas_books.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace sidestream::sims {

namespace {

constexpr std::array cell_names{"first_order_cells", "density_floored_cells", "energy_floored_cells",
                                "heating_floored_cells"};
constexpr std::array amount_names{"floor_mass", "floor_energy", "heating_energy"};
enum Amount { floor_mass, floor_energy, heating_energy };

std::string attribute_name(const char* name) {
  return std::string("booked_") + name;
}

}  // namespace

void GasBooks::enter(const comm::Communicator& comm, const solvers::HydroBooks& step,
                     const solvers::HeatingBooks& heating) {
  std::array<std::int64_t, cell_counts> cells{step.first_order_cells, step.density_floors, step.energy_floors,
                                              heating.floors};
  std::array<core::ExactSum, amounts> sums{step.floor_mass, step.floor_energy, heating.energy};
  comm.sum(std::span(cells));
  comm.sum(std::span(sums));
  for (std::size_t n = 0; n < cell_counts; ++n) cells_[n] += cells[n];
  for (std::size_t n = 0; n < amounts; ++n) amounts_[n] += sums[n].value();
}

std::int64_t GasBooks::floored_cells() const {
  return cells_[1] + cells_[2] + cells_[3];
}

double GasBooks::energy() const {
  return amounts_[floor_energy] + amounts_[heating_energy];
}

nlohmann::json GasBooks::to_json() const {
  nlohmann::json books = nlohmann::json::object();
  for (std::size_t n = 0; n < told_counts(); ++n) books[cell_names[n]] = cells_[n];
  for (std::size_t n = 0; n < told_amounts(); ++n) books[amount_names[n]] = amounts_[n];
  return books;
}

std::string GasBooks::problem() const {
  for (std::size_t n = 0; n < amounts; ++n)
    if (!std::isfinite(amounts_[n])) return fmt::format("the `{}` of the gas is {}", amount_names[n], amounts_[n]);
  return "";
}

void GasBooks::store(std::map<std::string, double>& attributes) const {
  for (std::size_t n = 0; n < told_counts(); ++n)
    attributes[attribute_name(cell_names[n])] = static_cast<double>(cells_[n]);
  for (std::size_t n = 0; n < told_amounts(); ++n) attributes[attribute_name(amount_names[n])] = amounts_[n];
}

// Checkpoints of versions that kept no books have none of these: they begin anew.
void GasBooks::restore(const std::map<std::string, double>& attributes) {
  const auto value = [&](const char* name) {
    const auto found = attributes.find(attribute_name(name));
    return found != attributes.end() ? found->second : 0.0;
  };
  for (std::size_t n = 0; n < cell_counts; ++n) cells_[n] = static_cast<std::int64_t>(value(cell_names[n]));
  for (std::size_t n = 0; n < amounts; ++n) amounts_[n] = value(amount_names[n]);
}

}  // namespace sidestream::sims
