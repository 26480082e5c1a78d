#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sims/quantities/common_quantities.hpp"
#include "sims/quantities/ionization.hpp"

namespace sidestream::sims {

/// The names of the quantities that the tasks declare by expressions: these stay theirs.
std::vector<std::string> declared_in(const core::Node& root);

/// What equilibrium of ionisation adds to the state in a file, for tasks: by their own `[heating]`, else by that of the
/// run that made the file, which may be none. Lives as long as both.
class FileIonization {
 public:
  /// `is_of_run`: `root` is of a run that did more than these tasks, so that its `[heating]` may do nothing here.
  /// Adds it to `file`, the table with its defaults to `resolved`, and to `sources` what it follows from. Collective.
  /// Throws core::Error where the tasks' own `[heating]` cannot be taken for this file.
  FileIonization(const comm::Communicator& world, const core::Node& root, mesh::Snapshot& file, Sources& sources,
                 core::Node& resolved, bool is_of_run = false);

  /// Throws core::Error where results would name a `[heating]` that is not theirs (it makes nothing of what the tasks
  /// read, or they read ions of the file as well), and where the file holds what is no gas. `tell` is given what else
  /// there is to say of its gas, on the first rank. Collective.
  void check(const comm::Communicator& world, const couple::CouplingConfig& config,
             const std::function<void(const std::string& line)>& tell) const;

  /// Has the moment of the file tell of the `[heating]` of what the task reads, and of no other.
  void label(const couple::Task& task);

 private:
  void add(const comm::Communicator& world, const core::Node& root, const core::Node& heating, core::Node& resolved);
  bool makes_any_of(const std::set<std::string>& names) const;
  void check_own(const couple::CouplingConfig& config) const;
  void check_redshift(const solvers::HeatingConfig& config) const;

  mesh::Snapshot* file_;
  Sources* sources_;
  std::optional<core::Node> own_;
  bool is_of_run_;                // `[heating]` of the tasks
  std::set<std::string> before_;  // quantities of the file without it
  mesh::Moment moment_;           // likewise
  std::optional<Ionization> ionization_;
};

}  // namespace sidestream::sims
