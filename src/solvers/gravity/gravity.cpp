#include "sidestream/solvers/gravity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::solvers {

namespace {

using mesh::Box;
using mesh::Field;
using mesh::Geometry;
using mesh::Int3;

// The acceleration has one layer of ghost cells, its differences reach one further.
constexpr std::int32_t acceleration_ghost = 1, potential_ghost = 2;

// k^2 of each index along an axis, so that the eigenvalue of -lap of a mode is the sum over the axes: (2/dx sin(k
// dx/2))^2 of the 7-point Laplacian, or k^2 itself.
std::vector<double> squared_wavenumbers(const Geometry& geometry, int axis, bool is_spectral) {
  const int n = geometry.domain.hi[axis];
  const double dx = geometry.cell_size(axis);
  std::vector<double> squares;
  for (int i = 0; i < n; ++i) {
    const double half_phase = std::numbers::pi * std::abs(fft::wavenumber(i, n)) / n;
    const double k = (is_spectral ? half_phase : core::sin(half_phase)) * 2.0 / dx;
    squares.push_back(k * k);
  }
  return squares;
}

// g = -grad phi by central differences over two cells.
void differentiate(const Box& box, core::View4<const double> phi, std::array<double, 3> over_two_dx,
                   core::View4<double> g) {
  const auto [over_x, over_y, over_z] = over_two_dx;
  core::for_each_row(box, [=](int k, int j) {
    for (int i = box.lo.x; i < box.hi.x; ++i) g(0, k, j, i) = (phi(k, j, i - 1) - phi(k, j, i + 1)) * over_x;
    for (int i = box.lo.x; i < box.hi.x; ++i) g(1, k, j, i) = (phi(k, j - 1, i) - phi(k, j + 1, i)) * over_y;
    for (int i = box.lo.x; i < box.hi.x; ++i) g(2, k, j, i) = (phi(k - 1, j, i) - phi(k + 1, j, i)) * over_z;
  });
}

// Throws for what Gravity cannot do; the same on every rank.
const mesh::Layout& checked(const mesh::Layout& blocks, const Geometry& geometry) {
  const Int3 cells = geometry.domain.extent();
  core::require(blocks.domain() == geometry.domain, "gravity takes the blocks and the geometry of one domain");
  if (geometry.periodic != mesh::Periodicity{true, true, true} || blocks.periodic() != geometry.periodic)
    throw core::Error("gravity by Fourier transform takes a box that is periodic on all axes", "key `mesh.periodic`",
                      "set `mesh.periodic = [true, true, true]`");
  if (std::min({cells.x, cells.y, cells.z}) <= potential_ghost)
    throw core::Error("gravity takes a grid of at least three cells an axis", "key `mesh.cells`");
  return blocks;
}

}  // namespace

const core::Table<GravityConfig>& gravity_table() {
  static const core::Table<GravityConfig> table = [] {
    core::Table<GravityConfig> options("Self-gravity on the periodic grid");
    options.option("green", &GravityConfig::green, "seven-point")
        .one_of({"seven-point", "spectral"})
        .doc("how the Poisson equation is made discrete: the inverse of the 7-point Laplacian, or -1/k^2");
    return options;
  }();
  return table;
}

Gravity::Gravity(const comm::Communicator& comm, const mesh::Layout& blocks, const Geometry& geometry,
                 const GravityConfig& config, std::shared_ptr<core::Workroom> room)
    : rank_(comm.rank()),
      over_two_dx_{0.5 / geometry.cell_size(0), 0.5 / geometry.cell_size(1), 0.5 / geometry.cell_size(2)},
      transform_(comm, checked(blocks, geometry), {.ghost = potential_ghost}),
      room_(room ? std::move(room) : std::make_shared<core::Workroom>()),
      potential_(blocks, comm.rank(), 1, potential_ghost) {
  const bool is_spectral = config.green == "spectral";
  for (int axis = 0; axis < 3; ++axis)
    k_squared_[static_cast<std::size_t>(axis)] = squared_wavenumbers(geometry, axis, is_spectral);
}

void Gravity::solve(const Field<double>& density, Field<double>& acceleration) {
  core::require(acceleration.components() == 3 && acceleration.ghost() >= acceleration_ghost,
                "the acceleration has three components and at least one ghost cell");
  solve_potential(density);
  for (int b = 0; b < potential_.blocks(); ++b)
    differentiate(potential_.box(b).grown(acceleration_ghost), std::as_const(potential_).view(b), over_two_dx_,
                  acceleration.view(b));
}

const Field<double>& Gravity::solve_potential(const Field<double>& density) {
  const mesh::Layout& modes = transform_.spectral();
  Spectrum spectrum(modes, rank_, 1, 0, room_->bytes(Spectrum::size_bytes(modes, rank_)));
  transform_.forward(density, spectrum);
  multiply_by_green(spectrum);
  transform_.backward(spectrum, potential_);
  return potential_;
}

// phi = -rho / k^2, and nothing for the mean. The transforms' factor of one over the number of cells goes in here.
void Gravity::multiply_by_green(Spectrum& spectrum) const {
  const auto& [k2_x, k2_y, k2_z] = k_squared_;
  const double norm = -1.0 / static_cast<double>(transform_.cells().product());
  for (int b = 0; b < spectrum.blocks(); ++b) {
    const Box& box = spectrum.box(b);
    const auto view = spectrum.view(b);
    core::for_each_row(box, [&](int k, int j) {
      const double k2_yz = k2_y[static_cast<std::size_t>(j)] + k2_z[static_cast<std::size_t>(k)];
      std::complex<double>* row = &view(k, j, 0);
      const double* k2 = k2_x.data();
      for (int i = box.lo.x; i < box.hi.x; ++i) row[i] *= norm / (k2[i] + k2_yz);
      if (j == 0 && k == 0 && box.lo.x == 0) row[0] = 0.0;
    });
  }
}

}  // namespace sidestream::solvers
