#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::test {

/// Particles of which every number follows from the species, the id and the step, so that any rank can check any. Ids
/// count from 0, so that those of one species are those of others.
struct SpeciesSample {
  std::string name;
  std::uint64_t seed;
  std::int64_t count;
  double mass;
  std::vector<mesh::Quantity> attributes;
  double share_of_x;  ///< of the domain, from the lower side, that they are in

  double number(std::uint64_t which, std::int64_t id, std::int64_t step) const {
    return core::uniform(seed, which + 100 * static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(id));
  }
  double attribute(std::size_t which, std::int64_t id, std::int64_t step) const {
    return (number(3 + which, id, step) + 0.3) * 1e3 / 3.0;  // masses among them
  }
  std::array<double, 3> position(const mesh::Geometry& geometry, std::int64_t id, std::int64_t step) const {
    std::array<double, 3> at{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      at[axis] = number(axis, id, step) * geometry.length[axis] * (axis == 0 ? share_of_x : 1.0);
    return at;
  }
};

/// One whose particles have one mass, one with masses of their own in a part of the domain, so that some ranks may have
/// none, one with nothing but ids, and one of which there are none.
inline const std::vector<SpeciesSample>& species_samples() {
  static const std::vector<mesh::Quantity> momenta{
      {"momentum_x", "km/s"}, {"momentum_y", "km/s"}, {"momentum_z", "km/s"}};
  static const std::vector<SpeciesSample> all{
      {"dark_matter", 11, 700, 0.1, momenta, 1.0},
      {"stars",
       12,
       90,
       0.0,
       {{"creation_time", "Gyr"}, {"mass", "Msun"}, {"momentum_x", "km/s"}, {"metallicity", "1"}},
       0.2},
      {"tracers", 13, 300, 0.0, {}, 1.0},
      {"black_holes", 14, 0, 0.0, {{"spin", "1"}}, 1.0}};
  return all;
}

/// Whether `rank` owns the leaf that holds a position.
inline bool owns_leaf_at(const mesh::Snapshot& snapshot, int rank, const std::array<double, 3>& position) {
  for (int level = snapshot.finest_level(); level >= 0; --level) {
    const mesh::Layout& leaves = snapshot.levels[static_cast<std::size_t>(level)];
    const mesh::Geometry geometry{leaves.domain(), snapshot.geometry.length, snapshot.geometry.periodic};
    if (const std::int32_t box = leaves.find(cell_of(geometry, position)); box >= 0) return leaves.owner(box) == rank;
  }
  return false;
}

/// Those of a sample in the leaves of `rank`.
inline mesh::Particles particles_of(const SpeciesSample& sample, const mesh::Snapshot& snapshot, int rank) {
  mesh::Particles particles;
  particles.mass = sample.mass;
  for (const mesh::Quantity& attribute : sample.attributes)
    particles.attributes.push_back({attribute.name, attribute.unit, {}});
  for (std::int64_t id = 0; id < sample.count; ++id) {
    const auto position = sample.position(snapshot.geometry, id, snapshot.moment.step);
    if (!owns_leaf_at(snapshot, rank, position)) continue;
    particles.id.push_back(id);
    for (std::size_t axis = 0; axis < 3; ++axis) particles.position[axis].push_back(position[axis]);
    for (std::size_t a = 0; a < sample.attributes.size(); ++a)
      particles.attributes[a].values.push_back(sample.attribute(a, id, snapshot.moment.step));
  }
  return particles;
}

inline void add_species_samples(mesh::Snapshot& snapshot, int rank) {
  for (const SpeciesSample& sample : species_samples())
    snapshot.add_species({sample.name, particles_of(sample, snapshot, rank)});
}

/// Expects that the ranks of `comm` hold all of a sample together, to the bit.
inline void expect_sample(const comm::Communicator& comm, const SpeciesSample& sample, const mesh::Particles& found,
                          const mesh::Geometry& geometry, std::int64_t step) {
  SCOPED_TRACE(sample.name);
  EXPECT_EQ(found.mass, sample.mass);
  ASSERT_EQ(found.attributes.size(), sample.attributes.size());
  for (std::size_t a = 0; a < sample.attributes.size(); ++a) {
    EXPECT_EQ(found.attributes[a].name, sample.attributes[a].name);
    EXPECT_EQ(found.attributes[a].unit, sample.attributes[a].unit);
  }
  mesh::check(found);
  std::int64_t differ = 0;
  for (std::size_t p = 0; p < found.size(); ++p) {
    const auto position = sample.position(geometry, found.id[p], step);
    for (std::size_t axis = 0; axis < 3; ++axis) differ += found.position[axis][p] != position[axis];
    for (std::size_t a = 0; a < sample.attributes.size(); ++a)
      differ += found.attributes[a].values[p] != sample.attribute(a, found.id[p], step);
  }
  EXPECT_EQ(differ, 0);
  std::map<std::int64_t, int> times;
  for (const std::int64_t id : comm.all_gather(std::span<const std::int64_t>(found.id))) ++times[id];
  EXPECT_EQ(std::ssize(times), sample.count);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1) << id;
}

}  // namespace sidestream::test
