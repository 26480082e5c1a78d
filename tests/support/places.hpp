#pragma once

#include <string>

namespace sidestream::test {

/// The folder of the sources. Compiled into one file, so that no other depends on where the sources are.
std::string source_folder();

/// A file or folder in tests/data.
inline std::string test_data(const std::string& name) {
  return source_folder() + "/tests/data/" + name;
}

}  // namespace sidestream::test
