#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/carried_content.hpp"

namespace sidestream::io {

/// What was staged: a part of each rank that had anything. Small, the same on all ranks, and all that others need to
/// find it.
struct StagedSet {
  std::string run;                    ///< name of the folder of the run that staged it
  std::string name;                   ///< of its folder there
  std::vector<std::int32_t> parts;    ///< the ranks that wrote one
  std::vector<std::string> hosts;     ///< where each lies
  std::vector<std::string> partners;  ///< where its copy lies; empty where there is none

  std::string to_text() const;
  /// Throws core::Error for what is none.
  static StagedSet from_text(const std::string& text);
};

/// Folders on disks of the nodes, where the ranks of a run leave what goes into a file, each in a file of its own with
/// a copy on the next node, until it is written where all see it. One node can be lost with its disk.
///
/// Ranks that see the same folder are of one node; where that is all of them though they are on several hosts, or one
/// host, there are no copies. A part is a file of the format `raw`, with its checksums and record, of the blocks of one
/// rank; what is read of it is checked.
class Stage {
 public:
  /// `folder` is there and may be written to on all ranks; `run` names the run, whose folder in it is made. Collective.
  Stage(const comm::Communicator& comm, std::string folder, const std::string& run);
  ~Stage();
  Stage(Stage&&) noexcept;

  int nodes() const;
  /// Whether ranks of several hosts see one folder.
  bool is_shared() const;

  /// Stages what was carried, durably, under a name that nothing else has. Where a rank cannot (a full disk), all throw
  /// its core::Error, and nothing is left. Memory: some MiB. Collective.
  StagedSet write(const std::string& name, const CarriedContent& content) const;

  /// What was staged, also by other ranks in other numbers, dealt to the ranks of `comm` that see it: parts of their
  /// node first, else copies. Cells are read when they are asked for, particles at once. `tell` is given, on the first
  /// rank, what is damaged or comes from a copy. Throws core::Error on all ranks naming the hosts whose parts are gone.
  /// Every checksum is verified. `comm`: a duplicate of that of the stage. Collective.
  CarriedContent open(const comm::Communicator& comm, const StagedSet& set,
                      const std::function<void(const std::string& text)>& tell) const;

  /// Whether a run in the present folder staged it, rather than one that was moved or copied here.
  bool is_own(const StagedSet& set) const;
  /// Hosts on which parts or copies lie and no rank of this job is.
  std::vector<std::string> unseen_hosts(const StagedSet& set) const;
  /// Removes a set of this run that nobody reads any more, as far as that can be. Local.
  void remove(const StagedSet& set) const;
  /// Removes all of this run. Collective.
  void remove_all() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws core::Error, with the place of the key, unless `folder` is a folder in which this rank can make files. Local.
void check_stage(const std::string& folder, const std::string& where);

/// `text` with the variables of the environment that it names as `$NAME`. Throws core::Error, with the place, for one
/// that is not set.
std::string with_environment(const std::string& text, const std::string& where);

}  // namespace sidestream::io
