#include "sidestream/io/owned_content.hpp"

#include <algorithm>

#include "sidestream/core/for_each.hpp"

namespace sidestream::io {

namespace {

mesh::Field<double> component_of(const mesh::Field<double>& field, int component) {
  mesh::Field<double> copy(field.layout(), field.rank());
  for (int b = 0; b < field.blocks(); ++b) {
    const auto from = field.view(b);
    const auto to = copy.view(b);
    const mesh::Box box = field.box(b);
    core::for_each_row(
        box, [&](int k, int j) { std::copy_n(&from(component, k, j, box.lo.x), box.extent().x, &to(k, j, box.lo.x)); });
  }
  return copy;
}

}  // namespace

OwnedContent copy_of(const FileContent& content) {
  OwnedContent copy;
  copy.content = content;
  for (FileField& field : copy.content.fields) {
    for (const mesh::Field<double>*& level : field.levels)
      level = &copy.fields.emplace_back(component_of(*level, field.component));
    field.component = 0;
  }
  for (const mesh::Particles*& particles : copy.content.particles) {
    mesh::Particles& own = copy.particles.emplace_back();
    own.id = particles->id;
    own.position = particles->position;
    own.mass = particles->mass;
    particles = &own;
  }
  for (FileParticleReal& real : copy.content.particle_reals)
    for (const std::vector<double>*& values : real.levels) values = &copy.reals.emplace_back(*values);
  return copy;
}

}  // namespace sidestream::io
