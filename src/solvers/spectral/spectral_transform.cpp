#include "sidestream/solvers/spectral_transform.hpp"

#include <algorithm>

namespace sidestream::solvers {

namespace {

// One component, where it lies in a field without ghost cells.
Spectrum component_of(Spectrum& spectrum, int component, int rank) {
  if (spectrum.blocks() == 0) return Spectrum(spectrum.layout(), rank);
  const auto cells = static_cast<std::size_t>(spectrum.box(0).volume());
  const auto all = spectrum.all();
  return Spectrum(spectrum.layout(), rank, 1, 0,
                  std::as_writable_bytes(all.subspan(static_cast<std::size_t>(component) * cells, cells)));
}

}  // namespace

mesh::Layout slabs_or_pencils(const mesh::Box& domain, int ranks) {
  const mesh::Int3 n = domain.extent();
  int columns = std::min(ranks, n.z), rows = std::min(std::max(1, ranks / columns), n.y);
  return mesh::split(domain, {1, rows, columns});
}

SpectralTransform::SpectralTransform(const comm::Communicator& comm, const WaveGrid&, const mesh::Layout& real,
                                     std::int32_t ghost)
    : plan_(comm, real, fft::Decomposition::automatic, ghost), rank_(comm.rank()) {}

SpectralTransform::SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid, std::int32_t ghost)
    : SpectralTransform(comm, grid, slabs_or_pencils(grid.geometry().domain, comm.size()), ghost) {}

void SpectralTransform::backward(Spectrum& spectrum, mesh::Field<double>& real) {
  for (int c = 0; c < spectrum.components(); ++c) {
    Spectrum one = component_of(spectrum, c, rank_);
    plan_.backward(one, mesh::FieldView<double>(real).component(c));
  }
}

void SpectralTransform::forward(const mesh::Field<double>& real, Spectrum& spectrum) {
  for (int c = 0; c < spectrum.components(); ++c) {
    Spectrum one = component_of(spectrum, c, rank_);
    plan_.forward(mesh::FieldView<const double>(real).component(c), one);
  }
}

}  // namespace sidestream::solvers
