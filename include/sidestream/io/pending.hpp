#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/access_statistics.hpp"
#include "sidestream/io/file_choice.hpp"

namespace sidestream::io {

// A checkpoint is pending from when it is written until all that was to be done before it is on the disk. It lies,
// whole and durable and under the name it will have, in the folder `pending` of the run, where no restart looks for it;
// one rename commits it. That is so for every format.

/// Where the checkpoint `path` (RUN/NAME) lies while it is pending: RUN/pending/NAME.
std::string pending_path(const std::string& path);
/// Whether `path` is that of a pending checkpoint.
bool is_pending(const std::string& path);

/// Has `write`, given where it is to lie, write the checkpoint `path` as a pending one. Collective; all ranks throw
/// together.
AccessStatistics write_pending(const comm::Communicator& comm, const std::string& path,
                               const std::function<AccessStatistics(const std::string& path)>& write);

/// Has `write` write a file of a run: a checkpoint as a pending one, any other as `path`, of which the folder is made.
/// Collective; all ranks throw together.
AccessStatistics write_of_run(const comm::Communicator& comm, FileKind kind, const std::string& path,
                              const std::function<AccessStatistics(const std::string& path)>& write);

/// Gives the pending checkpoint `path` its name, at once and durably; what had the name goes. Local: one rank does it,
/// after all have returned from `write_pending`.
void commit(const std::string& path);

// A checkpoint that was staged (`Stage`) counts as one that is committed from when there is a note about it among the
// pending ones, until it is committed itself.

/// What is kept of the staged checkpoint `path`.
struct StagedNote {
  std::int64_t step = 0;
  std::string path;
  std::optional<std::string> text;  ///< none where the note is not as it was left
};
std::string staged_note_path(const std::string& path);
/// Leaves a note of one line, at once and durably; or removes it, if it is there. Local.
void write_staged_note(const std::string& path, const std::string& text);
void remove_staged_note(const std::string& path);
/// All notes in the run `folder` of checkpoints newer than `step`, the newest first. Local.
std::vector<StagedNote> staged_notes_in(const std::string& folder, std::int64_t step);

/// Removes what a run left pending in `folder`. Local.
void remove_pending(const std::string& folder);

}  // namespace sidestream::io
