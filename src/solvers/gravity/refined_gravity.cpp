#include "sidestream/solvers/refined_gravity.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sidestream/amr/level_transfer.hpp"
#include "sidestream/comm/progress.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/solvers/gravity.hpp"
#include "solvers/gravity/isolated_poisson.hpp"
#include "solvers/gravity/level_link.hpp"
#include "solvers/gravity/level_multigrid.hpp"

namespace sidestream::solvers {

namespace {

using core::View4;
using mesh::Box;
using mesh::Field;
using mesh::Geometry;
using mesh::Hierarchy;
using mesh::Layout;

constexpr std::int32_t refined_acceleration_ghost = 2;

class PeriodicPoisson final : public RootPoisson {
 public:
  PeriodicPoisson(const comm::Communicator& comm, const Layout& blocks, const Geometry& geometry)
      : gravity_(comm, blocks, geometry) {}
  const Field<double>& solve(const Field<double>& rhs) override { return gravity_.solve_potential(rhs); }

 private:
  Gravity gravity_;
};

bool is_periodic(const Geometry& geometry) {
  return geometry.periodic == mesh::Periodicity{true, true, true};
}

std::unique_ptr<RootPoisson> make_root(const comm::Communicator& comm, const Layout& blocks, const Geometry& geometry) {
  if (is_periodic(geometry)) return std::make_unique<PeriodicPoisson>(comm, blocks, geometry);
  return std::make_unique<IsolatedPoisson>(comm, blocks, geometry);
}

// Throws for what RefinedGravity cannot do; the same on every rank.
const Hierarchy& checked(const Hierarchy& hierarchy) {
  const Geometry& root = hierarchy.geometry(0);
  const mesh::Int3 cells = root.domain.extent();
  if (std::min({cells.x, cells.y, cells.z}) < 3)
    throw core::Error("gravity takes a grid of at least three cells an axis", "key `mesh.cells`");
  if (!is_periodic(root) && root.periodic != mesh::Periodicity{false, false, false})
    throw core::Error("gravity takes a domain that is periodic on all axes or on none", "key `mesh.periodic`");
  if (is_periodic(root)) return hierarchy;
  for (int level = 1; level <= hierarchy.finest_level(); ++level) {
    const Box inner = hierarchy.geometry(level).domain.grown(-1);
    for (const Box& box : hierarchy.layout(level).boxes())
      if (!inner.contains(box))
        throw core::Error("the mesh is refined at the boundary of a domain with empty space around it",
                          "block " + to_string(box) + " of level " + std::to_string(level),
                          "gravity needs a coarse block between; take a larger domain or refine less");
  }
  return hierarchy;
}

Layout refined_blocks(const Hierarchy& hierarchy, int level) {
  const Layout& all = hierarchy.layout(level);
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t b = 0; b < all.size(); ++b)
    if (!hierarchy.is_leaf(level, b)) {
      boxes.push_back(all.box(b));
      owners.push_back(all.owner(b));
    }
  return {all.domain(), all.periodic(), std::move(boxes), std::move(owners), level};
}

void copy_cells(const Field<double>& from, Field<double>& to) {
  for (int b = 0; b < to.blocks(); ++b) {
    const auto source = from.view(b);
    const auto target = to.view(b);
    core::for_each_cell(to.box(b), [=](int k, int j, int i) { target(k, j, i) = source(k, j, i); });
  }
}

// The same with as many layers of ghost cells as `to` has.
void copy_grown(const Field<double>& from, Field<double>& to) {
  for (int b = 0; b < to.blocks(); ++b) {
    const auto source = from.view(b);
    const auto target = to.view(b);
    core::for_each_cell(to.box(b).grown(to.ghosts().layers),
                        [=](int k, int j, int i) { target(k, j, i) = source(k, j, i); });
  }
}

// g = -grad phi by central differences over two cells.
void differentiate_level(const Box& box, View4<const double> phi, const std::array<double, 3>& cell_size,
                         View4<double> g) {
  const double x = 0.5 / cell_size[0], y = 0.5 / cell_size[1], z = 0.5 / cell_size[2];
  core::for_each_row(box, [=](int k, int j) {
    for (int i = box.lo.x; i < box.hi.x; ++i) g(0, k, j, i) = (phi(k, j, i - 1) - phi(k, j, i + 1)) * x;
    for (int i = box.lo.x; i < box.hi.x; ++i) g(1, k, j, i) = (phi(k, j - 1, i) - phi(k, j + 1, i)) * y;
    for (int i = box.lo.x; i < box.hi.x; ++i) g(2, k, j, i) = (phi(k - 1, j, i) - phi(k + 1, j, i)) * z;
  });
}

enum class Cells { all, of_leaves };

}  // namespace

