#include "analysis/links/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/fields/levels.hpp"
#include "analysis/statistics/totals.hpp"
#include "sidestream/core/compact_sum.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Box;
using mesh::Int3;

// The two ends of a link, and what is counted of it.
struct Count {
  std::int64_t volume = 0;  // in cells of the finest level of both moments
  std::int64_t particles = 0;
  std::int64_t progenitor = 0, descendant = 0;

  std::pair<std::int64_t, std::int64_t> key() const { return {descendant, progenitor}; }
};

// What some cells or particles add to a link. Shares add up in any order.
struct Share {
  Count count;
  core::CompactSum mass = {};  // density times these cells

  auto key() const { return count.key(); }
  void add(const Share& other) {
    count.volume += other.count.volume;
    count.particles += other.count.particles;
    mass.add(other.mass);
  }
};

void append(std::vector<Share>& shares, Share share) {
  if (!shares.empty() && shares.back().key() == share.key())
    shares.back().add(share);
  else
    shares.push_back(std::move(share));
}

void join(std::vector<Share>& shares) {
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.key() < b.key(); });
  std::vector<Share> joined;
  for (Share& share : shares) append(joined, std::move(share));
  shares = std::move(joined);
}

// --- cells

// Calls `f(level, region, index)` for each box of today's levels that meets the run, which is of any level; `region`
// are the cells of that level that the run touches.
template <typename F>
void for_each_box_meeting(const LeafField& field, const MemberRun& run, F f) {
  const Box& root = root_domain(field);
  const auto of_run = static_cast<int>(run.level);
  const Box cells = box_of(run, refined(root, bits_between(root, of_run)));
  for (int level = 0; level <= finest_level(field); ++level) {
    const Box region = level >= of_run ? refined(cells, bits_between(root, level - of_run))
                                       : coarsened(cells, bits_between(root, of_run - level));
    field[static_cast<std::size_t>(level)].layout().for_each_meeting(
        region, [&](std::int32_t index) { f(level, region, index); });
  }
}

// Each run goes to all ranks that own parts of its volume now.
std::vector<std::vector<MemberRun>> by_owner(const comm::Communicator& comm, const LeafField& field,
                                             std::span<const MemberRun> runs) {
  std::vector<std::vector<MemberRun>> outgoing(static_cast<std::size_t>(comm.size()));
  std::vector<std::int32_t> owners;
  for (const MemberRun& run : runs) {
    owners.clear();
    for_each_box_meeting(field, run, [&](int level, const Box&, std::int32_t index) {
      owners.push_back(field[static_cast<std::size_t>(level)].layout().owner(index));
    });
    std::sort(owners.begin(), owners.end());
    owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
    for (const std::int32_t owner : owners) outgoing[static_cast<std::size_t>(owner)].push_back(run);
  }
  return outgoing;
}

// Finds what runs of an earlier moment share with the halos in the cells of this rank.
class Overlaps {
 public:
  Overlaps(const LeafField& density, std::span<const MemberRun> now, int finest) : density_(density), finest_(finest) {
    for (int level = 0; level <= finest_level(density); ++level)
      now_.emplace_back(density[static_cast<std::size_t>(level)], level, now);
  }

  void add(const MemberRun& earlier, std::vector<Share>& shares) const {
    for_each_box_meeting(density_, earlier, [&](int level, const Box& region, std::int32_t index) {
      const ScalarView& field = density_[static_cast<std::size_t>(level)];
      if (field.layout().owner(index) != field.rank()) return;
      const int block = block_of(field.layout(), field.rank(), index);
      const Box cells = intersection(region, field.box(block));
      for (std::int32_t z = cells.lo.z; z < cells.hi.z; ++z)
        for (std::int32_t y = cells.lo.y; y < cells.hi.y; ++y)
          for (const auto& entry : now_[static_cast<std::size_t>(level)].row_from(block, z, y, cells.lo.x)) {
            if (entry.begin >= cells.hi.x) break;
            const Box part{{std::max(entry.begin, cells.lo.x), y, z}, {std::min(entry.end, cells.hi.x), y + 1, z + 1}};
            append(shares, share_of(earlier, level, block, part, entry.of));
          }
    });
  }

