#pragma once

#include <string>

#include "sidestream/core/registry.hpp"
#include "sidestream/io/format.hpp"

namespace sidestream::sims {

/// A kind of file that a run writes: `[output]`, or `write` of a task.
struct OutputKind {
  std::string name, documentation;
  bool is_checkpoint = false;
  bool has_fields = true;

  /// Whether a format can hold it.
  bool fits(const io::Format& format) const;
};

/// All kinds there are.
const core::Registry<OutputKind>& output_kinds();

}  // namespace sidestream::sims
