#pragma once

#include "sidestream/io/format.hpp"

namespace sidestream::io {

// One function a format, in the file that writes it; `formats` lists them.

Format sidestream_format();
Format flash_format();
Format flash_5d_format();
Format nyx_format();

}  // namespace sidestream::io
