#include "sims/problems/gas_problem.hpp"

namespace sidestream::sims {

const core::Registry<GasProblemEntry>& gas_problems() {
  static const core::Registry<GasProblemEntry> all(
      {"problems", "problem of gas dynamics", "simulations of gas alone"},
      {sod_problem(), sedov_problem(), double_mach_problem(), kelvin_helmholtz_problem(), vortex_problem(),
       cold_clump_problem(), hydrostatic_sphere_problem()});
  return all;
}

}  // namespace sidestream::sims