struct RefinedGravity::Impl {
  // One level: its equation, and what the cycles keep of it.
  struct Level {
    Level(const comm::Communicator& comm, const Hierarchy& hierarchy, int level);
    void add_sizes(const Field<double>& field, Cells which, core::ExactSum& sum) const;

    LevelPoisson poisson;
    redistribute::GhostFill acceleration_ghosts;
    double cell_volume;
    std::vector<char> is_leaf;  // of each local block
    Field<double> phi, rhs, residual, before, older;
    Field<double> spare;  // a potential that is laid aside
  };
  // What ties a level to the next coarser one.
  struct Tie {
    LevelLink link;
    LevelMultigrid multigrid;
    amr::LevelTransfer transfer;
  };

  Impl(const comm::Communicator& its_comm, const Hierarchy& its_hierarchy, const RefinedGravityConfig& its_config,
       std::shared_ptr<RootPoisson> its_root);

  int finest() const { return static_cast<int>(levels.size()) - 1; }
  Level& at(int level) { return levels[static_cast<std::size_t>(level)]; }
  Tie& below(int level) { return ties[static_cast<std::size_t>(level - 1)]; }

  void set_mean(const Field<double>& root_density);
  void set_rhs(int level, const Field<double>& density);
  double source(int from_level) const;
  double residual(int from_level);
  template <typename Residual, typename Cycle>
  GravitySolve iterate(double source, Residual residual_now, Cycle cycle_once) const;
  void solve_root();
  void cycle(int from_level);
  void relax_and_restrict(int level);
  void correct_and_relax(int level);
  GravitySolve solve_together(int from_level, std::span<const Field<double>> density);
  GravitySolve solve_alone(int level, const Field<double>& density, double weight);
  GravitySolve solve_refined(int level, const Field<double>& density, double weight);
  void set_sides(int level, double weight);
  void lay_aside(int level);

  comm::Communicator comm;
  Hierarchy hierarchy;
  RefinedGravityConfig config;
  std::shared_ptr<RootPoisson> root;
  std::vector<Level> levels;
  std::vector<Tie> ties;  // [level - 1]
  double mean = 0.0;
};

RefinedGravity::Impl::Level::Level(const comm::Communicator& comm, const Hierarchy& hierarchy, int level)
    : poisson(comm, hierarchy.layout(level),
              {hierarchy.geometry(level).cell_size(0), hierarchy.geometry(level).cell_size(1),
               hierarchy.geometry(level).cell_size(2)},
              level > 0 ? interface_rule : SideRule{}),
      acceleration_ghosts(comm, hierarchy.layout(level), refined_acceleration_ghost),
      cell_volume(hierarchy.geometry(level).cell_volume()),
      phi(hierarchy.layout(level), comm.rank(), 1, 1),
      rhs(hierarchy.layout(level), comm.rank()),
      residual(hierarchy.layout(level), comm.rank()),
      before(hierarchy.layout(level), comm.rank()) {
  for (const auto index : hierarchy.layout(level).boxes_of(comm.rank()))
    is_leaf.push_back(hierarchy.is_leaf(level, index) ? 1 : 0);
}

// Adds up absolute values times volume: an exact sum of those of the blocks, so that ranks do not matter.
void RefinedGravity::Impl::Level::add_sizes(const Field<double>& field, Cells which, core::ExactSum& sum) const {
  for (int b = 0; b < field.blocks(); ++b) {
    if (which == Cells::of_leaves && is_leaf[static_cast<std::size_t>(b)] == 0) continue;
    double of_block = 0.0;
    for (const double value : field.block(b)) of_block += std::abs(value);
    sum.add(of_block * cell_volume);
  }
}

