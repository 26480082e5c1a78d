#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/mesh/particles.hpp"

namespace sidestream::mesh {

/// What particles are called where nobody says anything else.
inline constexpr const char* dark_matter = "dark_matter";

/// One number of each particle as files hold it: `factor` times an attribute, or `factor` for all where `attribute` is
/// empty.
struct ParticleNumber {
  std::string name, unit, attribute;
  double factor = 1.0;
};

/// Particles of one kind, such as dark matter, stars or tracers, with attributes of their own. Ids tell particles of a
/// species from each other; those of another species may be the same. All ranks have the same species.
class Species {
 public:
  /// Gives the particles of this rank: called at most once, by all ranks together.
  using Provider = std::function<Particles()>;

  /// `particles` outlive the snapshot; null where this rank has none.
  Species(std::string name, const Particles* particles) : Species(std::move(name)) {
    given_->particles = {std::shared_ptr<void>(), particles};
  }
  Species(std::string name, Particles particles) : Species(std::move(name)) {
    given_->particles = std::make_shared<const Particles>(std::move(particles));
  }
  Species(std::string name, Provider provide) : Species(std::move(name)) { given_->provide = std::move(provide); }

  const std::string& name() const { return name_; }
  /// Of this rank, each in a leaf of its own. All ranks ask together the first time.
  const Particles* particles() const;
  /// The same for somebody who alters them: without a copy where nobody has asked for them yet, and none are left then.
  Particles take() const;

  /// The particles of this rank as they are stored, a set for each level, each in a block of its rank there; none, or
  /// one for each level.
  std::vector<std::shared_ptr<const Particles>> stored;
  /// What a plot file tells of them.
  std::vector<ParticleNumber> numbers;

 private:
  explicit Species(std::string name) : name_(std::move(name)) {}

  // Copies share what was given.
  struct Given {
    std::shared_ptr<const Particles> particles;
    Provider provide;
  };
  std::string name_;
  std::shared_ptr<Given> given_ = std::make_shared<Given>();
};

/// The names of `species`, in their order.
std::vector<std::string> names_of(const std::vector<Species>& species);

}  // namespace sidestream::mesh
