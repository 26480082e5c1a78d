#include "sims/config/output_kinds.hpp"

namespace sidestream::sims {

bool OutputKind::fits(const io::Format& format) const {
  if (is_checkpoint) return format.checkpoint.has_value();
  return format.plotfile.has_value() && (has_fields || format.holds_particles_alone);
}

const core::Registry<OutputKind>& output_kinds() {
  static const core::Registry<OutputKind> all(
      {"files", "kind of file", "what a task writes: `write` of [task.NAME]"},
      {{"plotfile", "quantities and particles, for those who look at them", false, true},
       {"particles", "the particles alone, or a part of them", false, false},
       {"checkpoint", "the state to the bit, for a run to go on from", true, true}});
  return all;
}

}  // namespace sidestream::sims
