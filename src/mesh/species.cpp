#include "sidestream/mesh/species.hpp"

#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

const Particles* Species::particles() const {
  if (given_->provide) given_->particles = std::make_shared<const Particles>(std::exchange(given_->provide, {})());
  return given_->particles.get();
}

Particles Species::take() const {
  if (given_->provide) return std::exchange(given_->provide, {})();
  core::require(given_->particles != nullptr, "a species has no particles to take");
  return *given_->particles;
}

std::vector<std::string> names_of(const std::vector<Species>& species) {
  std::vector<std::string> all;
  for (const Species& one : species) all.push_back(one.name());
  return all;
}

}  // namespace sidestream::mesh
