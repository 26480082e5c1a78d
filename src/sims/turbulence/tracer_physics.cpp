#include "sims/turbulence/tracer_physics.hpp"

#include <fmt/format.h>

#include <map>

#include "sims/checks/same_physics.hpp"

namespace sidestream::sims {

std::string key_of(const TracerSpecies& species) {
  return "tracers." + species.name;
}

std::string words_of(const TracerSpecies& species) {
  return fmt::format("{}, seed {}", species.count, species.seed);
}

std::string words_in(const mesh::Snapshot& file, const TracerSpecies& species, std::int64_t count) {
  const std::map<std::string, std::string> kept = physics_in(file);
  if (const auto found = kept.find(key_of(species)); found != kept.end()) return found->second;
  return count == species.count ? words_of(species) : fmt::format("{}", count);
}

}  // namespace sidestream::sims
