#include "sidestream/analysis/friends_of_friends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/names.hpp"
#include "analysis/near_ranks.hpp"
#include "analysis/point_cells.hpp"
#include "analysis/union_find.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// A particle near the faces of another rank's blocks.
struct Ghost {
  Point position{};
  std::int32_t component = 0, padding = 0;  // on the rank that has it
};

// The groups among the points of one process, as components: numbers from 0.
class LocalGroups {
 public:
  LocalGroups(const Extent& extent, std::span<const Point> points, double linking_length)
      : grid_(extent, linking_length), friends_(extent, linking_length), cells_(grid_, points) {
    UnionFind sets(index(cells_.items()));
    std::vector<std::uint8_t> is_whole;  // whether the items of a cell are known to be of one group
    for (std::int32_t cell = 0; cell < cells_.cells(); ++cell) is_whole.push_back(unite_within(cell, sets) ? 1 : 0);
    for_each_near(grid_, cells_, cells_, [&](std::int32_t a, std::int32_t b) {
      if (is_whole[index(a)] != 0 && is_whole[index(b)] != 0)
        unite_whole(a, b, sets);
      else
        unite_items(a, b, sets);
    });
    component_of_item_ = sets.take_numbers(components_);
  }

  std::int32_t components() const { return components_; }

  /// Calls `f(p, component)` for each point, by its place in the list given.
  template <typename F>
  void for_each_point(F f) const {
    for (std::int32_t item = 0; item < cells_.items(); ++item)
      for (const std::int32_t p : cells_.order(item)) f(index(p), component_of_item_[index(item)]);
  }

  /// The connections to components of other ranks, enough to tell what is connected, where `ghosts[p]` came from rank
  /// p.
  std::vector<std::vector<Link>> links(const std::vector<std::vector<Ghost>>& ghosts) const;

 private:
  bool is_point(PointCells::Items items) const {
    return items.end - items.begin == 1 && cells_.points(items.begin).size() == 1;
  }
  bool are_linked(std::int32_t a, std::int32_t b) const { return friends_.any(cells_.points(a), cells_.points(b)); }

  // Unites the items of a cell that have friends in each other; whether all are of one group then.
  bool unite_within(std::int32_t cell, UnionFind& sets) const {
    const auto [begin, end] = cells_.items_of(cell);
    for (std::int32_t a = begin; a < end; ++a)
      for (std::int32_t b = a + 1; b < end; ++b)
        if (sets.find(a) != sets.find(b) && are_linked(a, b)) sets.unite(a, b);
    bool is_whole = true;
    for (std::int32_t item = begin; item < end; ++item) is_whole = is_whole && sets.find(item) == sets.find(begin);
    return is_whole;
  }

  // The same for items of two cells.
  void unite_items(std::int32_t cell_a, std::int32_t cell_b, UnionFind& sets) const {
    const auto as = cells_.items_of(cell_a), bs = cells_.items_of(cell_b);
    for (std::int32_t a = as.begin; a < as.end; ++a)
      for (std::int32_t b = bs.begin; b < bs.end; ++b)
        if (sets.find(a) != sets.find(b) && are_linked(a, b)) sets.unite(a, b);
  }

  // The same for two cells in each of which all items are of one group, so that one pair settles it.
  void unite_whole(std::int32_t cell_a, std::int32_t cell_b, UnionFind& sets) const {
    const auto as = cells_.items_of(cell_a), bs = cells_.items_of(cell_b);
    const bool are_points = is_point(as) && is_point(bs);  // sooner compared than looked up
    if (!are_points && sets.find(as.begin) == sets.find(bs.begin)) return;
    for (std::int32_t a = as.begin; a < as.end; ++a)
      for (std::int32_t b = bs.begin; b < bs.end; ++b)
        if (are_linked(a, b)) return sets.unite(a, b);
  }

  LinkingGrid grid_;
  Friends friends_;
  PointCells cells_;
  std::vector<std::int32_t> component_of_item_;
  std::int32_t components_ = 0;
};

// The components of all ghosts, numbered from `first` on.
class GhostComponents {
 public:
  GhostComponents(const std::vector<std::vector<Ghost>>& ghosts, std::int32_t first) : first_(first) {
    for (std::size_t rank = 0; rank < ghosts.size(); ++rank) {
      std::vector<std::int32_t> here;
      for (const Ghost& ghost : ghosts[rank]) here.push_back(ghost.component);
      std::sort(here.begin(), here.end());
      here.erase(std::unique(here.begin(), here.end()), here.end());
      const auto begin = static_cast<std::int32_t>(origins_.size());
      for (const std::int32_t component : here) origins_.push_back({static_cast<std::int32_t>(rank), component});
      for (const Ghost& ghost : ghosts[rank]) {
        const auto place = std::lower_bound(here.begin(), here.end(), ghost.component) - here.begin();
        of_ghost_.push_back(begin + static_cast<std::int32_t>(place));
      }
    }
  }

  struct Origin {
    std::int32_t rank, component;
  };
  std::int32_t end() const { return first_ + static_cast<std::int32_t>(origins_.size()); }
  std::int32_t number_of(std::int32_t ghost) const { return first_ + of_ghost_[index(ghost)]; }
  const Origin& origin_of(std::int32_t ghost) const { return origins_[index(of_ghost_[index(ghost)])]; }

 private:
  std::int32_t first_;
  std::vector<Origin> origins_;
  std::vector<std::int32_t> of_ghost_;  // of all ranks, one after the other
};

