#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>

#include "report.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/fft/modes.hpp"

namespace sidestream::bench {

/// A density: white noise, smoothed by a Gaussian of `smoothing_cells`, scaled to `sigma` and exponentiated.
inline mesh::Field<double> lognormal(const comm::Communicator& comm, const mesh::Layout& layout,
                                     double smoothing_cells = 1.5, double sigma = 2.0) {
  const mesh::Box domain = layout.domain();
  const mesh::Int3 cells = domain.extent();
  mesh::Field<double> field(layout, comm.rank());
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
      view(k, j, i) = core::normal(1, 1, static_cast<std::uint64_t>(linear_index(domain, {i, j, k})));
    });
  const fft::FftPlan<double> plan(comm, layout);
  mesh::Field<std::complex<double>> spectrum(plan.spectral(), comm.rank());
  plan.forward(field, spectrum);
  double variance = 0.0;
  fft::for_each_mode(spectrum, cells, [&](const fft::Mode& mode, std::complex<double>& amplitude) {
    const mesh::Int3 w = mode.wavenumber;
    const double unit = 2.0 * std::numbers::pi * smoothing_cells / cells.x;
    const double y = w.y * (static_cast<double>(cells.x) / cells.y), z = w.z * (static_cast<double>(cells.x) / cells.z);
    amplitude *= std::exp(-0.5 * unit * unit * (w.x * w.x + y * y + z * z));
    variance += mode.weight * std::norm(amplitude);
  });
  variance = total(comm, variance);
  plan.backward(spectrum, field);
  for (double& value : field.all()) value = std::exp(sigma / std::sqrt(variance) * value);
  return field;
}

}  // namespace sidestream::bench
