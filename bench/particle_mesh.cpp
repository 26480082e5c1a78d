// Cost of the particle mesh: deposit, kick, drift, migration and sort, in CPU time a particle, beside a plain copy of
// the particles' data. Caveat: particles start on a lattice and are displaced by `scatter` cells (rms), which is near
// the order of a simulation that sorts every twenty steps; "shuffled" shows what a run that never sorts would come to.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "report.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/solvers/momentum.hpp"
#include "sidestream/solvers/particle_mesh.hpp"

namespace {

using namespace sidestream;

mesh::Particles displaced_lattice(const mesh::Layout& layout, const mesh::Geometry& geometry, int rank,
                                  double scatter) {
  mesh::Particles particles;
  for (const auto& name : solvers::momentum_names) particles.attributes.push_back({name, "km/s", {}});
  particles.mass = 1.0;
  for (const auto index : layout.boxes_of(rank))
    core::for_each_cell(layout.box(index), [&](int k, int j, int i) {
      const std::int64_t id = mesh::linear_index(geometry.domain, {i, j, k});
      particles.id.push_back(id);
      const std::array<int, 3> cell{i, j, k};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto stream = static_cast<std::uint64_t>(axis), draw = static_cast<std::uint64_t>(id);
        const double x = cell[axis] + 0.5 + scatter * core::normal(1, stream, draw);
        particles.position[axis].push_back(x * geometry.cell_size(0));
        particles.attributes[axis].values.push_back(1e-3 * geometry.cell_size(0) * core::normal(2, stream, draw));
      }
    });
  return particles;
}

template <typename T>
void shuffle(std::vector<T>& values) {
  std::mt19937_64 generator(7);
  std::shuffle(values.begin(), values.end(), generator);
}

void shuffle(mesh::Particles& particles) {
  shuffle(particles.id);
  for (auto& coordinate : particles.position) shuffle(coordinate);
  for (auto& attribute : particles.attributes) shuffle(attribute.values);
}

// A plain copy of all arrays of the particles, 56 bytes each.
double copy_particles(const mesh::Particles& from, mesh::Particles& to) {
  const auto copy = [](const auto& a, auto& b) { std::memcpy(b.data(), a.data(), a.size() * sizeof(a[0])); };
  copy(from.id, to.id);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    copy(from.position[axis], to.position[axis]);
    copy(from.attributes[axis].values, to.attributes[axis].values);
  }
  return to.position[0].empty() ? 0.0 : to.position[0].back();
}

nlohmann::json measure(const comm::Communicator& comm, int cells, const std::string& order) {
  const mesh::Layout layout = mesh::Forest({cells, cells, cells}, 32).layout(comm.size());
  const double length = 0.2 * cells;
  const mesh::Geometry geometry{mesh::domain_of({cells, cells, cells}), {length, length, length}};
  const std::int64_t total = geometry.domain.volume();
  solvers::ParticleMesh particle_mesh(comm, layout, geometry, total);
  mesh::Particles particles = displaced_lattice(layout, geometry, comm.rank(), order == "lattice" ? 0.3 : 3.0);
  redistribute::migrate(comm, layout, geometry, particles);
  if (order == "shuffled") shuffle(particles);
  if (order == "sorted") particle_mesh.sort(particles);
  mesh::Field<double> density(layout, comm.rank()), acceleration(layout, comm.rank(), 3, 1);
  std::fill(acceleration.all().begin(), acceleration.all().end(), 1e-9);
  const int repetitions = cells > 64 ? 9 : 41;

  nlohmann::json result{{"cells", cells}, {"particles", total}, {"order", order}};
  nlohmann::json& ns = result["cpu_ns_per_particle"];
  const auto time = [&](auto work) {  // of a particle [ns]
    return bench::cpu_time_each(comm, static_cast<double>(total), bench::nanosecond, repetitions, work);
  };
  ns["deposit"] = time([&] { particle_mesh.deposit(particles, density); });
  ns["kick"] = time([&] { particle_mesh.kick(acceleration, 1.0, particles); });
  ns["kick and drift"] =
      time([&] { particle_mesh.kick(acceleration, 1.0, particles, 1e-30); });  // which moves nobody out of its block
  ns["migrate"] = time([&] { redistribute::migrate(comm, layout, geometry, particles); });
  mesh::Particles copy = particles;  // after the migration, which changes how many there are on a rank
  ns["copy"] = time([&] { copy_particles(particles, copy); });
  ns["sort"] = time([&] { particle_mesh.sort(particles); });
  const double step =
      ns["deposit"]["min"].get<double>() + ns["kick and drift"]["min"].get<double>() + ns["kick"]["min"].get<double>();
  result["step_us_per_particle"] = 1e-3 * step;  // one deposit, two half kicks, one drift
  result["particles_per_cpu_second"] = 1e9 / step;
  result["ratio_to_copy"] = step / ns["copy"]["min"].get<double>();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_WORLD);
  nlohmann::json report = bench::header(comm, "particle_mesh");
  for (const int cells : {64, 128})
    for (const char* order : {"lattice", "sorted", "shuffled"}) report["cases"].push_back(measure(comm, cells, order));
  if (comm.rank() == 0) std::cout << report.dump(2) << "\n";
}