 private:
  // The share of cells of a row of a block, all in one halo, with the run.
  Share share_of(const MemberRun& earlier, int level, int block, const Box& part, std::int64_t halo) const {
    const Box& root = root_domain(density_);
    const auto of_run = static_cast<int>(earlier.level);
    const Box run = refined(box_of(earlier, refined(root, bits_between(root, of_run))),
                            bits_between(root, finest_ - of_run));  // in cells of the finest level
    const Int3 bits = bits_between(root, finest_ - level);
    Share share{{0, 0, earlier.of, halo}};
    const auto view = density_[static_cast<std::size_t>(level)].view(block);
    for (std::int32_t x = part.lo.x; x < part.hi.x; ++x) {
      const Box cell = refined(Box{{x, part.lo.y, part.lo.z}, {x + 1, part.hi.y, part.hi.z}}, bits);
      const std::int64_t volume = intersection(cell, run).volume();
      share.count.volume += volume;
      share.mass.add_times(view(part.lo.z, part.lo.y, x), volume);
    }
    return share;
  }

  const LeafField& density_;
  int finest_;
  std::vector<MemberCells> now_;
};

// --- particles

// Particle ids count positions of a lattice at the start, so that those of a halo are close to each other: each rank is
// where the particles of a range of ids meet.
class Rendezvous {
 public:
  Rendezvous(const comm::Communicator& comm, std::span<const MemberParticle> earlier,
             std::span<const MemberParticle> now)
      : comm_(comm) {
    for (const auto& particles : {earlier, now})
      for (const MemberParticle& particle : particles) {
        lowest_ = std::min(lowest_, particle.particle);
        highest_ = std::max(highest_, particle.particle);
      }
    lowest_ = comm.min(lowest_);
    highest_ = comm.max(highest_);
  }

  // The particles that meet here, by id.
  std::vector<MemberParticle> meet(std::span<const MemberParticle> particles) const {
    std::vector<std::vector<MemberParticle>> outgoing(static_cast<std::size_t>(comm_.size()));
    for (const MemberParticle& particle : particles) outgoing[rank_of(particle.particle)].push_back(particle);
    std::vector<MemberParticle> met;
    for (const auto& of_rank : comm_.exchange(outgoing)) met.insert(met.end(), of_rank.begin(), of_rank.end());
    std::sort(met.begin(), met.end());
    return met;
  }

 private:
  std::size_t rank_of(std::int64_t id) const {
    const core::Int128 ids = core::Int128{highest_} - lowest_ + 1;
    return static_cast<std::size_t>((core::Int128{id} - lowest_) * comm_.size() / ids);
  }

  const comm::Communicator& comm_;
  std::int64_t lowest_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t highest_ = std::numeric_limits<std::int64_t>::min();
};

void check_unique(std::span<const MemberParticle> particles) {
  const auto same = std::adjacent_find(particles.begin(), particles.end(),
                                       [](const auto& a, const auto& b) { return a.particle == b.particle; });
  if (same != particles.end())
    throw core::Error(fmt::format("two particles have the id {}", same->particle), "particles in halos",
                      "halos are linked by particle ids, so each particle takes its own: do not link, or number them");
}

void add_shared_particles(const comm::Communicator& comm, std::span<const MemberParticle> earlier,
                          std::span<const MemberParticle> now, std::vector<Share>& shares) {
  const Rendezvous rendezvous(comm, earlier, now);
  const auto before = rendezvous.meet(earlier), after = rendezvous.meet(now);
  comm.agree_on([&] {
    check_unique(before);
    check_unique(after);
  });
  auto progenitor = before.begin();
  for (const MemberParticle& particle : after) {
    progenitor = std::find_if(progenitor, before.end(), [&](auto& p) { return p.particle >= particle.particle; });
    if (progenitor != before.end() && progenitor->particle == particle.particle)
      append(shares, {{0, 1, progenitor->of, particle.of}});
  }
}

// --- links

// Joins the shares of each pair of halos on one rank.
void join_on_owners(const comm::Communicator& comm, std::vector<Share>& shares) {
  join(shares);
  std::vector<std::vector<Count>> counts(static_cast<std::size_t>(comm.size()));
  std::vector<std::vector<IndexedPortion>> masses(counts.size());
  for (const Share& share : shares) {
    const std::uint64_t mixed = static_cast<std::uint64_t>(share.count.descendant) * 0x9e3779b97f4a7c15U;
    const std::size_t owner = (mixed >> 32) % counts.size();
    append(masses[owner], static_cast<std::int64_t>(counts[owner].size()), share.mass);
    counts[owner].push_back(share.count);
  }
  shares.clear();
  const auto incoming = comm.exchange(counts);
  const auto of_masses = comm.exchange(masses);
  for (std::size_t rank = 0; rank < incoming.size(); ++rank) {
    const std::size_t first = shares.size();
    for (const Count& count : incoming[rank]) shares.push_back({count});
    for (const IndexedPortion& mass : of_masses[rank])
      shares[first + static_cast<std::size_t>(mass.index)].mass.add(mass.portion);
  }
  join(shares);
}

