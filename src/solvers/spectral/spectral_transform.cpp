#include "sidestream/solvers/spectral_transform.hpp"

#include <algorithm>

namespace sidestream::solvers {

namespace {

// Slabs along z while there are planes for all ranks, so that the first of two exchanges falls away.
std::optional<fft::ProcessGrid> slabs(const WaveGrid& grid, int ranks) {
  if (ranks > std::min(grid.cells().z, grid.waves().y)) return std::nullopt;
  return fft::ProcessGrid{1, ranks};
}

fft::FftOptions options(const comm::Communicator& comm, const WaveGrid& grid, int components, std::int32_t ghost) {
  return {.grid = slabs(grid, comm.size()), .components = components, .ghost = ghost, .kept = grid.highest()};
}

mesh::Layout slabs_or_pencils(const WaveGrid& grid, int ranks) {
  const mesh::Int3 n = grid.cells();
  const int columns = std::min(ranks, n.z), rows = std::min(std::max(1, ranks / columns), n.y);
  return mesh::split(grid.geometry().domain, {1, rows, columns});
}

}  // namespace

SpectralTransform::SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid, const mesh::Layout& real,
                                     TransformedFields components, std::int32_t ghost)
    : backward_(comm, real, options(comm, grid, components.backward, ghost)),
      forward_(comm, real, options(comm, grid, components.forward, 0)) {}

SpectralTransform::SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid, TransformedFields components,
                                     std::int32_t ghost)
    : SpectralTransform(comm, grid, slabs_or_pencils(grid, comm.size()), components, ghost) {}

void SpectralTransform::backward(Spectrum& spectrum, mesh::Field<double>& real) {
  backward_.backward(spectrum, mesh::FieldView<double>(real).component(0, spectrum.components()));
}

void SpectralTransform::forward(const mesh::Field<double>& real, Spectrum& spectrum) {
  forward_.forward(mesh::FieldView<const double>(real).component(0, spectrum.components()), spectrum);
}

}  // namespace sidestream::solvers
