#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/particles.hpp"
#include "sidestream/solvers/background.hpp"
#include "sidestream/solvers/linear_power.hpp"
#include "sidestream/solvers/momentum.hpp"

namespace sidestream::solvers {

/// What a realisation of the early universe is made of.
struct InitialConditionsConfig {
  std::int64_t seed = 1;
  std::string order = "2lpt";          ///< "zeldovich" or "2lpt" (second-order Lagrangian perturbation theory)
  std::string power = "camb";          ///< see `make_linear_power`
  std::optional<double> wdm_mass_kev;  ///< of the thermal relics that are the dark matter; none: it is cold
  bool fixed_amplitude = false;        ///< |delta_k| exactly as P(k) says, phases random (Angulo & Pontzen 2016)
  std::array<std::int32_t, 3> particles{0, 0, 0};  ///< along each axis; 0: as many as cells
  /// Points along each axis of the lattice whose random numbers those of the particles' lattice have for averages (over
  /// each eight of them, times sqrt 8), level by level: what both resolve is the same for both. 0: as many as particles
  std::array<std::int32_t, 3> random_lattice{0, 0, 0};
};

/// The keys of a configuration: seed, order, power, wdm_mass, fixed_amplitude, particles, random_lattice.
core::Table<InitialConditionsConfig> initial_conditions_table();

/// How often `random_lattice` is halved in cells until it has so many `points`. Throws core::Error where it never has.
int coarser_levels(const InitialConditionsConfig& config, mesh::Int3 points);

/// The power that `config` names, of cold or warm dark matter. Throws core::Error.
LinearPower initial_power(const InitialConditionsConfig& config, const CosmologyParameters& parameters);

/// Of the waves on a lattice of particles, one in the middle of each cell [1/Mpc].
double largest_wavenumber(const mesh::Geometry& lattice);

/// Gas on the mesh at the initial time, without ghost cells.
struct InitialGas {
  mesh::Field<double> density;   ///< comoving [Msun/Mpc^3]
  mesh::Field<double> velocity;  ///< three components of a U (supercomoving velocity) [km/s]
};

/// A Gaussian random field on the lattice of the particles and what grows from it. Holds its Fourier modes (8 bytes a
/// lattice point); the members need 40 more while they run. The realisation depends on the seed and the numbers of
/// points of the two lattices alone, not on ranks or layouts: bit for bit. Constructor and members are collective on
/// `comm`, which must outlive the object.
class InitialConditions {
 public:
  /// `layout` and `geometry` are those of the simulation (a periodic domain covered once). The lattice has
  /// `config.particles` points, each in the middle of its cell. Throws core::Error when the power spectrum ends below
  /// the lattice's largest wavenumber.
  InitialConditions(const comm::Communicator& comm, const mesh::Layout& layout, const mesh::Geometry& geometry,
                    const Background& background, const LinearPower& power, const InitialConditionsConfig& config);

  /// The same without chance: grows from `contrast`, the linear density contrast at z = 0 on the cells of `layout`,
  /// which is also the lattice. Its mean is left out. `order` is "zeldovich" or "2lpt".
  InitialConditions(const comm::Communicator& comm, const mesh::Field<double>& contrast, const mesh::Geometry& geometry,
                    const Background& background, const std::string& order);

  /// One particle for each lattice point, displaced and moving as at `scale_factor`, on the rank that owns its cell;
  /// the id is the index of the lattice point. `mean_density` [Msun/Mpc^3, comoving] gives the mass. Attributes:
  /// `momentum_names`.
  mesh::Particles particles(double scale_factor, double mean_density) const;

  /// Gas of mean density `mean_density` that follows the linear density contrast and its growing velocity at the
  /// centres of the cells. Throws core::Error when the lattice is not the mesh, or when the density is not above zero
  /// everywhere.
  InitialGas gas(double scale_factor, double mean_density) const;

  /// Linear density contrast at `scale_factor` on the lattice.
  mesh::Field<double> density_contrast(double scale_factor) const;

  /// The lattice as a mesh: the layout of `density_contrast`.
  const mesh::Layout& lattice() const { return plan_.real(); }

 private:
  using Spectrum = mesh::Field<std::complex<double>>;
  InitialConditions(const comm::Communicator& comm, const mesh::Layout& layout, const mesh::Layout& lattice_layout,
                    const mesh::Geometry& geometry, const Background& background, const std::string& order);

  // Fourier modes of white noise of variance 1, then of the density contrast.
  mesh::Field<double> white_noise(std::int64_t seed, int coarser) const;
  void shape(const LinearPower& power, bool fixed_amplitude);

  // f(wavenumber [1/Mpc], mode) for each mode of `spectrum`, and the field that this is the transform of.
  template <typename F>
  mesh::Field<double> field_of(const Spectrum& spectrum, F f) const;
  // -grad lap^-1 of the field with this spectrum: displacement when it is the density contrast.
  mesh::Field<double> inverse_gradient(const Spectrum& spectrum, int axis) const;
  // Second derivative along two axes of lap^-1 of the density contrast.
  mesh::Field<double> tidal(int axis, int other) const;
  Spectrum second_order_source() const;

  mesh::Particles at_rest_on_lattice(double mean_density) const;
  void displace(const mesh::Field<double>& displacement, int axis, double by, double momentum,
                mesh::Particles& particles) const;

  const comm::Communicator& comm_;
  mesh::Layout layout_;
  mesh::Geometry geometry_;
  Background background_;
  bool is_second_order_;
  mesh::Geometry lattice_;
  fft::FftPlan<double> plan_;
  Spectrum modes_;  // of the linear density contrast at z = 0; their `backward` transform is the contrast
};

/// Temperature [K] of gas that follows the microwave background until z = 136 and expands adiabatically from then on.
double initial_gas_temperature(double scale_factor, double t_cmb);

}  // namespace sidestream::solvers
