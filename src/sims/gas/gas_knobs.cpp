#include "sims/gas/gas_knobs.hpp"

#include <string>
#include <utility>

namespace sidestream::sims {

namespace {

// Steps of less than this would take a run nowhere.
constexpr double least_courant = 1e-3;

}  // namespace

std::vector<couple::Knob> gas_knobs(solvers::HydroConfig& config, const std::function<void()>& take_up) {
  const std::vector<core::Option> options = solvers::hydro_table().options();
  const auto option = [&](const char* key) { return couple::option_of(options, "hydro", key); };
  core::Option courant = option("cfl");
  courant.minimum = least_courant;
  return {couple::make_knob(std::move(courant), config.cfl, take_up),
          couple::make_knob(option("riemann"), config.riemann, take_up),
          couple::make_knob(option("flattening"), config.flattening, take_up)};
}

}  // namespace sidestream::sims