// Whether `a` shares more than `b`, another link of the same end; `other` is that at the other end.
bool is_stronger(const TimeLink& a, const TimeLink& b, SharedMost by, std::int64_t TimeLink::*other) {
  if (by == SharedMost::volume) return std::tie(a.shared_volume, b.*other) > std::tie(b.shared_volume, a.*other);
  return std::tie(a.shared_particles, a.shared_mass, b.*other) > std::tie(b.shared_particles, b.shared_mass, a.*other);
}

// Marks for each end `of` the strongest of its links to an `other`.
void mark_main(std::vector<TimeLink>& links, SharedMost by, std::int64_t TimeLink::*of, std::int64_t TimeLink::*other,
               bool TimeLink::*mark) {
  std::map<std::int64_t, TimeLink*> best;
  for (TimeLink& link : links) {
    TimeLink*& known = best.try_emplace(link.*of, &link).first->second;
    if (is_stronger(link, *known, by, other)) known = &link;
  }
  for (const auto& [end, link] : best) link->*mark = true;
}

// The table on rank 0, of shares that are joined. `cell_volume` is that of the cells that shares count.
std::vector<TimeLink> table_of(const comm::Communicator& comm, std::span<const Share> shares, double cell_volume,
                               SharedMost by) {
  std::vector<TimeLink> mine;
  for (const Share& share : shares)
    mine.push_back({share.count.progenitor, share.count.descendant,
                    static_cast<double>(share.count.volume) * cell_volume, share.mass.value() * cell_volume,
                    share.count.particles, false, false});
  std::vector<TimeLink> links = comm.gather(std::span<const TimeLink>(mine));
  std::sort(links.begin(), links.end(), [](const TimeLink& a, const TimeLink& b) {
    return std::tie(a.descendant, a.progenitor) < std::tie(b.descendant, b.progenitor);
  });
  mark_main(links, by, &TimeLink::descendant, &TimeLink::progenitor, &TimeLink::is_main_progenitor);
  mark_main(links, by, &TimeLink::progenitor, &TimeLink::descendant, &TimeLink::is_main_descendant);
  return links;
}

// --- results

template <typename T, typename V>
void add_column(mesh::Result& result, const std::vector<TimeLink>& links, const char* name, const std::string& unit,
                const std::string& description, V TimeLink::*member) {
  std::vector<T> values;
  values.reserve(links.size());
  for (const TimeLink& link : links) values.push_back(static_cast<T>(link.*member));
  result.add(name, unit, description, {"link"}, {static_cast<std::int64_t>(links.size())}, std::move(values));
}

void add_links(mesh::Result& result, const std::vector<TimeLink>& links, const LinkedKind& kind, bool have_cells) {
  add_column<std::int64_t>(result, links, "progenitor", "1", "id of a " + kind.noun + " of the step `progenitor_step`",
                           &TimeLink::progenitor);
  add_column<std::int64_t>(result, links, "descendant", "1",
                           "id of a " + kind.noun + " of this step that shares " +
                               (kind.by == SharedMost::matter ? "matter" : "cells") + " with it",
                           &TimeLink::descendant);
  if (have_cells)
    add_column<double>(result, links, "shared_volume", kind.volume_unit, "volume of the cells that are in both",
                       &TimeLink::shared_volume);
  if (kind.by == SharedMost::matter) {
    if (have_cells)
      add_column<double>(result, links, "shared_mass", kind.mass_unit, "mass in that volume at this step",
                         &TimeLink::shared_mass);
    add_column<std::int64_t>(result, links, "shared_particles", "1", "number of particles that are in both",
                             &TimeLink::shared_particles);
  }
  add_column<std::int64_t>(result, links, "is_main_progenitor", "1",
                           "1 where no other progenitor shares more with the descendant",
                           &TimeLink::is_main_progenitor);
  add_column<std::int64_t>(result, links, "is_main_descendant", "1",
                           "1 where no other descendant shares more with the progenitor",
                           &TimeLink::is_main_descendant);
}

