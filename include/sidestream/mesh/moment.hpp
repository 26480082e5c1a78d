#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sidestream::mesh {

/// Where a simulation stands: on every rank the same.
struct Moment {
  std::int64_t step = 0;
  double time = 0.0;                           ///< in the simulation's unit of time
  std::optional<double> scale_factor{};        ///< a = 1/(1+z), only where the universe expands
  std::map<std::string, double> attributes{};  ///< omega_m, omega_b, hubble, box_mpc, ...
  std::map<std::string, std::string> words{};  ///< what is no number of what made it: uv_background, rates, ...

  /// Empty where nothing expands. A run that lands on a redshift says which by the attribute `redshift`, because
  /// 1/a - 1 may differ from it by rounding.
  std::optional<double> redshift() const;
  /// The value of an attribute; throws core::Error naming those there are.
  double attribute(const std::string& name) const;
};

}  // namespace sidestream::mesh
