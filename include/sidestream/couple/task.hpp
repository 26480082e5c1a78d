#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sidestream/analysis/analysis.hpp"
#include "sidestream/couple/transport.hpp"
#include "sidestream/couple/trigger.hpp"

namespace sidestream::couple {

/// An analysis, how it gets its data and when: one `[task.NAME]` table.
struct Task {
  std::string name;
  std::string analysis_name;
  std::shared_ptr<const analysis::Analysis> analysis;
  const TransportEntry* transport = &transports().front();
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
