#pragma once

#include <string>

#include "sidestream/core/config.hpp"

namespace sidestream::core {

/// The path that the text of `node` names, absolute: one that is relative begins at the folder of the configuration
/// file, and at the working folder where it was given on the command line (`--set`).
std::string path_of(const Node& node);

}  // namespace sidestream::core
