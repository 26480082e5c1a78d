#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sidestream/core/error.hpp"

namespace sidestream::test {

/// What `read(text)` throws; where it accepts the text, the test fails.
template <typename Read>
core::Error rejection_of(const std::string& text, Read read) {
  try {
    read(text);
  } catch (const core::Error& error) {
    return error;
  }
  ADD_FAILURE() << "accepted:\n" << text;
  return core::Error("");
}

}  // namespace sidestream::test