std::vector<std::vector<Link>> LocalGroups::links(const std::vector<std::vector<Ghost>>& ghosts) const {
  std::vector<Point> points;
  for (const auto& of_rank : ghosts)
    for (const Ghost& ghost : of_rank) points.push_back(ghost.position);
  const PointCells ghost_cells(grid_, points);
  const GhostComponents far(ghosts, components_);
  UnionFind sets(index(far.end()));
  std::vector<std::vector<Link>> links(ghosts.size());
  const auto link = [&](std::int32_t item, std::int32_t own) {
    // An item may hold ghosts of several ranks; these find each other, so the first will do.
    const std::int32_t ghost = ghost_cells.order(item).front();
    const std::int32_t a = far.number_of(ghost), b = component_of_item_[index(own)];
    if (sets.find(a) == sets.find(b) || !friends_.any(ghost_cells.points(item), cells_.points(own))) return;
    sets.unite(a, b);
    links[index(far.origin_of(ghost).rank)].push_back({b, far.origin_of(ghost).component});
  };
  for_each_near(grid_, ghost_cells, cells_, [&](std::int32_t ghost_cell, std::int32_t own_cell) {
    const auto as = ghost_cells.items_of(ghost_cell), bs = cells_.items_of(own_cell);
    for (std::int32_t a = as.begin; a < as.end; ++a)
      for (std::int32_t b = bs.begin; b < bs.end; ++b) link(a, b);
  });
  return links;
}

// Which of two ranks compares their particles: one or the other as often.
bool compares(int rank, int other) {
  return ((rank + other) % 2 == 0) == (rank < other);
}

// The particles that other ranks compare with theirs, for each of these.
std::vector<std::vector<Ghost>> ghosts_for_others(const comm::Communicator& comm, std::span<const Point> points,
                                                  const LocalGroups& groups, NearRanks& near) {
  std::vector<std::vector<Ghost>> ghosts(static_cast<std::size_t>(comm.size()));
  groups.for_each_point([&](std::size_t p, std::int32_t component) {
    near.for_each(points[p], [&](std::int32_t rank) {
      if (compares(rank, comm.rank())) ghosts[index(rank)].push_back({points[p], component, 0});
    });
  });
  return ghosts;
}

// The connections between the components of this rank and those of the others. Collective.
std::vector<std::vector<Link>> links_of(const comm::Communicator& comm, std::span<const Point> points,
                                        const LocalGroups& groups, NearRanks& near) {
  auto links = groups.links(comm.exchange(ghosts_for_others(comm, points, groups, near)));
  const auto told = comm.exchange(links);
  for (std::size_t rank = 0; rank < told.size(); ++rank)
    for (const Link& link : told[rank]) links[rank].push_back({link.there, link.here});
  return links;
}

// The smallest id of each component.
std::vector<Name> names_of(const LocalGroups& groups, std::span<const std::int64_t> ids, int rank) {
  std::vector<Name> names;
  for (std::int32_t c = 0; c < groups.components(); ++c)
    names.push_back({std::numeric_limits<std::int64_t>::max(), rank, c});
  groups.for_each_point([&](std::size_t p, std::int32_t component) {
    std::int64_t& value = names[index(component)].value;
    value = std::min(value, ids[p]);
  });
  return names;
}

std::vector<std::int64_t> groups_by_point(const LocalGroups& groups, const std::vector<Name>& names,
                                          std::size_t points) {
  std::vector<std::int64_t> values(points);
  groups.for_each_point([&](std::size_t p, std::int32_t component) { values[p] = names[index(component)].value; });
  return values;
}

void check_linking_length(double linking_length) {
  if (!(linking_length > 0.0 && std::isfinite(linking_length)))
    throw core::Error(fmt::format("the linking length is {}", linking_length), "",
                      "it is a length above 0, commonly 0.2 mean separations of the particles");
}

void check_count(std::size_t points) {
  if (points > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw core::Error(fmt::format("{} particles are too many for one rank", points), "", "use more ranks");
}

[[noreturn]] void reject(std::int64_t id, const Point& point, const std::string& what) {
  throw core::Error(fmt::format("particle {} at ({}, {}, {}) {}", id, point[0], point[1], point[2], what));
}

std::vector<Point> points_of(const mesh::Particles& particles, const mesh::Geometry& geometry) {
  std::vector<Point> points(particles.size());
  for (std::size_t p = 0; p < points.size(); ++p) {
    bool is_inside = true;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double x = points[p][axis] = particles.position[axis][p];
      is_inside = is_inside && x >= 0.0 && x < geometry.length[axis];
    }
    if (!is_inside) reject(particles.id[p], points[p], "is outside of the domain");
  }
  return points;
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
  std::vector<Point> points;
  comm.agree_on([&] {
    check_linking_length(linking_length);
    check(particles);
    check_count(particles.size());
    points = points_of(particles, geometry);
  });
  NearRanks near(comm.rank(), levels, geometry, linking_length);
  comm.agree_on([&] {
    for (std::size_t p = 0; p < points.size(); ++p)
      if (!near.owns(points[p])) reject(particles.id[p], points[p], "is outside of the blocks of its rank");
  });
  const LocalGroups groups({{}, geometry.length, geometry.periodic}, points, linking_length);
  std::vector<Name> names = names_of(groups, particles.id, comm.rank());
  if (comm.size() > 1) spread_names(comm, links_of(comm, points, groups, near), names);
  return groups_by_point(groups, names, points.size());
}

std::vector<std::int64_t> friends_of_friends(std::span<const std::int64_t> ids,
                                             const std::array<std::span<const double>, 3>& positions,
                                             const std::array<double, 3>& length, const mesh::Periodicity& periodic,
                                             double linking_length) {
  check_linking_length(linking_length);
  check_count(ids.size());
  const std::vector<Point> points = points_of(ids, positions, length, periodic);
  const LocalGroups groups(extent_of(points, length, periodic), points, linking_length);
  return groups_by_point(groups, names_of(groups, ids, 0), points.size());
}

}  // namespace sidestream::analysis