RefinedGravity::Impl::Impl(const comm::Communicator& its_comm, const Hierarchy& its_hierarchy,
                           const RefinedGravityConfig& its_config, std::shared_ptr<RootPoisson> its_root)
    : comm(its_comm.duplicate()), hierarchy(checked(its_hierarchy)), config(its_config), root(std::move(its_root)) {
  if (!root) root = make_root(comm, hierarchy.layout(0), hierarchy.geometry(0));
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    levels.emplace_back(comm, hierarchy, level);
    if (level == 0) continue;
    const LevelPoisson& poisson = levels.back().poisson;
    ties.push_back({LevelLink(comm, hierarchy.layout(level - 1), hierarchy.layout(level)),
                    LevelMultigrid(comm, poisson, refined_blocks(hierarchy, level - 1)),
                    amr::LevelTransfer(comm, hierarchy, level - 1, refined_acceleration_ghost)});
  }
}

// The refined cells of the root hold averages, so its mean is that of all leaves.
void RefinedGravity::Impl::set_mean(const Field<double>& root_density) {
  if (!is_periodic(hierarchy.geometry(0))) return;
  core::ExactSum sum;
  for (int b = 0; b < root_density.blocks(); ++b) {
    const auto density = root_density.view(b);
    core::for_each_cell(root_density.box(b), [&](int k, int j, int i) { sum.add(density(k, j, i)); });
  }
  mean = comm.sum(sum) / static_cast<double>(hierarchy.geometry(0).domain.volume());
}

void RefinedGravity::Impl::set_rhs(int level, const Field<double>& density) {
  core::require(density.layout() == hierarchy.layout(level), "a density of gravity is on the layout of its level");
  for (int b = 0; b < density.blocks(); ++b) {
    const auto from = density.view(b);
    const auto to = at(level).rhs.view(b);
    core::for_each_cell(density.box(b), [=, this](int k, int j, int i) { to(k, j, i) = from(k, j, i) - mean; });
  }
}

double RefinedGravity::Impl::source(int from_level) const {
  core::ExactSum sum;
  for (auto l = static_cast<std::size_t>(from_level); l < levels.size(); ++l)
    levels[l].add_sizes(levels[l].rhs, Cells::of_leaves, sum);
  return comm.sum(sum);
}

// Cycles until the residual is small beside `source`, or beside what rounding leaves of an even density.
template <typename Residual, typename Cycle>
GravitySolve RefinedGravity::Impl::iterate(double source, Residual residual_now, Cycle cycle_once) const {
  constexpr double round_off = 1e-9;
  const double scale = std::max(source, round_off * std::abs(mean) * hierarchy.geometry(0).volume());
  GravitySolve done;
  for (;; ++done.cycles) {
    const double rest = residual_now();
    done.residual = scale > 0.0 ? rest / scale : rest;
    if (done.residual <= config.tolerance || done.cycles == config.most_cycles) return done;
    cycle_once();
  }
}

// Makes all levels from `from_level` up agree, from the finest down and from the coarsest up, and measures what is left
// to solve.
double RefinedGravity::Impl::residual(int from_level) {
  for (int level = finest(); level > from_level; --level)
    below(level).link.average_down(at(level).phi, at(level - 1).phi);
  core::ExactSum sum;
  for (int level = from_level; level <= finest(); ++level) {
    Level& its = at(level);
    if (level > from_level) below(level).link.set_sides(at(level - 1).phi, its.poisson);
    its.poisson.fill_ghosts(its.phi);
    its.poisson.residual(its.phi, its.rhs, its.residual);
    its.add_sizes(its.residual, Cells::of_leaves, sum);
  }
  return comm.sum(sum);
}

void RefinedGravity::Impl::solve_root() {
  Level& its = at(0);
  copy_grown(root->solve(its.rhs), its.phi);
  for (const OpenSide& side : its.poisson.open_sides()) {
    const auto phi = its.phi.view(side.block);
    auto value = its.poisson.values(side).begin();
    core::for_each_cell(side.ghosts, [&](int k, int j, int i) { *value++ = phi(k, j, i); });
  }
}

