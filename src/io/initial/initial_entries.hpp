#pragma once

#include "sidestream/io/initial_file.hpp"

namespace sidestream::io {

InitialFormat gadget_initial_format();
InitialFormat grafic_initial_format();
InitialFormat monofonic_initial_format();
InitialFormat nyx_initial_format();

}  // namespace sidestream::io
