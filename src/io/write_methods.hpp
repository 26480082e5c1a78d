#pragma once

#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

// One function a method, in a file of its own below `methods/`; `write_methods` lists them.

/// Own engine: each rank writes what it has where that is large, else as `aggregated`.
WriteMethod engine_method();
/// Own engine, through aggregators.
WriteMethod aggregated_method();

}  // namespace sidestream::io