// One V cycle over all levels from `from_level` up (full approximation: each coarse level holds a potential, not a
// correction).
void RefinedGravity::Impl::cycle(int from_level) {
  for (int level = finest(); level > from_level; --level) relax_and_restrict(level);
  if (from_level == 0) {
    solve_root();
  } else {
    Level& its = at(from_level);
    its.poisson.fill_ghosts(its.phi);
    below(from_level).multigrid.cycle(its.poisson, its.phi, its.rhs, its.residual);
  }
  for (int level = from_level + 1; level <= finest(); ++level) correct_and_relax(level);
}

GravitySolve RefinedGravity::Impl::solve_together(int from_level, std::span<const Field<double>> density) {
  core::require(density.size() == levels.size(), "gravity takes one density a level");
  if (from_level == 0) set_mean(density[0]);
  for (int level = from_level; level <= finest(); ++level) set_rhs(level, density[static_cast<std::size_t>(level)]);
  return iterate(
      source(from_level), [&] { return residual(from_level); }, [&] { cycle(from_level); });
}

// The values around a level between the coarser level's older and present potential.
void RefinedGravity::Impl::set_sides(int level, double weight) {
  const Level& coarse = at(level - 1);
  if (weight == 1.0) return below(level).link.set_sides(coarse.phi, at(level).poisson);
  core::require(coarse.older.components() == 1,
                "a level is solved between two times after `keep` of the coarser level");
  below(level).link.set_sides(coarse.older, coarse.phi, weight, at(level).poisson);
}

// Keeps a copy of the potential in `spare`.
void RefinedGravity::Impl::lay_aside(int level) {
  Level& its = at(level);
  if (its.spare.components() == 0) its.spare = Field<double>(its.phi.layout(), comm.rank(), 1, 1);
  copy_grown(its.phi, its.spare);
}

GravitySolve RefinedGravity::Impl::solve_alone(int level, const Field<double>& density, double weight) {
  if (level > 0) return solve_refined(level, density, weight);
  set_mean(density);
  set_rhs(0, density);
  solve_root();
  return {.cycles = 1};
}

// What the fine level lacks becomes the source of the coarse cells below it: their Laplacian plus the residual.
void RefinedGravity::Impl::relax_and_restrict(int level) {
  comm::progress(comm);
  Level &fine = at(level), &coarse = at(level - 1);
  fine.poisson.relax(fine.phi, fine.rhs, sweeps, over_relaxation);
  fine.poisson.fill_ghosts(fine.phi);
  fine.poisson.residual(fine.phi, fine.rhs, fine.residual);
  below(level).link.average_down(fine.phi, coarse.phi);
  below(level).link.average_down(fine.residual, coarse.rhs);
  coarse.poisson.fill_ghosts(coarse.phi);
  for (int b = 0; b < coarse.phi.blocks(); ++b)
    if (coarse.is_leaf[static_cast<std::size_t>(b)] == 0) coarse.poisson.add_laplacian(coarse.phi, b, coarse.rhs);
  copy_cells(coarse.phi, coarse.before);
}

void RefinedGravity::Impl::correct_and_relax(int level) {
  comm::progress(comm);
  Level &fine = at(level), &coarse = at(level - 1);
  for (int b = 0; b < coarse.phi.blocks(); ++b) {
    const auto phi = std::as_const(coarse.phi).view(b);
    const auto change = coarse.before.view(b);
    core::for_each_cell(coarse.phi.box(b),
                        [=](int k, int j, int i) { change(k, j, i) = phi(k, j, i) - change(k, j, i); });
  }
  below(level).link.add_interpolated(coarse.before, fine.phi);
  below(level).link.set_sides(coarse.phi, fine.poisson);
  fine.poisson.fill_ghosts(fine.phi);
  fine.poisson.relax(fine.phi, fine.rhs, sweeps, over_relaxation);
}

GravitySolve RefinedGravity::Impl::solve_refined(int level, const Field<double>& density, double weight) {
  Level& its = at(level);
  set_rhs(level, density);
  set_sides(level, weight);
  const auto size_of = [&](const Field<double>& field) {
    core::ExactSum sum;
    its.add_sizes(field, Cells::all, sum);
    return comm.sum(sum);
  };
  const auto residual_now = [&] {
    its.poisson.fill_ghosts(its.phi);
    its.poisson.residual(its.phi, its.rhs, its.residual);
    return size_of(its.residual);
  };
  return iterate(size_of(its.rhs), residual_now,
                 [&] { below(level).multigrid.cycle(its.poisson, its.phi, its.rhs, its.residual); });
}

