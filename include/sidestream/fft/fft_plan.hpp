#pragma once

#include <complex>
#include <cstddef>
#include <memory>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::fft {

/// How the transform splits the grid over the ranks: `pencils` for any number up to N^2, `slabs` (one transpose) up to
/// N, `automatic` takes slabs while there are planes enough.
enum class Decomposition { automatic, slabs, pencils };

/// A three-dimensional real-to-complex Fourier transform distributed over the ranks of a communicator. Built once
/// (collective), applied often (collective, without allocation); one transform of a plan may run at a time. The bits of
/// a transform depend on the data alone, not on the ranks or layouts: lines go through one-dimensional plans in batches
/// of one shape.
///
/// Steps of `forward`: `real` -> x-pencils, lines along x, -> y-pencils, lines along y, -> z-pencils, lines along z.
/// Each arrow is a redistribution and falls away where its two layouts are equal: with slabs the second, on one rank
/// all but the first. `backward` walks the other way.
class FftPlan {
 public:
  /// `real` is any layout that covers the domain [0, cells) once, for example the simulation's blocks. `backward` also
  /// fills `ghost` layers of ghost cells (across the periodic boundaries of `real`), in the same exchange. Memory that
  /// stays: 8 bytes a cell for each of the second and third arrow that remains, and the messages of the redistributions
  /// (lines along x are worked on in the memory of their modes).
  FftPlan(const comm::Communicator& comm, const mesh::Layout& real,
          Decomposition decomposition = Decomposition::automatic, std::int32_t ghost = 0);
  ~FftPlan();
  FftPlan(FftPlan&&) noexcept;
  FftPlan& operator=(FftPlan&&) noexcept;

  /// The modes (x: 0..nx/2, y: 0..ny-1, z: 0..nz-1) that each rank holds; `wavenumber` gives the sign.
  const mesh::Layout& spectral() const;
  const mesh::Layout& real() const;
  /// Cells of the real grid.
  mesh::Int3 cells() const;
  /// Bytes of this rank's work space and tables.
  std::size_t size_bytes() const;

  /// sum over cells of real(x) exp(-i k.x), not normalised. Both fields have one component; `input` may have ghost
  /// cells (unused), `spectrum` (on `spectral()`) has none.
  void forward(const mesh::FieldView<const double>& input, mesh::Field<std::complex<double>>& spectrum) const;
  /// sum over modes of spectrum(k) exp(+i k.x), not normalised; `spectrum` is used as work space and lost. Writes the
  /// owned cells of `output` and as many layers of its ghost cells as the plan was made for.
  void backward(mesh::Field<std::complex<double>>& spectrum, const mesh::FieldView<double>& output) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

/// The signed wavenumber of index `i` on an axis of `n` cells: i for i <= n/2, else i - n.
inline int wavenumber(int i, int n) {
  return i <= n / 2 ? i : i - n;
}

}  // namespace sidestream::fft
