#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/at.hpp"
#include "analysis/fields/leaf_owners.hpp"
#include "analysis/friends_of_friends/particle_groups.hpp"
#include "analysis/halo_measures/halo_parts.hpp"
#include "analysis/halo_measures/halo_properties.hpp"
#include "analysis/halos/halo_finder.hpp"
#include "analysis/particle_columns.hpp"
#include "sidestream/analysis/friends_of_friends.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

struct Member {
  Point position{};
  std::int64_t id = 0;
  double mass = 0.0;
  std::array<double, 3> velocity{};
};

std::vector<Member> members_of(const HaloMeasures& measures, const LeafOwners& owners) {
  const mesh::Particles& particles = *measures.particles;
  check(particles);
  const ParticleColumns columns(particles, measures.scale_factor);
  std::vector<Member> members;
  members.reserve(columns.size());
  for (std::size_t p = 0; p < columns.size(); ++p) {
    const Point position = position_inside(owners, particles.id[p], columns.position(p));
    const LooseParticle particle = columns.particle(p, position);
    const auto& v = particle.velocity;
    if (!std::isfinite(particle.mass) || !std::isfinite(v[0]) || !std::isfinite(v[1]) || !std::isfinite(v[2]))
      throw core::Error("particle " + std::to_string(particles.id[p]) + " has a mass or a velocity that is not finite");
    members.push_back({position, particles.id[p], particle.mass, particle.velocity});
  }
  return members;
}

// How many particles a group has, and the densest of the cells that hold them.
struct Summary {
  std::int64_t particles = 0;
  HaloPeak peak{-std::numeric_limits<double>::infinity(), std::numeric_limits<std::int64_t>::max(), 0};

  void add(const Summary& other) {
    particles += other.particles;
    if (other.peak.value > peak.value || (other.peak.value == peak.value && other.peak.cell < peak.cell))
      peak = other.peak;
  }
};

// The groups of particles of all ranks. Each rank has members, in its own cells; a group's home is where its name comes
// from.
class GroupFinder {
 public:
  GroupFinder(const comm::Communicator& comm, const HaloFrame& frame, const LeafOwners& owners,
              std::vector<Member> members)
      : comm_(comm), frame_(frame), owners_(owners), members_(std::move(members)) {}

  // The halos whose home is here, with the cells of their peaks as ids, and their names.
  struct Found {
    std::vector<Halo> halos;
    std::vector<std::int64_t> names;
    std::int64_t largest_group = 0;  // of all
  };
  Found find(const GroupCriteria& criteria, const HaloMeasures& measures);
  // What is here of the halos that were found.
  std::vector<MemberParticle> members() const;

 private:
  struct Cell {
    int level;
    std::int32_t block;
    Int3 cell;
  };
  Cell cell_of(const Member& member) const {
    const auto [level, block] = owners_.here(member.position);
    return {level, block, mesh::cell_of(owners_.geometry(level), member.position)};
  }
  // Its linear index in the domain of the finest level, of its lowest corner.
  std::int64_t index_of(const Cell& cell) const {
    return linear_index(frame_.finest().domain, refined(cell.cell, frame_.bits(cell.level)));
  }

  bool is_home(std::size_t part) const {
    const Name& name = groups_.names[part];
    return name.rank == comm_.rank() && at(name.component) == part;
  }
  void group(double linking_length);
  std::vector<Summary> summaries() const;
  std::int64_t open_slots(std::int64_t min_particles);
  Matter matter_of(const Member& member, const Cell& cell, const HaloPeak& peak) const;
  void add_cells(std::vector<HaloPart>& parts) const;
  std::vector<HaloPart> own_parts(bool have_velocities) const;
  std::vector<HaloPart> whole_parts(bool have_velocities) const;
  template <typename F>
  void for_each_in_halo(F f) const {
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const std::int32_t slot = slot_of_part_[at(groups_.part[m])];
      if (slot >= 0) f(members_[m], slot);
    }
  }

  const comm::Communicator& comm_;
  const HaloFrame& frame_;
  const LeafOwners& owners_;
  std::vector<Member> members_;
  ParticleGroups groups_;
  // The groups with enough particles that this rank has members of, one slot each: all parts of a group share it.
  std::vector<std::int32_t> slot_of_part_;  // -1: too few
  std::vector<Name> names_;                 // of each slot
  std::vector<HaloPeak> peaks_;
};

