#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/containers/hdf5/hdf5_attributes.hpp"
#include "sidestream/io/initial_file.hpp"

namespace sidestream::io {

/// Factors from the numbers of a file to comoving Mpc, Msun, proper peculiar km/s and (km/s)^2.
struct GadgetUnits {
  double length = 1.0, mass = 1.0, velocity = 1.0, energy = 1.0;
};

/// What the header of a file of Gadget-4, Arepo or SWIFT says.
struct GadgetHeader {
  std::int64_t files = 1;
  std::vector<std::int64_t> particles_here, particles;  ///< of each type: in this file, in all files of the set
  std::vector<double> mass_table;                       ///< of each type; 0: each particle has a mass of its own
  double scale_factor = 1.0;
  GadgetUnits units;
  InitialDescription universe;  ///< what the file says of it
};

/// Throws core::Error for what is missing or impossible.
GadgetHeader read_gadget_header(const Hdf5Reader& file, const InitialAssumptions& assumptions);

/// From stored to proper internal energies: SWIFT stores comoving ones and says so beside them.
double comoving_energy_factor(const Hdf5Reader& file, const std::string& dataset, double scale_factor);

/// Whether a file begins as HDF5 files do.
bool is_hdf5(const std::string& path);

}  // namespace sidestream::io
