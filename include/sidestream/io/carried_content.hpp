#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/access_statistics.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// What goes into a file, so that others than those who have the state can write it.
struct CarriedContent {
  /// On all blocks of each level, which are its `levels`: the quantities as they stand in the file, in double
  /// precision and before a factor (they are the same to the bit then), and as one species whatever particles there
  /// are.
  mesh::Snapshot state;
  std::string rest;  ///< all else, as bytes; the same on all ranks
};

/// What `choice` takes of `snapshot`, which outlives it. Collective.
CarriedContent carried_content(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                               const FileChoice& choice);

/// Writes what was carried here, dealt to these ranks by whole blocks, each with its particles, as `write_snapshot`
/// would have written it there with the same `choice`. Collective.
AccessStatistics write_carried(const comm::Communicator& comm, const CarriedContent& content, const FileChoice& choice,
                               const std::string& path);

}  // namespace sidestream::io
