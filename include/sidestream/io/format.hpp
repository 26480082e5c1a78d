#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/io/access_statistics.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

struct FileContent;

/// How files of a kind are called: `prefix`, the step with at least `digits` digits, `suffix`.
struct StepName {
  std::string prefix, suffix;
  int digits = 5;

  std::string of(std::int64_t step) const;
  /// The step in `name`, if it is a name of this kind.
  std::optional<std::int64_t> step_of(std::string_view name) const;
};

/// A format of files (or folders of files), by name.
struct Format {
  std::string name, documentation;
  std::optional<StepName> plotfile, checkpoint;  ///< what it can be used for, and the names then
  std::vector<std::string> methods;              ///< of `write_methods`, the default first; empty: its own way only
  /// The variables of a plot file that readers of this format look for (of `vocabulary.hpp`); empty: all.
  std::vector<std::string> variables;
  /// What `write_snapshot` calls.
  std::function<AccessStatistics(const comm::Communicator& comm, const std::string& path, const FileContent& content,
                                 const WriteOptions& options)>
      write;
  /// Whether the file or folder at `path` looks like one of this format: cheap, never throws.
  std::function<bool(const std::string& path)> recognizes;
  /// Opens one for reading. Local. Damage is a core::Error.
  std::function<std::unique_ptr<SnapshotFile>(const std::string& path)> open;
  /// Variables that its readers look for in a checkpoint too: they are there beside what a restart needs.
  std::vector<std::string> checkpoint_shows{};
  bool holds_particles_alone = true;      ///< whether a plot file may have particles and no fields
  std::vector<std::string> write_keys{};  ///< of `files` and `ranks_per_file` of WriteOptions, those that count
  bool compresses = false;                ///< whether it holds compressed cells
  bool takes_any_boxes = true;            ///< rather than boxes of equal size alone
  /// How many data files so many ranks write; none: one.
  std::function<double(double ranks, const WriteOptions& options)> data_files{};
  bool holds_particles = true;  ///< else it is no format for checkpoints of what has some

  /// Whether one of the `write_keys` changes anything.
  bool follows(std::string_view key) const;
};

/// All formats there are. Of two that recognise a file the first counts.
const core::Registry<Format>& formats();
/// The format of the file at `path`; throws core::Error when none recognises it.
const Format& format_of(const std::string& path);
/// Opens a file of any format. Local.
std::unique_ptr<SnapshotFile> open_snapshot_file(const std::string& path);
/// The same on all ranks: the first reads what is small and tells the others, which open no file until they read cells
/// or particles. Collective.
std::unique_ptr<SnapshotFile> open_snapshot_file(const comm::Communicator& comm, const std::string& path);

}  // namespace sidestream::io
