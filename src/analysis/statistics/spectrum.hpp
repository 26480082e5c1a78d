#pragma once

#include <complex>
#include <string>
#include <vector>

#include "sidestream/analysis/covering_grid.hpp"
#include "sidestream/analysis/power_spectrum.hpp"
#include "sidestream/fft/fft_plan.hpp"

namespace sidestream::analysis {

using Spectrum = mesh::Field<std::complex<double>>;

/// The transform of a field. Collective.
Spectrum transform(const comm::Communicator& comm, const fft::FftPlan<double>& plan, const ScalarView& field);

/// Divides by the window of the cloud-in-cell assignment, prod_i sinc^2(k_i dx_i / 2) (Hockney & Eastwood 1981, eq.
/// 5-165).
void divide_by_cic_window(Spectrum& spectrum, mesh::Int3 cells);

/// The mean that fluctuations are relative to. Collective. Throws core::Error where it is not positive, or is what
/// is left of values of both signs, below a thousandth of their magnitude.
double positive_mean(const comm::Communicator& comm, const LeafField& field, const std::string& name);

/// The transform of a density of the snapshot on `grid` (that of `plan`). That of the dark matter is divided by the
/// window of its deposit; a total density made of its parts is the sum of theirs. Collective.
Spectrum density_spectrum(const comm::Communicator& comm, const fft::FftPlan<double>& plan, const CoveringGrid& grid,
                          const mesh::Snapshot& snapshot, const std::string& name);

/// a += b
void add_to(Spectrum& a, const Spectrum& b);

}  // namespace sidestream::analysis