RefinedGravity::RefinedGravity(const comm::Communicator& comm, const Hierarchy& hierarchy,
                               const RefinedGravityConfig& config)
    : impl_(std::make_unique<Impl>(comm, hierarchy, config, nullptr)) {}

RefinedGravity::RefinedGravity(const comm::Communicator& comm, const Hierarchy& hierarchy, RefinedGravity&& before) {
  Impl& old = *before.impl_;
  const bool has_same_root = old.hierarchy.layout(0) == hierarchy.layout(0);
  impl_ = std::make_unique<Impl>(comm, hierarchy, old.config, has_same_root ? old.root : nullptr);
  std::vector<Field<double>> potentials;
  for (Impl::Level& level : old.levels) potentials.push_back(std::move(level.phi));
  potentials = amr::carried_over(comm, old.hierarchy, hierarchy, std::move(potentials), interpolate_linear);
  start_from(potentials);
}

RefinedGravity::~RefinedGravity() = default;
RefinedGravity::RefinedGravity(RefinedGravity&&) noexcept = default;
RefinedGravity& RefinedGravity::operator=(RefinedGravity&&) noexcept = default;

GravitySolve RefinedGravity::solve(std::span<const Field<double>> density) {
  return solve_from(0, density, 1.0);
}

GravitySolve RefinedGravity::solve_from(int level, std::span<const Field<double>> density, double weight) {
  if (level > 0) impl_->set_sides(level, weight);
  return impl_->solve_together(level, density);
}

GravitySolve RefinedGravity::solve_ahead(int level, std::span<const Field<double>> density, double weight) {
  for (int finer = level + 1; finer <= impl_->finest(); ++finer) impl_->lay_aside(finer);
  const GravitySolve done = solve_from(level, density, weight);
  for (int finer = level + 1; finer <= impl_->finest(); ++finer)
    std::swap(impl_->at(finer).phi, impl_->at(finer).spare);
  return done;
}

GravitySolve RefinedGravity::acceleration_as_finest(int level, const Field<double>& density, double weight,
                                                    Field<double>& g, Coarse accelerations) {
  Impl::Level& its = impl_->at(level);
  impl_->lay_aside(level);
  const GravitySolve done = impl_->solve_alone(level, density, weight);
  acceleration(level, g, accelerations.older, accelerations.newer, weight);
  std::swap(its.phi, its.spare);
  return done;
}

void RefinedGravity::start_from(std::span<const Field<double>> potentials) {
  for (int level = 0; level <= impl_->finest(); ++level)
    copy_cells(potentials[static_cast<std::size_t>(level)], impl_->at(level).phi);
}

void RefinedGravity::keep(int level) {
  Impl::Level& its = impl_->at(level);
  if (its.older.components() == 0) its.older = Field<double>(its.phi.layout(), impl_->comm.rank());
  copy_cells(its.phi, its.older);
}

GravitySolve RefinedGravity::solve_level(int level, const Field<double>& density, double weight) {
  return impl_->solve_alone(level, density, weight);
}

const Field<double>& RefinedGravity::potential(int level) const {
  return impl_->at(level).phi;
}

void RefinedGravity::acceleration(int level, Field<double>& g, const Field<double>* coarse_older,
                                  const Field<double>* coarse_newer, double weight) const {
  core::require(g.components() == 3 && g.ghost() >= refined_acceleration_ghost,
                "the acceleration has three components and at least two ghost cells");
  core::require(level == 0 || (coarse_older != nullptr && coarse_newer != nullptr),
                "the acceleration of a refined level takes that of the coarser one");
  const Impl::Level& its = impl_->at(level);
  for (int b = 0; b < g.blocks(); ++b)
    differentiate_level(g.box(b), its.phi.view(b), its.poisson.cell_size(), g.view(b));
  its.acceleration_ghosts.fill(g);
  if (level > 0)
    impl_->below(level).transfer.fill_ghosts({*coarse_older}, {*coarse_newer}, weight, g, interpolate_linear);
}

}  // namespace sidestream::solvers