void GroupFinder::group(double linking_length) {
  std::vector<Point> points;
  std::vector<std::int64_t> ids;
  points.reserve(members_.size());
  ids.reserve(members_.size());
  for (const Member& member : members_) {
    points.push_back(member.position);
    ids.push_back(member.id);
  }
  groups_ = group_points(comm_, owners_, points, ids, linking_length);
}

// Of the whole group that each part belongs to. Collective.
std::vector<Summary> GroupFinder::summaries() const {
  std::vector<Summary> own(groups_.names.size());
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const Cell cell = cell_of(members_[m]);
    const auto view = frame_.field()[at(cell.level)].view(cell.block);
    own[at(groups_.part[m])].add({1, {view(cell.cell.z, cell.cell.y, cell.cell.x), index_of(cell), comm_.rank()}});
  }
  struct Addressed {
    std::int64_t part = 0;
    Summary summary;
  };
  std::vector<std::vector<Addressed>> to_home(static_cast<std::size_t>(comm_.size()));
  for (std::size_t part = 0; part < own.size(); ++part)
    if (!is_home(part)) to_home[at(groups_.names[part].rank)].push_back({groups_.names[part].component, own[part]});
  const auto asked = comm_.exchange(to_home);
  for (const auto& of_rank : asked)
    for (const Addressed& part : of_rank) own[static_cast<std::size_t>(part.part)].add(part.summary);

  std::vector<std::vector<Summary>> answers(asked.size());
  for (std::size_t rank = 0; rank < asked.size(); ++rank)
    for (const Addressed& part : asked[rank]) answers[rank].push_back(own[static_cast<std::size_t>(part.part)]);
  const auto answered = comm_.exchange(answers);
  std::vector<std::size_t> next(answered.size(), 0);
  for (std::size_t part = 0; part < own.size(); ++part) {
    const std::size_t home = at(groups_.names[part].rank);
    if (!is_home(part)) own[part] = answered[home][next[home]++];
  }
  return own;
}

// Also the particles of the largest group of all.
std::int64_t GroupFinder::open_slots(std::int64_t min_particles) {
  const std::vector<Summary> whole = summaries();
  std::int64_t largest = 0;
  for (const Summary& group : whole) largest = std::max(largest, group.particles);
  std::vector<std::pair<Name, std::int32_t>> parts;
  for (std::size_t part = 0; part < whole.size(); ++part)
    if (whole[part].particles >= min_particles)
      parts.emplace_back(groups_.names[part], static_cast<std::int32_t>(part));
  std::sort(parts.begin(), parts.end());
  slot_of_part_.assign(groups_.names.size(), -1);
  for (const auto& [name, part] : parts) {
    if (names_.empty() || names_.back() != name) {
      names_.push_back(name);
      peaks_.push_back(whole[at(part)].peak);
    }
    slot_of_part_[at(part)] = static_cast<std::int32_t>(names_.size()) - 1;
  }
  return comm_.max(largest);
}

Matter GroupFinder::matter_of(const Member& member, const Cell& cell, const HaloPeak& peak) const {
  Matter matter;
  matter.mass = member.mass;
  matter.velocity = member.velocity;
  matter.offset = frame_.offset(cell.level, frame_.cell_of(peak.cell), cell.cell, member.position);
  return matter;
}

// The cells that hold members, each once for a halo.
void GroupFinder::add_cells(std::vector<HaloPart>& parts) const {
  std::vector<std::tuple<std::int32_t, std::int64_t, int>> held;  // slot, cell, level
  for_each_in_halo([&](const Member& member, std::int32_t slot) {
    const Cell cell = cell_of(member);
    held.emplace_back(slot, index_of(cell), cell.level);
  });
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  for (const auto& [slot, finest, level] : held) {
    HaloPart& part = parts[at(slot)];
    const Int3 corner = frame_.cell_of(part.extent.peak.cell), bits = frame_.bits(level);
    const Int3 cell = coarsened(frame_.cell_of(finest), bits);
    Int3 low, high;
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = frame_.offset(axis, level, corner[axis], cell[axis]);
      high[axis] = low[axis] + (1 << bits[axis]);
    }
    part.extent.add_box(frame_.volume(level), low, high);
  }
}

