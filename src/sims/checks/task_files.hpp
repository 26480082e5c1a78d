#pragma once

#include <map>
#include <string>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/couple/task.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::sims {

/// The name of the text in checkpoints that says which files did the tasks in Python.
inline const std::string task_files_text = "task_files";

/// A digest of the file of each task in Python, by the task's name. A file that is not here has none.
std::map<std::string, std::string> digests_of_task_files(const std::vector<couple::Task>& tasks);

/// A warning for each of `tasks` whose file is not the one of the run that wrote the checkpoint. Files of tasks that it
/// does not know, and of checkpoints that do not tell, are taken.
std::vector<core::Error> changed_task_files(const std::vector<couple::Task>& tasks,
                                            const std::map<std::string, std::string>& digests,
                                            const mesh::Snapshot& checkpoint);

}  // namespace sidestream::sims
