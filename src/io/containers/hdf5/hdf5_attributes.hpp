#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/containers/hdf5/hdf5_arrays.hpp"

namespace sidestream::io {

/// The numbers of an attribute of the group or dataset `object`, one or an array of them, converted; none where there
/// is no such object or attribute. Throws core::Error for an attribute that is no number. Local.
std::optional<std::vector<double>> numbers_of_attribute(const Hdf5Reader& file, const std::string& object,
                                                        const std::string& attribute);

}  // namespace sidestream::io
