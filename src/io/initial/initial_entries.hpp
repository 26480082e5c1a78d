#pragma once

#include "sidestream/io/initial_file.hpp"

namespace sidestream::io {

InitialFormat nyx_initial_format();

}  // namespace sidestream::io
