#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sidestream/analysis/analysis.hpp"
#include "sidestream/couple/trigger.hpp"

namespace sidestream::couple {

/// How a snapshot reaches an analysis.
enum class Transport {
  in_situ,     ///< the ranks that compute do it, and wait meanwhile
  in_transit,  ///< the data go to sidecar ranks, and the simulation goes on
};

struct TransportEntry {
  std::string name, documentation;
  Transport transport;
};
/// All transports there are.
const core::Registry<TransportEntry>& transports();

/// The word of the configuration for a transport: "in-situ".
std::string to_string(Transport transport);

/// An analysis, how it gets its data and when: one `[task.NAME]` table.
struct Task {
  std::string name;
  std::string analysis_name;
  std::shared_ptr<const analysis::Analysis> analysis;
  Transport transport = Transport::in_situ;
  Trigger trigger;
  std::string parameters;  ///< the analysis's own keys as TOML, defaults filled in; stored with each result
};

/// A field an analysis asks for. A trailing '?' of its name in `Analysis::fields` means that it is used only if the
/// snapshot has it.
struct FieldRequest {
  std::string name;
  bool is_optional = false;
};
std::vector<FieldRequest> requested_fields(const Task& task);

}  // namespace sidestream::couple
