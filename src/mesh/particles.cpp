#include "sidestream/mesh/particles.hpp"

#include <fmt/format.h>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

namespace {

template <typename P>
auto& find_attribute(P& particles, const std::string& name) {
  for (auto& attribute : particles.attributes)
    if (attribute.name == name) return attribute.values;
  std::string known;
  for (const auto& attribute : particles.attributes) known += (known.empty() ? "" : ", ") + attribute.name;
  throw core::Error(fmt::format("the particles have no attribute `{}`", name), "", fmt::format("they have: {}", known));
}

}  // namespace

void Particles::resize(std::size_t count) {
  id.resize(count);
  for (auto& coordinate : position) coordinate.resize(count);
  for (auto& attribute : attributes) attribute.values.resize(count);
}

std::vector<double>& Particles::attribute(const std::string& name) {
  return find_attribute(*this, name);
}
const std::vector<double>& Particles::attribute(const std::string& name) const {
  return find_attribute(*this, name);
}

void append(const Particles& from, Particles& to) {
  core::require(from.attributes.size() == to.attributes.size(), "particles that are joined have the same attributes");
  const auto add = [](const auto& values, auto& all) { all.insert(all.end(), values.begin(), values.end()); };
  add(from.id, to.id);
  for (std::size_t axis = 0; axis < 3; ++axis) add(from.position[axis], to.position[axis]);
  for (std::size_t a = 0; a < from.attributes.size(); ++a) add(from.attributes[a].values, to.attributes[a].values);
}

void check(const Particles& particles) {
  const auto expect = [&](std::size_t size, const std::string& name) {
    if (size != particles.size())
      throw core::Error(fmt::format("{} particles, but {} values of `{}`", particles.size(), size, name));
  };
  for (const auto& coordinate : particles.position) expect(coordinate.size(), "position");
  for (const auto& attribute : particles.attributes) expect(attribute.values.size(), attribute.name);
}

}  // namespace sidestream::mesh
