#include "sidestream/analysis/friends_of_friends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "analysis/fields/leaf_owners.hpp"
#include "analysis/friends_of_friends/particle_groups.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

namespace {

[[noreturn]] void reject(std::int64_t id, const Point& point, const std::string& what) {
  throw core::Error(fmt::format("particle {} at ({}, {}, {}) {}", id, point[0], point[1], point[2], what));
}

// A particle on its way to the rank whose block holds it.
struct Traveller {
  Point position{};
  std::int64_t id = 0;
  std::int32_t rank = 0, index = 0;  // where it belongs
};

std::vector<Traveller> travellers_of(const mesh::Particles& particles, const LeafOwners& owners, int rank) {
  check_count(particles.size());
  std::vector<Traveller> travellers(particles.size());
  for (std::size_t p = 0; p < travellers.size(); ++p) {
    travellers[p] = {{}, particles.id[p], rank, static_cast<std::int32_t>(p)};
    const Point from{particles.position[0][p], particles.position[1][p], particles.position[2][p]};
    travellers[p].position = position_inside(owners, particles.id[p], from);
  }
  return travellers;
}

std::int64_t name_of(const ParticleGroups& groups, std::size_t point) {
  return groups.names[static_cast<std::size_t>(groups.part[point])].value;
}

// The name of the group of each particle, on the rank where it belongs. Collective.
std::vector<std::int64_t> names_at_home(const comm::Communicator& comm, std::span<const Traveller> travellers,
                                        const ParticleGroups& groups, std::size_t count) {
  struct Answer {
    std::int64_t name, index;
  };
  std::vector<std::vector<Answer>> answers(static_cast<std::size_t>(comm.size()));
  std::vector<std::int64_t> names(count);
  for (std::size_t p = 0; p < travellers.size(); ++p) {
    const auto& [position, id, rank, index] = travellers[p];
    if (rank == comm.rank())
      names[static_cast<std::size_t>(index)] = name_of(groups, p);
    else
      answers[static_cast<std::size_t>(rank)].push_back({name_of(groups, p), index});
  }
  for (const auto& of_rank : comm.exchange(answers))
    for (const Answer& answer : of_rank) names[static_cast<std::size_t>(answer.index)] = answer.name;
  return names;
}

std::vector<Point> points_of(std::span<const std::int64_t> ids, const std::array<std::span<const double>, 3>& positions,
                             const std::array<double, 3>& length, const mesh::Periodicity& periodic) {
  std::vector<Point> points(ids.size());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    core::require(positions[axis].size() == ids.size(), "each particle has an id and a position along x, y and z");
    if (periodic[axis] && !(length[axis] > 0.0 && std::isfinite(length[axis])))
      throw core::Error(fmt::format("the side of the periodic box is {}", length[axis]), "", "it is a length above 0");
    for (std::size_t p = 0; p < points.size(); ++p) {
      const double x = positions[axis][p];
      points[p][axis] = periodic[axis] && std::isfinite(x) ? mesh::wrapped_coordinate(x, length[axis]) : x;
    }
  }
  for (std::size_t p = 0; p < points.size(); ++p)
    if (!std::ranges::all_of(points[p], [](double x) { return std::isfinite(x); }))
      reject(ids[p], points[p], "is nowhere");
  return points;
}

// The box on periodic axes, what the points span on others.
Extent extent_of(std::span<const Point> points, const std::array<double, 3>& length,
                 const mesh::Periodicity& periodic) {
  Extent extent{{}, length, periodic};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (periodic[axis]) continue;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const Point& point : points) {
      low = std::min(low, point[axis]);
      high = std::max(high, point[axis]);
    }
    extent.lower[axis] = points.empty() ? 0.0 : low;
    extent.length[axis] = points.empty() ? 0.0 : high - low;
  }
  return extent;
}

}  // namespace

std::vector<std::int64_t> friends_of_friends(const comm::Communicator& comm, std::span<const mesh::Layout> levels,
                                             const mesh::Geometry& geometry, const mesh::Particles& particles,
                                             double linking_length) {
  const LeafOwners owners(comm.rank(), levels, geometry);
  std::vector<Traveller> travellers;
  comm.agree_on([&] {
    check_linking_length(linking_length);
    check(particles);
    travellers = travellers_of(particles, owners, comm.rank());
  });
  travellers = dealt(comm, owners, std::move(travellers));
  comm.agree_on([&] { check_count(travellers.size()); });
  std::vector<Point> points;
  std::vector<std::int64_t> ids;
  points.reserve(travellers.size());
  ids.reserve(travellers.size());
  for (const Traveller& traveller : travellers) {
    points.push_back(traveller.position);
    ids.push_back(traveller.id);
  }
  const ParticleGroups groups = group_points(comm, owners, points, ids, linking_length);
  return names_at_home(comm, travellers, groups, particles.size());
}

std::vector<std::int64_t> friends_of_friends(std::span<const std::int64_t> ids,
                                             const std::array<std::span<const double>, 3>& positions,
                                             const std::array<double, 3>& length, const mesh::Periodicity& periodic,
                                             double linking_length) {
  check_linking_length(linking_length);
  check_count(ids.size());
  const std::vector<Point> points = points_of(ids, positions, length, periodic);
  const ParticleGroups groups = group_points(extent_of(points, length, periodic), points, ids, linking_length);
  std::vector<std::int64_t> names(ids.size());
  for (std::size_t p = 0; p < names.size(); ++p) names[p] = name_of(groups, p);
  return names;
}

double warren_mass(double mass, std::int64_t particles) {
  return mass * (1.0 - core::pow(static_cast<double>(particles), -0.6));
}

}  // namespace sidestream::analysis
