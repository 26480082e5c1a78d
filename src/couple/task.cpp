#include "sidestream/couple/task.hpp"

#include <algorithm>

namespace sidestream::couple {

const core::Registry<TransportEntry>& transports() {
  static const core::Registry<TransportEntry> all(
      {"transports", "transport", "how a snapshot reaches an analysis: `transport` of [task.NAME]"},
      {{"in-situ", "on the ranks that compute, which wait", Transport::in_situ},
       {"in-transit", "on sidecars, while the simulation goes on", Transport::in_transit}});
  return all;
}

std::string to_string(Transport transport) {
  return std::ranges::find(transports(), transport, &TransportEntry::transport)->name;
}

std::vector<FieldRequest> requested_fields(const Task& task) {
  std::vector<FieldRequest> all;
  for (const std::string& name : task.analysis->fields())
    all.push_back(name.ends_with('?') ? FieldRequest{name.substr(0, name.size() - 1), true}
                                      : FieldRequest{name, false});
  return all;
}

}  // namespace sidestream::couple
