#include "couple/entries.hpp"

namespace sidestream::couple {

const core::Registry<TransportEntry>& transports() {
  static const core::Registry<TransportEntry> all(
      {"transports", "transport", "how a snapshot reaches an analysis: `transport` of [task.NAME]"},
      {in_situ(), async(), in_transit(), stream(), file()});
  return all;
}

}  // namespace sidestream::couple
