#pragma once

namespace sidestream::solvers {

/// What follows from the gradient of a velocity: its curl along an axis, the length of that, or half of |rotation|^2 -
/// |strain|^2 (Hunt, Wray & Moin 1988).
enum class OfGradient { vorticity_x, vorticity_y, vorticity_z, vorticity_magnitude, q_criterion };

}  // namespace sidestream::solvers