std::string text_of(const mesh::Result& result, const std::string& name) {
  const auto found = result.attributes.find(name);
  const auto* text = found == result.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? "" : *text;
}

// The attributes that a later moment asks for, and what they say about the earlier one. On rank 0.
void add_attributes(const mesh::Snapshot& snapshot, const mesh::Result& earlier, mesh::Result& result) {
  result.attributes["member_step"] = snapshot.moment.step;
  if (snapshot.moment.scale_factor) result.attributes["member_scale_factor"] = *snapshot.moment.scale_factor;
  for (const char* name : {"step", "scale_factor"})
    if (const auto known = earlier.attributes.find(std::string("member_") + name); known != earlier.attributes.end())
      result.attributes[std::string("progenitor_") + name] = known->second;
}

std::string grid_of(const Box& root) {
  const Int3 n = root.extent();
  return fmt::format("{} x {} x {}", n.x, n.y, n.z);
}

// The members of the earlier moment; all ranks throw together.
Members read_members(const comm::Communicator& comm, const LinkedKind& kind, const mesh::Result& earlier,
                     const Box& root) {
  Members members;
  comm.agree_on([&] {
    const std::string grid = text_of(earlier, "member_grid");
    if (!grid.empty() && grid != grid_of(root))
      throw core::Error(fmt::format("{}s on a grid of {} cells cannot be linked to those of an earlier step on {}",
                                    kind.noun, grid_of(root), grid),
                        "members in a result of an earlier step", "remove that result, or do not link");
    members = members_from(earlier, kind.noun, root);
  });
  return members;
}

}  // namespace

std::vector<TimeLink> link_members(const comm::Communicator& comm, const Members& earlier, const Members& now,
                                   const LeafField& density, const mesh::Geometry& geometry, SharedMost by) {
  std::int64_t deepest = finest_level(density);
  for (const MemberRun& run : earlier.runs) deepest = std::max(deepest, run.level);
  const int finest = static_cast<int>(comm.max(deepest));
  const Box& root = root_domain(density);
  std::vector<Share> shares;
  const Overlaps overlaps(density, now.runs, finest);
  for (const auto& of_rank : comm.exchange(by_owner(comm, density, earlier.runs)))
    for (const MemberRun& run : of_rank) overlaps.add(run, shares);
  add_shared_particles(comm, earlier.particles, now.particles, shares);
  join_on_owners(comm, shares);
  return table_of(comm, shares, std::ldexp(geometry.cell_volume(), -bits_a_level(root) * finest), by);
}

std::vector<TimeLink> link_members(const comm::Communicator& comm, const std::vector<MemberParticle>& earlier,
                                   const std::vector<MemberParticle>& now) {
  std::vector<Share> shares;
  add_shared_particles(comm, earlier, now, shares);
  join_on_owners(comm, shares);
  return table_of(comm, shares, 0.0, SharedMost::matter);
}

std::vector<TimeLink> add_members_and_links(const comm::Communicator& comm, const LinkedKind& kind, const Members& now,
                                            const LeafField& density, const mesh::Snapshot& snapshot,
                                            const mesh::Result& earlier, mesh::Result& result) {
  const Box& root = root_domain(density);
  const Members before = read_members(comm, kind, earlier, root);
  std::vector<TimeLink> links = link_members(comm, before, now, density, snapshot.geometry, kind.by);
  add_runs(comm, kind.noun, root, now.runs, result);
  if (kind.by == SharedMost::matter) add_particles(comm, kind.noun, now.particles, result);
  if (comm.rank() != 0) return links;
  add_links(result, links, kind, true);
  add_attributes(snapshot, earlier, result);
  result.attributes["member_grid"] = grid_of(root);
  return links;
}

void add_members_and_links(const comm::Communicator& comm, const std::vector<MemberParticle>& now,
                           const mesh::Snapshot& snapshot, const mesh::Result& earlier, mesh::Result& result) {
  const LinkedKind kind{"halo", "", SharedMost::matter};
  const Members before = read_members(comm, kind, earlier, snapshot.geometry.domain);
  const auto links = link_members(comm, before.particles, now);
  add_particles(comm, kind.noun, now, result);
  if (comm.rank() != 0) return;
  add_links(result, links, kind, false);
  add_attributes(snapshot, earlier, result);
}

}  // namespace sidestream::analysis
