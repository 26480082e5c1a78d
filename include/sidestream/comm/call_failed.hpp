#pragma once

#include "sidestream/core/error.hpp"

namespace sidestream::comm {

/// What `check` throws: a call of MPI has failed on this rank, and the others may know nothing of it.
struct CallFailed : core::Error {
  using Error::Error;
};

}  // namespace sidestream::comm
