#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "sidestream/io/checkpoint.hpp"
#include "sidestream/mesh/forest.hpp"
#include "support/fields.hpp"
#include "temporary_folder.hpp"

namespace sidestream {

constexpr std::int64_t particle_total = 1000;

// A number with nothing round about it, different for each particle.
inline double odd_number(std::int64_t id, int what) {
  return std::sqrt(static_cast<double>(id) + 0.1 * what) * (what % 2 == 0 ? 1.0 : -1e-300);
}

inline mesh::Particles particles_of_rank(int rank, int ranks) {
  mesh::Particles particles;
  particles.mass = 1.0 / 3.0;
  particles.attributes = {{"vx", "km/s", {}}, {"vy", "km/s", {}}};
  for (std::int64_t id = rank; id < particle_total; id += ranks) {
    particles.id.push_back(id);
    for (int axis = 0; axis < 3; ++axis)
      particles.position[static_cast<std::size_t>(axis)].push_back(odd_number(id, axis));
    for (int a = 0; a < 2; ++a)
      particles.attributes[static_cast<std::size_t>(a)].values.push_back(odd_number(id, 3 + a));
  }
  return particles;
}

inline int particles_that_differ(const mesh::Particles& particles) {
  int count = 0;
  for (std::size_t p = 0; p < particles.size(); ++p) {
    for (int axis = 0; axis < 3; ++axis)
      count += particles.position[static_cast<std::size_t>(axis)][p] != odd_number(particles.id[p], axis);
    for (int a = 0; a < 2; ++a)
      count += particles.attributes[static_cast<std::size_t>(a)].values[p] != odd_number(particles.id[p], 3 + a);
  }
  return count;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest()
      : gas_(test::field_of_global_index(mesh::Forest({16, 16, 8}, 4).layout(comm_.size()), comm_.rank(), 3, 2)),
        potential_(test::field_of_global_index(mesh::split(domain_, {1, 1, comm_.size()}), comm_.rank())),
        particles_(particles_of_rank(comm_.rank(), comm_.size())) {}

  io::CheckpointContent content(std::int64_t step = 7) const {
    io::CheckpointContent all;
    all.step = step;
    all.attributes = {{"time", 1.0 / 3.0}, {"zero", -0.0}, {"never", std::numeric_limits<double>::infinity()}};
    all.texts = {{"scheduler", "a \"quoted\"\nline"}};
    all.config = "[run]\nname = \"x\"\n";
    all.fields = {{"gas", &gas_}, {"potential", &potential_}};
    all.particles = {&particles_};
    return all;
  }
  std::string write(std::int64_t step, int files = 64) const {
    auto all = content(step);
    all.files = files;
    const std::string path = folder_ / ("chk0000" + std::to_string(step));
    io::write_checkpoint(comm_, path, all);
    return path;
  }
  // Changes a file of a checkpoint on one rank, seen by all.
  void damage(const std::string& path, const std::function<void(std::string&)>& change) const {
    if (comm_.rank() == 0) {
      std::string bytes = test::content_of(path);
      change(bytes);
      test::overwrite(path, bytes);
    }
    comm_.barrier();
  }
  void expect_good(const comm::Communicator& comm, const std::string& path, mesh::Int3 parts) const;

  const mesh::Box domain_ = mesh::domain_of({16, 16, 8});
  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  mesh::Field<double> gas_, potential_;
  mesh::Particles particles_;
};

inline void CheckpointTest::expect_good(const comm::Communicator& comm, const std::string& path,
                                        mesh::Int3 parts) const {
  const io::Checkpoint checkpoint(comm, path);
  mesh::Field<double> gas(mesh::split(domain_, parts), comm.rank(), 3, 1),
      potential(mesh::split(domain_, parts), comm.rank());
  checkpoint.read_field("gas", gas);
  checkpoint.read_field("potential", potential);
  const mesh::Particles particles = checkpoint.read_particles();

  EXPECT_EQ(test::cells_that_differ(gas), 0);
  EXPECT_EQ(test::cells_that_differ(potential), 0);
  EXPECT_EQ(particles_that_differ(particles), 0);
  std::vector<std::int64_t> ids = comm.gather(std::span<const std::int64_t>(particles.id));
  if (comm.rank() == 0) {
    EXPECT_EQ(std::set<std::int64_t>(ids.begin(), ids.end()).size(), static_cast<std::size_t>(particle_total));
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(particle_total));
  }
}

}  // namespace sidestream
