#pragma once

namespace sidestream::sims {

/// The number of the signal that came since it was last asked, or 0. Local.
int take_stop_signal();
/// Whether the user waits for the run to end.
bool is_interrupted();

}  // namespace sidestream::sims
