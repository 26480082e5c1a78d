#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "lognormal.hpp"
#include "sidestream/analysis/analysis.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::bench {

// CPU time of all ranks, a cell [us].
template <typename F>
nlohmann::json microseconds_a_cell(const comm::Communicator& comm, const mesh::Snapshot& snapshot, F work) {
  return cpu_time_each(comm, static_cast<double>(snapshot.geometry.domain.volume()), microsecond, 5, work);
}

// The same of the analysis that the keys of a task name.
inline nlohmann::json time_of_task(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                   const std::string& keys) {
  const core::Node table = core::parse_toml(keys, "task");
  return microseconds_a_cell(comm, snapshot, [&] {
    analysis::analyses().chosen(table, "analysis").make(table, nullptr)->run(comm, snapshot);
  });
}

// A benchmark of a cube, whose cells a side are the first argument: prints what `measure(comm, cells)` says [us a
// cell].
template <typename F>
void report_of_cube(int argc, char** argv, const std::string& name, F measure) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  const int cells = argc > 1 ? std::atoi(argv[1]) : 128;
  nlohmann::json report = header(world, name);
  report["cells"] = cells;
  report["us_a_cell"] = measure(world, cells);
  if (world.rank() == 0) std::puts(report.dump(2).c_str());
}

// 20 Mpc/h at z = 3: gas whose temperature and neutral share follow its density, and velocities without structure.
inline mesh::Snapshot forest(const comm::Communicator& comm, const mesh::Layout& layout) {
  mesh::Snapshot snapshot;
  snapshot.geometry = {layout.domain(), {28.49, 28.49, 28.49}, layout.periodic()};
  snapshot.levels = {layout};
  snapshot.rank = comm.rank();
  snapshot.moment.attributes = {{"redshift", 3.0}, {"omega_m", 0.275}, {"hubble", 0.702}};
  mesh::Field<double> neutral = lognormal(comm, layout, 1.5, 1.0), temperature(layout, comm.rank());
  mesh::Field<double> gas(layout, comm.rank()), dark = lognormal(comm, layout, 1.0, 1.5);
  for (double& density : dark.all()) density *= 3.1e10;
  for (std::size_t i = 0; i < neutral.all().size(); ++i) {
    const double overdensity = neutral.all()[i];
    gas.all()[i] = 6.2e9 * overdensity;
    temperature.all()[i] = 1.2e4 * core::pow(overdensity, 0.5);
    neutral.all()[i] = 8e-11 * core::pow(overdensity, 1.65);
  }
  snapshot.add({"gas_density", "Msun/Mpc^3"}, std::move(gas));
  snapshot.add({"dark_matter_density", "Msun/Mpc^3"}, std::move(dark));
  snapshot.add({"neutral_hydrogen", "1/cm^3"}, std::move(neutral));
  snapshot.add({"temperature", "K"}, std::move(temperature));
  for (const char* name : {"velocity_x", "velocity_y", "velocity_z"}) {
    mesh::Field<double> velocity = lognormal(comm, layout, 4.0, 1.0);
    for (double& one : velocity.all()) one = 100.0 * core::log(one);
    snapshot.add({name, "km/s"}, std::move(velocity));
  }
  return snapshot;
}

}  // namespace sidestream::bench
