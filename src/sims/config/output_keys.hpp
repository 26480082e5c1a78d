#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sidestream/core/compression.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/couple/trigger.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/sims/run.hpp"
#include "sims/config/output_kinds.hpp"

namespace sidestream::sims {

/// The transport of files that sidecars write.
inline constexpr const char* carried_by = "in-transit";

/// The keys of an output as they are read.
struct OutputKeys : couple::TriggerKeys {
  std::string transport, stage, format, grid, method, precision, particle_precision,
      on_failure;  // `grid`: `state` of a checkpoint
  std::vector<std::string> variables, species, particle_numbers;
  core::Compression compression;
  double particle_share = 1.0;
  std::int32_t keep = 0, files = 0, ranks_per_file = 1, aggregators = 0, stripes = 0;
  double stripe_bytes = 0.0;
  bool is_asynchronous = false;
};

/// The formats that can hold a kind of file.
std::vector<std::string> formats_for(const OutputKind& kind);

/// The keys of a kind. `precision`: of the state.
core::Table<OutputKeys> output_table(const OutputKind& kind, const couple::TimeKeeping& times, io::Precision precision,
                                     const std::string& checkpoint_format = usual_checkpoint_format(true));

}  // namespace sidestream::sims
