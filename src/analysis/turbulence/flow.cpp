#include "analysis/turbulence/flow.hpp"

#include <fmt/format.h>

#include "analysis/at.hpp"
#include "analysis/fields/unit_names.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

void check_flow(const mesh::Box& domain) {
  const mesh::Int3 cells = domain.extent();
  if (int{cells.x > 1} + int{cells.y > 1} + int{cells.z > 1} < 2)
    throw core::Error(fmt::format("statistics of turbulence take two or three dimensions, and the grid has {} x {} x "
                                  "{} cells",
                                  cells.x, cells.y, cells.z),
                      "", "take the task out, or give the grid more cells");
}

void check_flow(const mesh::Snapshot& snapshot) {
  check_flow(snapshot.geometry.domain);
  for (const char* name : velocity_names)
    if (!snapshot.has(name))
      throw core::Error(fmt::format("the snapshot has no `{}`", name), snapshot.source,
                        "statistics of turbulence take the three velocities; [quantity.NAME] makes one from others");
  for (int axis = 0; axis < 3; ++axis)
    if (snapshot.geometry.domain.extent()[axis] > 1 && !snapshot.geometry.periodic[at(axis)])
      throw core::Error(fmt::format("the box is not periodic along {}", "xyz"[axis]), snapshot.source,
                        "statistics of turbulence are those of waves in a periodic box");
}

ScalarView finite_field(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const CoveringGrid& grid,
                        const std::string& name) {
  const LeafField leaves = field_or_total(snapshot, name);
  mean(comm, leaves, name);
  return grid.of(comm, leaves);
}

Flow::Flow(const comm::Communicator& comm, const std::array<ScalarView, 3>& velocity, const mesh::Geometry& geometry)
    : comm_(comm), geometry_(geometry), waves_(geometry), plan_(comm, velocity[0].layout()) {
  for (std::size_t component = 0; component < 3; ++component)
    velocity_[component] = transform(comm_, plan_, velocity[component]);
}

Spectrum Flow::transformed(const ScalarView& scalar) const {
  return transform(comm_, plan_, scalar);
}

// The cells of the field whose normalised amplitude at a mode is i `amplitude_of(k, u)`.
template <typename F>
mesh::Field<double> Flow::in_cells(F amplitude_of) const {
  Spectrum spectrum(plan_.spectral(), comm_.rank());
  const double norm = 1.0 / cells();
  for (int b = 0; b < spectrum.blocks(); ++b)
    fft::for_each_mode(spectrum.box(b), plan_.cells(),
                       [&, to = spectrum.view(b), x = velocity_[0].view(b), y = velocity_[1].view(b),
                        z = velocity_[2].view(b)](const fft::Mode& mode) {
                         const auto [i, j, k] = mode.index;
                         const std::complex<double> amplitude = amplitude_of(
                             waves_.derivative(mode.wavenumber), std::array{x(k, j, i), y(k, j, i), z(k, j, i)});
                         to(k, j, i) = {-norm * amplitude.imag(), norm * amplitude.real()};
                       });
  mesh::Field<double> field(plan_.real(), comm_.rank());
  plan_.backward(spectrum, field);
  return field;
}

mesh::Field<double> Flow::derivative(int component, int axis) const {
  return in_cells([c = at(component), a = at(axis)](const std::array<double, 3>& k, const auto& u) {
    return std::complex<double>(k[a] * u[c].real(), k[a] * u[c].imag());
  });
}

mesh::Field<double> Flow::vorticity(int axis) const {
  return in_cells([b = at((axis + 1) % 3), c = at((axis + 2) % 3)](const std::array<double, 3>& k, const auto& u) {
    return std::complex<double>(k[b] * u[c].real() - k[c] * u[b].real(), k[b] * u[c].imag() - k[c] * u[b].imag());
  });
}

FlowUnits::FlowUnits(const mesh::Snapshot& snapshot)
    : length(snapshot.length_unit), velocity(snapshot.unit(velocity_names[0])) {}

std::string FlowUnits::of(int velocity_power, int length_power) const {
  return unit_product(unit_power(velocity, velocity_power), unit_power(length, length_power));
}

}  // namespace sidestream::analysis
