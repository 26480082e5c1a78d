#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/solvers/spectral/spectral_transform.hpp"

namespace sidestream::solvers {

/// The waves that a grid keeps, and no others, one after another in their order (z, y, x) of storage. They lie in rows
/// of equal length, as many as there are planes of waves; behind the last wave the last rows are filled up with zeros.
class KeptWaves {
 public:
  explicit KeptWaves(const WaveGrid& grid);

  const WaveGrid& grid() const { return grid_; }
  /// How many.
  std::int64_t size() const { return starts_.back(); }
  /// The rows, along x, in blocks of one each, dealt to `ranks` in turn: the same on any number of them.
  mesh::Layout rows(int ranks) const;

  /// The waves of one component that lie in `mode_planes(grid().waves(), comm.size())`, in `rows`. Collective.
  template <typename Real>
  Spectrum<Real> in_rows(const comm::Communicator& comm, const Spectrum<Real>& planes) const;
  /// Back to component `component` of `planes`, where waves that are not kept stay as they are. Collective.
  template <typename Real>
  void in_planes(const comm::Communicator& comm, const Spectrum<Real>& rows, Spectrum<Real>& planes,
                 int component) const;

 private:
  mesh::Layout line(int ranks) const;
  template <typename F>
  void for_each_piece(int plane, F f) const;

  WaveGrid grid_;
  std::vector<std::int64_t> starts_;  // of each plane among all waves, and the end of the last one
  std::int32_t row_ = 0;              // waves of one
};

/// The component of an incompressible velocity that follows from the two others by k.u = 0: that along the longest part
/// of `wave`, so that the others' errors grow by the root of two at most; of equal ones the last. Of the mean flow,
/// which follows from nothing, z.
int dependent_axis(const std::array<double, 3>& wave);

/// That component, of `u`, whose others are given; zero of the mean flow.
std::complex<double> dependent_component(const std::array<double, 3>& wave,
                                         const std::array<std::complex<double>, 3>& u);

}  // namespace sidestream::solvers
