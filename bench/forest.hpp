#pragma once

#include <functional>
#include <vector>

#include "lognormal.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::bench {

// CPU time of all ranks, a cell [us].
inline nlohmann::json microseconds_a_cell(const comm::Communicator& comm, std::int64_t cells,
                                          const std::function<void()>& work) {
  constexpr int repeats = 5;
  std::vector<double> times;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    comm.barrier();
    const double before = cpu_seconds();
    work();
    times.push_back(1e6 * total(comm, cpu_seconds() - before) / static_cast<double>(cells));
  }
  return spread(std::move(times));
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