std::vector<HaloPart> GroupFinder::own_parts(bool have_velocities) const {
  std::vector<HaloPart> parts;
  parts.reserve(peaks_.size());
  for (const HaloPeak& peak : peaks_) parts.emplace_back(peak);
  for_each_in_halo([&](const Member& member, std::int32_t slot) {
    HaloPart& part = parts[at(slot)];
    Matter matter = matter_of(member, cell_of(member), part.extent.peak);
    ++part.extent.particles;
    part.particle_mass.add(matter.mass);
    if (have_velocities) part.motion.add(matter);
    matter.mass /= frame_.root().cell_volume();
    part.matter.add(matter);
  });
  add_cells(parts);
  return parts;
}

// What each slot has, at its home that of all ranks. Collective.
std::vector<HaloPart> GroupFinder::whole_parts(bool have_velocities) const {
  std::vector<HaloPart> parts = own_parts(have_velocities);
  std::vector<std::vector<std::int64_t>> components(static_cast<std::size_t>(comm_.size()));
  std::vector<std::vector<const HaloPart*>> outgoing(components.size());
  for (std::size_t slot = 0; slot < parts.size(); ++slot) {
    if (names_[slot].rank == comm_.rank()) continue;
    components[at(names_[slot].rank)].push_back(names_[slot].component);
    outgoing[at(names_[slot].rank)].push_back(&parts[slot]);
  }
  const auto to = comm_.exchange(components);
  const auto from = exchange_parts(comm_, outgoing);
  for (std::size_t rank = 0; rank < to.size(); ++rank)
    for (std::size_t p = 0; p < to[rank].size(); ++p)
      parts[at(slot_of_part_[static_cast<std::size_t>(to[rank][p])])].add(from[rank][p]);
  return parts;
}

GroupFinder::Found GroupFinder::find(const GroupCriteria& criteria, const HaloMeasures& measures) {
  group(criteria.linking_length);
  Found found;
  found.largest_group = open_slots(criteria.min_particles);
  const auto parts = whole_parts(have_velocities(comm_, *measures.particles));
  for (std::size_t slot = 0; slot < parts.size(); ++slot) {
    if (names_[slot].rank != comm_.rank()) continue;
    Halo& halo = found.halos.emplace_back(halo_of(parts[slot], frame_, measures.scale_factor));
    halo.mass = halo.particle_mass;
    found.names.push_back(names_[slot].value);
  }
  return found;
}

std::vector<MemberParticle> GroupFinder::members() const {
  std::vector<MemberParticle> members;
  for_each_in_halo([&](const Member& member, std::int32_t slot) {
    members.push_back({member.id, names_[at(slot)].value});
  });
  return members;
}

std::vector<mesh::Layout> layouts_of(const LeafField& field) {
  std::vector<mesh::Layout> layouts;
  for (const ScalarView& level : field) layouts.push_back(level.layout());
  return layouts;
}

}  // namespace

FoundHalos find_catalogue(const comm::Communicator& comm, const LeafField& field, const mesh::Geometry& geometry,
                          const GroupCriteria& criteria, const HaloMeasures& measures, bool with_members) {
  const LeafOwners owners(comm.rank(), layouts_of(field), geometry);
  std::vector<Member> members;
  comm.agree_on([&] {
    core::require(measures.particles != nullptr, "groups are made of particles");
    check_linking_length(criteria.linking_length);
    check(measures, field);
    members = members_of(measures, owners);
  });
  members = dealt(comm, owners, std::move(members));
  comm.agree_on([&] { check_count(members.size()); });
  const HaloFrame frame(field, geometry);
  GroupFinder finder(comm, frame, owners, std::move(members));
  auto [mine, names, largest_group] = finder.find(criteria, measures);
  set_spheres(comm, frame, measures.sphere_densities, mine);
  for (std::size_t h = 0; h < mine.size(); ++h) mine[h].id = names[h];
  FoundHalos found = catalogue_of(comm, geometry, std::move(mine));
  found.largest_group = largest_group;
  if (with_members) found.members.particles = finder.members();
  return found;
}

std::vector<Halo> find_group_halos(const comm::Communicator& comm, const LeafField& field,
                                   const mesh::Geometry& geometry, const GroupCriteria& criteria,
                                   const HaloMeasures& measures) {
  return all_halos(comm, find_catalogue(comm, field, geometry, criteria, measures, false));
}

}  // namespace sidestream::analysis
