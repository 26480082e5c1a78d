#include "sidestream/mesh/species.hpp"

#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

const Particles* Species::particles() const {
  if (provide_) particles_ = std::make_shared<const Particles>(std::exchange(provide_, {})());
  return particles_.get();
}

Particles Species::take() const {
  if (provide_) return std::exchange(provide_, {})();
  core::require(particles_ != nullptr, "a species has no particles to take");
  return *particles_;
}

std::vector<std::string> names_of(const std::vector<Species>& species) {
  std::vector<std::string> all;
  for (const Species& one : species) all.push_back(one.name());
  return all;
}

}  // namespace sidestream::mesh
