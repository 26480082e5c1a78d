#include "sims/host/look_at_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "sidestream/core/for_each.hpp"

namespace sidestream::sims {

namespace {

// How many there are, and the first.
struct Offenders {
  std::int64_t count = 0;
  std::size_t first = 0;

  void add(std::size_t at) {
    if (count++ == 0) first = at;
  }
};

Offenders no_numbers(const double* values, std::size_t count) {
  Offenders found;
  for (std::size_t n = 0; n < count; ++n)
    if (!std::isfinite(values[n])) found.add(n);
  return found;
}

HostFinding of_particles(const HostSpecies& species, const char* verdict, const Offenders& found,
                         const std::string& message) {
  HostFinding finding{"particles", verdict, "", message};
  finding.species = species.name;
  if (found.count > 0) finding.particle = static_cast<std::int64_t>(found.first);
  return finding;
}

// Numbers that are none, and negative ids. Local.
void look_at_numbers_of(const HostSpecies& species, const mesh::Geometry& geometry, std::vector<HostFinding>& found) {
  const auto look = [&](const double* values, const std::string& of, const char* hint) {
    const Offenders none = no_numbers(values, species.count);
    if (none.count == 0) return;
    found.push_back(
        of_particles(species, "wrong", none,
                     fmt::format("{} is no number in {} of {} particles, first {} of the id {}: {}", of, none.count,
                                 species.count, values[none.first], species.id[none.first], hint)));
  };
  for (const auto& [axis, name] : {std::pair(0, "x"), std::pair(1, "y"), std::pair(2, "z")})
    look(species.position[static_cast<std::size_t>(axis)], fmt::format("the position along {}", name),
         "look at the step, the forces, and what brings particles from rank to rank");
  for (const HostSpecies::Attribute& attribute : species.attributes)
    look(attribute.values, fmt::format("`{}`", attribute.name),
         "look at what computes it, or give particles that have none a number that says so");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (geometry.periodic[axis]) continue;
    Offenders outside;
    for (std::size_t n = 0; n < species.count; ++n)
      if (const double x = species.position[axis][n]; x < 0.0 || x >= geometry.length[axis]) outside.add(n);
    if (outside.count > 0)
      found.push_back(of_particles(
          species, "wrong", outside,
          fmt::format(
              "{} of {} particles are outside of the domain along {}, which is not periodic, first {} of the id "
              "{}: leave out those that have left it",
              outside.count, species.count, "xyz"[axis], species.position[axis][outside.first],
              species.id[outside.first])));
  }
  Offenders negative;
  for (std::size_t n = 0; n < species.count; ++n)
    if (species.id[n] < 0) negative.add(n);
  if (negative.count > 0)
    found.push_back(
        of_particles(species, "wrong", negative,
                     fmt::format("the id is negative in {} of {} particles, first {}: some formats of files "
                                 "have no place for it; count from 0",
                                 negative.count, species.count, species.id[negative.first])));
}

struct Numbered {
  std::int64_t id, place;
  std::int32_t rank;
};

// Two particles of one id, and of how many particles the ids are those of others.
struct Twins {
  std::int64_t count = 0;
  std::int64_t id = std::numeric_limits<std::int64_t>::max(), place = 0, other_place = 0;
  std::int32_t rank = 0, other_rank = 0;
};

// Among the ids that this rank looks at.
Twins twins_among(std::vector<Numbered> ids) {
  std::ranges::sort(ids, {}, [](const Numbered& one) { return std::tuple(one.id, one.rank, one.place); });
  Twins twins;
  for (std::size_t n = 1; n < ids.size(); ++n)
    if (ids[n].id == ids[n - 1].id && twins.count++ == 0) {
      const Numbered &one = ids[n - 1], &other = ids[n];
      twins = {1, one.id, other.place, one.place, other.rank, one.rank};
    }
  return twins;
}

// Those of the least id, with the number of all. Collective.
Twins twins_of(const comm::Communicator& compute, const HostSpecies& species) {
  std::vector<std::vector<Numbered>> outgoing(static_cast<std::size_t>(compute.size()));
  for (std::size_t n = 0; n < species.count; ++n)
    outgoing[static_cast<std::uint64_t>(species.id[n]) % outgoing.size()].push_back(
        {species.id[n], static_cast<std::int64_t>(n), compute.rank()});
  std::vector<Numbered> all;
  for (const std::vector<Numbered>& some : compute.exchange(outgoing)) all.insert(all.end(), some.begin(), some.end());
  const std::vector<Twins> of_ranks = compute.all_gather(twins_among(std::move(all)));
  Twins first = *std::ranges::min_element(of_ranks, {}, &Twins::id);
  first.count = 0;
  for (const Twins& one : of_ranks) first.count += one.count;
  return first;
}

}  // namespace

std::vector<HostFinding> look_at_cells(const HostState& state) {
  std::vector<HostFinding> all;
  for (const HostField& field : state.fields()) {
    HostFinding finding{"numbers", "good", field.quantity.name, "all cells hold numbers"};
    std::int64_t count = 0;
    double first = 0.0;
    for (std::size_t n = 0; n < field.blocks.size(); ++n) {
      const auto& [level, box] = state.mesh().blocks[n];
      const mesh::Layout& seen = state.layouts().leaves[static_cast<std::size_t>(level)];
      const mesh::Box with_rim = box.grown(state.mesh().ghosts.layers);
      const std::vector<double> numbers = numbers_of(state, field, n);
      core::for_each_cell(box, [&](int z, int y, int x) {
        const double value = numbers[static_cast<std::size_t>(mesh::linear_index(with_rim, {x, y, z}))];
        if (std::isfinite(value) || seen.find({x, y, z}) < 0 || count++ > 0) return;
        first = value;
        finding.block = static_cast<std::int64_t>(n);
        finding.cell = fmt::format("{} {} {}", x, y, z);
      });
    }
    if (count > 0) {
      finding.verdict = "note";
      finding.message = fmt::format(
          "{} cells hold no number, first {}, nor will results of them: look at what computes it, or give a number "
          "where it says that there is nothing",
          count, first);
    }
    all.push_back(finding);
  }
  return all;
}

std::vector<HostFinding> look_at_particles(const comm::Communicator& compute, const HostState& state) {
  std::vector<HostFinding> all;
  for (const HostSpecies& species : state.species()) {
    const std::size_t before = all.size();
    look_at_numbers_of(species, state.mesh().geometry, all);
    const Twins twins = twins_of(compute, species);
    if (twins.count > 0 && twins.rank == compute.rank())
      all.push_back(of_particles(species, "wrong", {1, static_cast<std::size_t>(twins.place)},
                                 fmt::format("ids are repeated {} times, first {}, that of particle {} on rank {} too: "
                                             "give ids that differ over all ranks",
                                             twins.count, twins.id, twins.other_place, twins.other_rank)));
    if (all.size() == before) all.push_back(of_particles(species, "good", {}, "particles have numbers, and ids"));
  }
  return all;
}

}  // namespace sidestream::sims
