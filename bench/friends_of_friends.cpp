// Friends-of-friends groups, and the halos made of them (without spheres): CPU time (user and system, over all ranks) a
// particle at a linking length of 0.2 mean separations, beside a plain sort of one coordinate of the particles in the
// same run. The particles: all at random ("random"); or 60 % of them in isothermal clumps of a mean density of 200 and
// of 20 to 10^5 particles, the number of which falls as their size to the power -1.9 ("clumped"); the same with 10 % of
// all particles in one clump a tenth of the linking length in radius ("dense"). Orders: "shuffled", or "sorted" by
// blocks and cells, which is near that of a simulation. Usage: mpirun -n 2 bench_friends_of_friends [PARTICLES]...

#include "sidestream/analysis/friends_of_friends.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>
#include <string>
#include <utility>

#include "report.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/migration.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

constexpr double linking_length = 0.2;  // mean separations, which are 1

struct Sampler {
  std::uint64_t draw = 0;
  double uniform() { return core::uniform(11, 1, draw++); }
  double normal() { return core::normal(11, 2, draw++); }
};

// The number of particles in a clump: a power law between 20 and 10^5.
double clump_size(Sampler& sample) {
  constexpr double slope = -0.9, least = 20.0, most = 1e5;
  const double low = std::pow(least, slope), high = std::pow(most, slope);
  return std::pow(low + sample.uniform() * (high - low), 1.0 / slope);
}

void add(mesh::Particles& particles, const std::array<double, 3>& position, double side) {
  particles.id.push_back(static_cast<std::int64_t>(particles.size()));
  for (std::size_t axis = 0; axis < 3; ++axis)
    particles.position[axis].push_back(mesh::wrapped_coordinate(position[axis], side));
}

void add_clump(mesh::Particles& particles, std::int64_t count, double radius, double side, Sampler& sample) {
  const std::array<double, 3> center{side * sample.uniform(), side * sample.uniform(), side * sample.uniform()};
  for (std::int64_t p = 0; p < count; ++p) {
    const std::array<double, 3> n{sample.normal(), sample.normal(), sample.normal()};
    const double r = radius * sample.uniform() / std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    add(particles, {center[0] + r * n[0], center[1] + r * n[1], center[2] + r * n[2]}, side);
  }
}

// All particles, in a box whose side is that of `count` mean separations of 1.
mesh::Particles sample_of(const std::string& kind, std::int64_t count, double side) {
  Sampler sample;
  mesh::Particles particles;
  const auto in_clumps = kind == "random" ? 0 : count * 6 / 10;
  if (kind == "dense") add_clump(particles, count / 10, 0.1 * linking_length, side, sample);
  while (static_cast<std::int64_t>(particles.size()) < in_clumps) {
    const double size = std::min(clump_size(sample), static_cast<double>(count) / 10);
    add_clump(particles, std::lround(size), std::cbrt(size / (200.0 * 4.0 / 3.0 * std::numbers::pi)), side, sample);
  }
  while (static_cast<std::int64_t>(particles.size()) < count)
    add(particles, {side * sample.uniform(), side * sample.uniform(), side * sample.uniform()}, side);
  return particles;
}

// The particles of this rank.
mesh::Particles dealt(const mesh::Particles& all, const mesh::Layout& layout, const mesh::Geometry& geometry, int rank,
                      bool is_sorted) {
  std::vector<std::pair<std::int64_t, std::size_t>> mine;
  std::mt19937_64 generator(5);
  for (std::size_t p = 0; p < all.size(); ++p) {
    const mesh::Int3 cell = cell_of(geometry, {all.position[0][p], all.position[1][p], all.position[2][p]});
    const std::int32_t box = layout.find(cell);
    const std::int64_t in_order = (std::int64_t{box} << 32) + linear_index(geometry.domain, cell);
    const auto at_random = static_cast<std::int64_t>(generator() >> 1);
    if (layout.owner(box) == rank) mine.emplace_back(is_sorted ? in_order : at_random, p);
  }
  std::sort(mine.begin(), mine.end());
  mesh::Particles particles;
  for (const auto& [key, p] : mine) {
    particles.id.push_back(all.id[p]);
    for (std::size_t axis = 0; axis < 3; ++axis) particles.position[axis].push_back(all.position[axis][p]);
  }
  return particles;
}

// CPU time of all ranks a particle [us].
template <typename F>
json cpu_us_per_particle(const comm::Communicator& comm, std::int64_t particles, F work) {
  return bench::cpu_time_each(comm, static_cast<double>(particles), bench::microsecond, 5, work);
}

json measure(const comm::Communicator& comm, std::int64_t count, const std::string& kind, bool is_sorted) {
  const double side = std::cbrt(static_cast<double>(count));
  const auto cells = static_cast<std::int32_t>(std::ceil(side / 32.0) * 32.0);
  const mesh::Layout layout = mesh::Forest({cells, cells, cells}, 32).layout(comm.size());
  const mesh::Geometry geometry{layout.domain(), {side, side, side}};
  const mesh::Particles particles = dealt(sample_of(kind, count, side), layout, geometry, comm.rank(), is_sorted);
  std::vector<std::int64_t> groups;
  json result{{"particles", count}, {"kind", kind}, {"order", is_sorted ? "sorted" : "shuffled"}};
  result["groups"] = cpu_us_per_particle(comm, count, [&] {
    groups = analysis::friends_of_friends(comm, std::span(&layout, 1), geometry, particles, linking_length);
  });
  const mesh::Field<double> density(layout, comm.rank());
  analysis::HaloMeasures measures;
  measures.particles = &particles;
  result["halos"] = cpu_us_per_particle(comm, count, [&] {
    find_group_halos(comm, analysis::LeafField{density}, geometry, {linking_length, 20}, measures);
  });
  result["sort"] = cpu_us_per_particle(comm, count, [&] {
    std::vector<double> x = particles.position[0];
    std::sort(x.begin(), x.end());
  });
  result["groups_over_sort"] = result["groups"]["min"].get<double>() / result["sort"]["min"].get<double>();
  std::int64_t names = 0;
  for (std::size_t p = 0; p < groups.size(); ++p) names += groups[p] == particles.id[p] ? 1 : 0;
  result["number_of_groups"] = comm.sum(names);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_WORLD);
  std::vector<std::int64_t> counts;
  for (int a = 1; a < argc; ++a) counts.push_back(std::stoll(argv[a]));
  if (counts.empty()) counts = {1000000};
  json report = bench::header(comm, "friends_of_friends");
  report["unit"] = "microseconds of CPU time a particle, over all ranks";
  for (const std::int64_t count : counts)
    for (const char* kind : {"random", "clumped", "dense"})
      for (const bool is_sorted : {true, false}) report["cases"].push_back(measure(comm, count, kind, is_sorted));
  if (comm.rank() == 0) std::cout << report.dump(2) << "\n";
}
