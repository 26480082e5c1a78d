#pragma once

#include <complex>
#include <vector>

#include "sidestream/analysis/power_spectrum.hpp"
#include "sidestream/fft/fft_plan.hpp"

namespace sidestream::analysis {

using Spectrum = mesh::Field<std::complex<double>>;

/// The transform of a field. Collective.
Spectrum transform(const comm::Communicator& comm, const fft::FftPlan& plan, const ScalarView& field);

/// Divides by the window of the cloud-in-cell assignment, prod_i sinc^2(k_i dx_i / 2) (Hockney & Eastwood 1981, eq.
/// 5-165).
void divide_by_cic_window(Spectrum& spectrum, mesh::Int3 cells);

/// a += b
void add_to(Spectrum& a, const Spectrum& b);

}  // namespace sidestream::analysis
