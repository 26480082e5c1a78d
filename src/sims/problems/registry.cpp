#include <array>

#include "sims/problems/gas_problem.hpp"

namespace sidestream::sims {

std::span<const GasProblemEntry> gas_problems() {
  static const std::array all{
      sod_problem(),    sedov_problem(),      double_mach_problem(),       kelvin_helmholtz_problem(),
      vortex_problem(), cold_clump_problem(), hydrostatic_sphere_problem()};
  return all;
}

}  // namespace sidestream::sims
