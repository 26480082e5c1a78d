#pragma once

#include <string>

#include "sidestream/core/error.hpp"
#include "sidestream/sims/run.hpp"

namespace sidestream::sims {

/// What is wrong with the text of a configuration; "no error" where nothing is.
inline core::Error error_of(const std::string& text) {
  try {
    read_run(core::parse_toml(text, "run.toml"));
  } catch (const core::Error& error) {
    return error;
  }
  return core::Error("no error");
}

}  // namespace sidestream::sims
