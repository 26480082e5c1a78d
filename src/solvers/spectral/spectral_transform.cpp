#include "sidestream/solvers/spectral/spectral_transform.hpp"

#include <algorithm>

#include "sidestream/fft/tuning.hpp"

namespace sidestream::solvers {

namespace {

// Slabs along z while there are planes for all ranks, so that the first of two exchanges falls away.
std::optional<fft::ProcessGrid> slabs(const WaveGrid& grid, int ranks) {
  if (ranks > std::min(grid.cells().z, grid.waves().y)) return std::nullopt;
  return fft::ProcessGrid{1, ranks};
}

// For cells on `real`, or wherever as little as possible is moved.
template <typename Real>
fft::FftOptions chosen(const comm::Communicator& comm, const WaveGrid& grid, const mesh::Layout* real, int components) {
  fft::FftOptions options{.components = components, .kept = grid.highest()};
  if (is_to_be_tuned(comm, options))
    return real != nullptr ? fft::tuned<Real>(comm, *real, options) : fft::tuned<Real>(comm, grid.cells(), options);
  options.grid = slabs(grid, comm.size());
  return options;
}

fft::FftOptions with_components(fft::FftOptions options, int components) {
  options.components = components;
  return options;
}

mesh::Layout slabs_or_pencils(const WaveGrid& grid, int ranks) {
  const mesh::Int3 n = grid.cells();
  const int columns = std::min(ranks, n.z), rows = std::min(std::max(1, ranks / columns), n.y);
  return mesh::split(grid.geometry().domain, {1, rows, columns});
}

// The pencils of the process grid that tuning found.
mesh::Layout cells_for(const WaveGrid& grid, const fft::FftOptions& options, int ranks) {
  const bool is_tuned = options.strategy != redistribute::Strategy::automatic;
  return is_tuned ? fft::x_pencils(grid.cells(), *options.grid) : slabs_or_pencils(grid, ranks);
}

}  // namespace

template <typename Real>
SpectralTransform<Real>::SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid,
                                           const mesh::Layout& real, TransformedFields components)
    : SpectralTransform(comm, real, chosen<Real>(comm, grid, &real, components.backward), components) {}

template <typename Real>
SpectralTransform<Real>::SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid,
                                           TransformedFields components)
    : SpectralTransform(comm, grid, chosen<Real>(comm, grid, nullptr, components.backward), components) {}

template <typename Real>
SpectralTransform<Real>::SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid,
                                           const fft::FftOptions& options, TransformedFields components)
    : SpectralTransform(comm, cells_for(grid, options, comm.size()), options, components) {}

// Both plans go the same way, so that their modes lie alike.
template <typename Real>
SpectralTransform<Real>::SpectralTransform(const comm::Communicator& comm, const mesh::Layout& real,
                                           const fft::FftOptions& options, TransformedFields components)
    : backward_(comm, real, with_components(options, components.backward)),
      forward_(comm, real, with_components(options, components.forward)) {}

template <typename Real>
void SpectralTransform<Real>::backward(Spectrum<Real>& spectrum, mesh::Field<Real>& real) {
  backward_.backward(spectrum, mesh::FieldView<Real>(real).component(0, spectrum.components()));
}

template <typename Real>
void SpectralTransform<Real>::forward(const mesh::Field<Real>& real, Spectrum<Real>& spectrum) {
  forward_.forward(mesh::FieldView<const Real>(real).component(0, spectrum.components()), spectrum);
}

template class SpectralTransform<float>;
template class SpectralTransform<double>;

}  // namespace sidestream::solvers
