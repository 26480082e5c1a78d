#pragma once

namespace sidestream::analysis {

/// Means over the box that the scales of a flow follow from; those of the fluctuation about the mean flow.
struct FlowMeans {
  double energy = 0.0;         ///< <u.u> / 2
  double energy_over_k = 0.0;  ///< sum over waves of |u|^2 / (2 |k|)
  double gradients = 0.0;      ///< <|grad u|^2>
  int dimensions = 3;          ///< 2 or 3: axes of more than one cell
};

/// Lengths and times of large and middle eddies; 0 where there is no motion.
struct FlowScales {
  double rms_velocity = 0.0;    ///< u', of one component: sqrt(2 energy / dimensions)
  double integral_scale = 0.0;  ///< L, of longitudinal correlations: pi / (2 u'^2) energy_over_k (2-D: 2 / u'^2)
  double taylor_scale = 0.0;    ///< lambda = u' / rms longitudinal gradient: sqrt(15 u'^2 / <|grad u|^2>) (2-D: 8)
  double turnover_time = 0.0;   ///< L / u'
};
/// Those of isotropic turbulence (Pope 2000, Turbulent Flows, eqs. 6.225 and 6.59; in two dimensions by the same
/// integrals over directions).
FlowScales flow_scales(const FlowMeans& means);

/// What follows with a viscosity nu; 0 where it would be infinite.
struct ViscousScales {
  double dissipation = 0.0;             ///< epsilon = nu <|grad u|^2>
  double kolmogorov_scale = 0.0;        ///< eta = (nu^3 / epsilon)^(1/4)
  double kolmogorov_time = 0.0;         ///< sqrt(nu / epsilon)
  double taylor_reynolds_number = 0.0;  ///< R_lambda = u' lambda / nu
  double normalized_dissipation = 0.0;  ///< epsilon L / u'^3
};
ViscousScales viscous_scales(const FlowMeans& means, double viscosity);

}  // namespace sidestream::analysis
