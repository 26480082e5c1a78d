#pragma once

#include <memory>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/picture.hpp"
#include "sidestream/mesh/result.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// What an analysis is as well that makes a picture beside its tables: too large to be part of them, it is written
/// while the snapshot is there.
class Painter {
 public:
  virtual ~Painter() = default;

  /// The picture of a snapshot for which `run` has found `found`, complete on rank 0. It lives as long as `comm` and
  /// the snapshot. Collective.
  virtual std::shared_ptr<const mesh::Picture> picture(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                                       const mesh::Result& found) const = 0;
};

}  // namespace sidestream::analysis
