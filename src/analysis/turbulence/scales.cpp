#include "analysis/turbulence/scales.hpp"

#include <cmath>
#include <numbers>

namespace sidestream::analysis {

FlowScales flow_scales(const FlowMeans& means) {
  FlowScales scales;
  const bool is_flat = means.dimensions == 2;
  const double squared_velocity = 2.0 * means.energy / means.dimensions;
  if (!(squared_velocity > 0.0)) return scales;
  scales.rms_velocity = std::sqrt(squared_velocity);
  scales.integral_scale = (is_flat ? 2.0 : 0.5 * std::numbers::pi) * means.energy_over_k / squared_velocity;
  if (means.gradients > 0.0)
    scales.taylor_scale = std::sqrt((is_flat ? 8.0 : 15.0) * squared_velocity / means.gradients);
  scales.turnover_time = scales.integral_scale / scales.rms_velocity;
  return scales;
}

ViscousScales viscous_scales(const FlowMeans& means, double viscosity) {
  ViscousScales scales;
  scales.dissipation = viscosity * means.gradients;
  if (!(scales.dissipation > 0.0)) return scales;
  const FlowScales flow = flow_scales(means);
  scales.kolmogorov_time = std::sqrt(viscosity / scales.dissipation);
  scales.kolmogorov_scale = std::sqrt(viscosity * scales.kolmogorov_time);
  if (!(flow.rms_velocity > 0.0)) return scales;
  scales.taylor_reynolds_number = flow.rms_velocity * flow.taylor_scale / viscosity;
  const double cubed_velocity = flow.rms_velocity * flow.rms_velocity * flow.rms_velocity;
  scales.normalized_dissipation = scales.dissipation * flow.integral_scale / cubed_velocity;
  return scales;
}

}  // namespace sidestream::analysis
