#pragma once

#include <string>

/// What the programs of these names do, so that a process with an interpreter of Python does it as well. Each returns
/// the exit code. `program`: the file that is started for tasks that are jobs of their own.
namespace sidestream::apps {

int run_program(int argc, char** argv, const std::string& program);
int attach_program(int argc, char** argv);

}  // namespace sidestream::apps
