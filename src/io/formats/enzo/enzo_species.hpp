#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sidestream::io {

/// Enzo's `particle_type` of a species (PARTICLE_TYPE_... of its macros_and_parameters.h); species that it does not
/// have get numbers beyond its own, by `place` among those of the file.
std::int32_t enzo_type_of(const std::string& species, std::size_t place);

/// The number of the species of a `particle_type`: itself, but that of dark matter for its particles that mark where to
/// refine.
std::int64_t species_number_of_enzo(std::int64_t type);

/// The species of a `particle_type`.
std::string species_of_enzo(std::int64_t type);

/// Whether `dataset` is a number of stars, which Enzo keeps without `particle_` before its name.
bool is_enzo_star_attribute(const std::string& dataset);

}  // namespace sidestream::io
