#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/event_log.hpp"
#include "sidestream/io/pending.hpp"
#include "sidestream/io/stage.hpp"
#include "sidestream/sims/run.hpp"

namespace sidestream::sims {

/// Throws core::Error on all ranks where the folder of a stage is missing, or cannot be written to, on one that
/// computes. Collective on `world`.
void require_stages(const comm::Communicator& world, const RunConfig& config);

/// The stages of the outputs of a run.
class Staging {
 public:
  /// Collective on the ranks that compute.
  Staging(const comm::Communicator& compute, const RunConfig& config, const std::string& folder);

  const io::Stage& of(const OutputConfig& output) const { return stages_.at(output.stage); }
  /// What does not protect from the loss of a node.
  std::vector<core::Error> warnings() const;
  /// Removes what is left of this run and those before in its folder. Collective.
  void clear() const;

 private:
  std::map<std::string, io::Stage> stages_;   // by the text of the configuration
  std::map<std::string, std::string> where_;  // the same
};

/// What a note says of a staged checkpoint.
std::string note_of(const OutputConfig& output, const io::StagedSet& set, const std::string& physics);
/// The physics in a note.
std::map<std::string, std::string> physics_in_note(const io::StagedNote& note);

/// Writes and commits the newest checkpoint of a run that was staged, is newer than the newest that was committed, and
/// is whole. Throws core::Error on all ranks where that one cannot be written: nothing is lost then. Collective on the
/// ranks that compute.
void commit_staged(const comm::Communicator& compute, const RunConfig& config, const std::string& folder,
                   io::EventLog& log, const std::function<void(const std::string& line)>& say);

}  // namespace sidestream::sims
