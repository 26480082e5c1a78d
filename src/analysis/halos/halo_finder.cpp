#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/halo_measures/halo_parts.hpp"
#include "analysis/halo_measures/halo_properties.hpp"
#include "analysis/halos/halo_finder.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

void check(const HaloCriteria& criteria, Sets sets) {
  for (const double threshold : {criteria.t_boundary, criteria.t_halo})
    if (!std::isfinite(threshold))
      throw core::Error("a threshold of halos is " + std::to_string(threshold), "", "give a finite density");
  const std::string t_halo = "t_halo (" + std::to_string(criteria.t_halo) + ") is ",
                    t_boundary = " t_boundary (" + std::to_string(criteria.t_boundary) + ")";
  if (sets == Sets::above && criteria.t_halo < criteria.t_boundary)
    throw core::Error(t_halo + "below" + t_boundary, "",
                      "the peak of a halo lies above its boundary: raise t_halo or lower t_boundary");
  if (sets == Sets::below && criteria.t_halo > criteria.t_boundary)
    throw core::Error(t_halo + "above" + t_boundary, "",
                      "the lowest cell of a void lies below its boundary: lower t_halo or raise t_boundary");
}

// The tree of no more than the cells of halos.
MergeTree tree_of(const comm::Communicator& comm, const LeafField& field, const HaloCriteria& criteria) {
  return {comm, field, {criteria.connectivity, Sets::above, criteria.t_boundary}};
}

HaloContent content_of(const comm::Communicator& comm, const HaloFrame& frame, const HaloRuns& runs,
                       const HaloMeasures& measures) {
  HaloContent content{runs, frame, measures, {}};
  if (measures.particles == nullptr) return content;
  content.particles = particles_in_halos(comm, runs, frame, measures);
  content.particles_move = have_velocities(comm, *measures.particles);
  return content;
}

// The halos whose peaks this rank owns, of any number of cells.
std::vector<Halo> own_halos(const comm::Communicator& comm, const HaloContent& content) {
  std::vector<Halo> halos;
  for (const HaloPart& part : halo_parts(comm, content))
    halos.push_back(halo_of(part, content.frame, content.measures.scale_factor));
  return halos;
}

std::vector<std::int64_t> sorted_ids(const std::vector<Halo>& halos) {
  std::vector<std::int64_t> ids;
  for (const Halo& halo : halos) ids.push_back(halo.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

FoundHalos find(const comm::Communicator& comm, const MergeTree& tree, const mesh::Geometry& geometry,
                const HaloCriteria& criteria, const HaloMeasures& measures, bool with_members) {
  check(criteria, tree.options().sets);
  check(measures, tree.field());
  const HaloRuns runs(comm, tree, criteria.t_boundary, criteria.t_halo);
  if (comm.max(std::int64_t{runs.size()}) == 0) return {};
  const HaloFrame frame(tree.field(), geometry);
  const HaloContent content = content_of(comm, frame, runs, measures);
  std::vector<Halo> mine = own_halos(comm, content);
  std::erase_if(mine, [&](const Halo& halo) { return halo.cells < criteria.min_cells; });
  set_spheres(comm, frame, measures.sphere_densities, mine);
  const std::vector<std::int64_t> ids = sorted_ids(mine);
  FoundHalos found = catalogue_of(comm, geometry, std::move(mine));
  if (with_members) found.members = members_of(comm, runs, frame, ids, content.particles);
  return found;
}

}  // namespace

std::vector<Halo> find_halos(const comm::Communicator& comm, const MergeTree& tree, const mesh::Geometry& geometry,
                             const HaloCriteria& criteria, const HaloMeasures& measures) {
  return all_halos(comm, find(comm, tree, geometry, criteria, measures, false));
}

FoundHalos find_catalogue(const comm::Communicator& comm, const MergeTree& tree, const mesh::Geometry& geometry,
                          const HaloCriteria& criteria) {
  return find(comm, tree, geometry, criteria, {}, false);
}

FoundHalos find_catalogue(const comm::Communicator& comm, const LeafField& field, const mesh::Geometry& geometry,
                          const HaloCriteria& criteria, const HaloMeasures& measures, bool with_members) {
  check(criteria, Sets::above);
  return find(comm, tree_of(comm, field, criteria), geometry, criteria, measures, with_members);
}

std::vector<Halo> find_halos(const comm::Communicator& comm, const LeafField& field, const mesh::Geometry& geometry,
                             const HaloCriteria& criteria, const HaloMeasures& measures) {
  check(criteria, Sets::above);
  return find_halos(comm, tree_of(comm, field, criteria), geometry, criteria, measures);
}

std::vector<Halo> find_halos(const comm::Communicator& comm, const ScalarView& field, const mesh::Geometry& geometry,
                             const HaloCriteria& criteria) {
  return find_halos(comm, LeafField{field}, geometry, criteria);
}

std::vector<mesh::Field<std::int64_t>> halo_membership(const comm::Communicator& comm, const LeafField& field,
                                                       const HaloCriteria& criteria) {
  check(criteria, Sets::above);
  const HaloRuns runs(comm, tree_of(comm, field, criteria), criteria.t_boundary, criteria.t_halo);
  std::vector<mesh::Field<std::int64_t>> levels;
  for (int level = 0; level <= finest_level(field); ++level) {
    const ScalarView& from = field[static_cast<std::size_t>(level)];
    auto& ids = levels.emplace_back(from.layout(), from.rank());
    std::fill(ids.all().begin(), ids.all().end(), std::int64_t{-1});
    runs.for_each(level, [&](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t halo) {
      const auto view = ids.view(block);
      for (std::int32_t x = run.begin; x < run.end; ++x) view(z, y, x) = runs.peak(halo).cell;
    });
  }
  return levels;
}

}  // namespace sidestream::analysis
