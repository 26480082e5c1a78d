#pragma once

#include "sidestream/sims/run.hpp"

namespace sidestream::sims {

/// Bytes of one file on the mesh of level 0, without compression.
double file_bytes(const RunConfig& config, const io::FileChoice& choice);

/// Bytes of what sidecars are given to write it: in double precision, with all attributes of its particles.
double carried_bytes(const RunConfig& config, const OutputConfig& output);

}  // namespace sidestream::sims
