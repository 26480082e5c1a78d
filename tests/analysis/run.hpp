#pragma once

#include <functional>
#include <memory>
#include <string>

#include "analysis/grid.hpp"
#include "sidestream/analysis/analysis.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::test {

/// The analysis that the TOML text of a task describes.
inline std::unique_ptr<analysis::Analysis> analysis_of(const std::string& toml, core::Node* resolved = nullptr) {
  const core::Node table = core::parse_toml(toml, "task.toml");
  return analysis::analyses().chosen(table, "analysis").make(table, resolved);
}

/// What is wrong with a call, and what to do.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const core::Error& error) {
    return std::string(error.what()) + " | " + error.hint();
  }
  return "nothing was thrown";
}

/// The values of a column of a result.
inline const std::vector<double>& numbers(const mesh::Result& result, const std::string& name) {
  return std::get<std::vector<double>>(result.column(name).values);
}
inline const std::vector<std::int64_t>& integers(const mesh::Result& result, const std::string& name) {
  return std::get<std::vector<std::int64_t>>(result.column(name).values);
}

/// Whether every column holds the same bits.
inline bool are_identical(const mesh::Result& a, const mesh::Result& b) {
  if (a.columns.size() != b.columns.size() || a.attributes != b.attributes || a.summary != b.summary) return false;
  for (std::size_t c = 0; c < a.columns.size(); ++c)
    if (a.columns[c].name != b.columns[c].name || a.columns[c].values != b.columns[c].values) return false;
  return true;
}

/// Lognormal densities of gas, dark matter and neutral hydrogen, velocities and temperatures, as functions of the
/// global index.
inline mesh::Snapshot cosmology_snapshot(const mesh::Layout& layout, int rank, bool has_gas = true) {
  const mesh::Int3 cells = layout.domain().extent();
  const auto lognormal = [&](std::uint64_t stream, double mean, double sigma) {
    Grid grid(cells);
    for (std::size_t i = 0; i < grid.values.size(); ++i)
      grid.values[i] = mean * std::exp(sigma * core::normal(42, stream, i));
    return grid.on(layout, rank);
  };
  mesh::Snapshot snapshot = snapshot_on(layout, 14.2);
  snapshot.length_unit = "Mpc";
  snapshot.moment.attributes = {{"hubble", 0.7}, {"omega_m", 0.3}, {"redshift", 3.0}, {"particles", 1000.0}};
  if (has_gas) {
    snapshot.add({"gas_density", "Msun/Mpc^3"}, lognormal(1, 6e9, 1.5));
    snapshot.add({"temperature", "K"}, lognormal(3, 1e4, 2.0));
    snapshot.add({"neutral_hydrogen", "1/cm^3"}, lognormal(7, 3e-11, 1.5));
    for (const std::uint64_t axis : {0, 1, 2}) {
      Grid velocity(cells);
      for (std::size_t i = 0; i < velocity.values.size(); ++i) velocity.values[i] = 100 * core::normal(42, 4 + axis, i);
      snapshot.add({std::string("velocity_") + "xyz"[axis], "km/s"}, velocity.on(layout, rank));
    }
  }
  snapshot.add({"dark_matter_density", "Msun/Mpc^3"}, lognormal(2, 3e10, 2.0));
  return snapshot;
}

}  // namespace sidestream::test
