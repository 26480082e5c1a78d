#include "analysis/friends_of_friends/particle_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/at.hpp"
#include "analysis/components/union_find.hpp"
#include "analysis/friends_of_friends/distinct_ids.hpp"
#include "analysis/friends_of_friends/point_cells.hpp"
#include "analysis/friends_of_friends/ranks_near_points.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

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
    UnionFind sets(at(cells_.items()));
    std::vector<std::uint8_t> is_whole;  // whether the items of a cell are known to be of one group
    for (std::int32_t cell = 0; cell < cells_.cells(); ++cell) is_whole.push_back(unite_within(cell, sets) ? 1 : 0);
    for_each_near(grid_, cells_, cells_, [&](std::int32_t a, std::int32_t b) {
      if (is_whole[at(a)] != 0 && is_whole[at(b)] != 0)
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
      for (const std::int32_t p : cells_.order(item)) f(at(p), component_of_item_[at(item)]);
  }

  /// The connections to components of other ranks, enough to tell what is connected, where `ghosts[p]` came from rank
  /// p.
  std::vector<std::vector<CrossLink>> links(const std::vector<std::vector<Ghost>>& ghosts) const;

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
  std::int32_t number_of(std::int32_t ghost) const { return first_ + of_ghost_[at(ghost)]; }
  const Origin& origin_of(std::int32_t ghost) const { return origins_[at(of_ghost_[at(ghost)])]; }

 private:
  std::int32_t first_;
  std::vector<Origin> origins_;
  std::vector<std::int32_t> of_ghost_;  // of all ranks, one after the other
};

std::vector<std::vector<CrossLink>> LocalGroups::links(const std::vector<std::vector<Ghost>>& ghosts) const {
  std::vector<Point> points;
  for (const auto& of_rank : ghosts)
    for (const Ghost& ghost : of_rank) points.push_back(ghost.position);
  const PointCells ghost_cells(grid_, points);
  const GhostComponents far(ghosts, components_);
  UnionFind sets(at(far.end()));
  std::vector<std::vector<CrossLink>> links(ghosts.size());
  const auto link = [&](std::int32_t item, std::int32_t own) {
    // An item may hold ghosts of several ranks; these find each other, so the first will do.
    const std::int32_t ghost = ghost_cells.order(item).front();
    const std::int32_t a = far.number_of(ghost), b = component_of_item_[at(own)];
    if (sets.find(a) == sets.find(b) || !friends_.any(ghost_cells.points(item), cells_.points(own))) return;
    sets.unite(a, b);
    links[at(far.origin_of(ghost).rank)].push_back({b, far.origin_of(ghost).component});
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
      if (compares(rank, comm.rank())) ghosts[at(rank)].push_back({points[p], component, 0});
    });
  });
  return ghosts;
}

// The connections between the components of this rank and those of the others. Collective.
std::vector<std::vector<CrossLink>> links_of(const comm::Communicator& comm, std::span<const Point> points,
                                             const LocalGroups& groups, NearRanks& near) {
  auto links = groups.links(comm.exchange(ghosts_for_others(comm, points, groups, near)));
  const auto told = comm.exchange(links);
  for (std::size_t rank = 0; rank < told.size(); ++rank)
    for (const CrossLink& link : told[rank]) links[rank].push_back({link.there, link.here});
  return links;
}

// The groups as they are without other ranks.
ParticleGroups own_groups(const LocalGroups& groups, std::span<const std::int64_t> ids, int rank) {
  ParticleGroups own;
  own.part.resize(ids.size());
  for (std::int32_t c = 0; c < groups.components(); ++c)
    own.names.push_back({std::numeric_limits<std::int64_t>::max(), rank, c});
  groups.for_each_point([&](std::size_t p, std::int32_t component) {
    own.part[p] = component;
    std::int64_t& value = own.names[at(component)].value;
    value = std::min(value, ids[p]);
  });
  return own;
}

}  // namespace

void check_linking_length(double linking_length) {
  if (!(linking_length > 0.0 && std::isfinite(linking_length)))
    throw core::Error(fmt::format("the linking length is {}", linking_length), "linking_length",
                      "it is a length above 0, commonly 0.2 mean separations of the particles");
}

void check_count(std::size_t points) {
  if (points > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw core::Error(fmt::format("{} particles are too many for one rank", points), "", "use more ranks");
}

ParticleGroups group_points(const Extent& extent, std::span<const Point> points, std::span<const std::int64_t> ids,
                            double linking_length) {
  require_distinct(ids);
  return own_groups(LocalGroups(extent, points, linking_length), ids, 0);
}

ParticleGroups group_points(const comm::Communicator& comm, const LeafOwners& owners, std::span<const Point> points,
                            std::span<const std::int64_t> ids, double linking_length) {
  require_distinct(comm, ids);
  const mesh::Geometry& geometry = owners.geometry(0);
  const LocalGroups groups({{}, geometry.length, geometry.periodic}, points, linking_length);
  ParticleGroups named = own_groups(groups, ids, comm.rank());
  if (comm.size() == 1) return named;
  NearRanks near(comm.rank(), owners, linking_length);
  spread_names(comm, links_of(comm, points, groups, near), named.names);
  return named;
}

}  // namespace sidestream::analysis
