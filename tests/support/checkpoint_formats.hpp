#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sidestream/io/format.hpp"
#include "support/slow_tier.hpp"

namespace sidestream::test {

/// The names of all formats of checkpoints in the slow tier, else those `in_short`.
inline std::vector<std::string> checkpoint_formats(const std::vector<std::string>& in_short) {
  std::vector<std::string> names;
  for (const io::Format& format : io::formats())
    if (format.checkpoint && (is_slow_tier() || std::ranges::find(in_short, format.name) != in_short.end()))
      names.push_back(format.name);
  return names;
}

}  // namespace sidestream::test
