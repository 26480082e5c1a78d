#include "sidestream/solvers/lbm/lattice_flow.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"

namespace sidestream::solvers {
namespace {

/// Whole populations of all cells of a domain, one step at a time, as one writes it down.
class PlainLattice {
 public:
  PlainLattice(mesh::Int3 cells, const LatticeConfig& config, std::function<bool(mesh::Int3)> is_solid)
      : cells_(cells),
        config_(config),
        table_(table_of(lattice_of(mesh::domain_of(cells)))),
        is_solid_(std::move(is_solid)),
        f_(static_cast<std::size_t>(cells.product()) * table_.weight.size()) {}

  double& at(std::size_t q, mesh::Int3 cell) {
    return f_[static_cast<std::size_t>(mesh::linear_index(mesh::domain_of(cells_), cell)) * table_.weight.size() + q];
  }

  // One relaxation time, a force, walls and periodic faces.
  void step() {
    PlainLattice next = *this;
    const double omega = 1.0 / (3.0 * config_.viscosity + 0.5);
    core::for_each_cell(mesh::domain_of(cells_), [&](int k, int j, int i) {
      if (is_solid_({i, j, k})) return;
      std::vector<double> came;
      double rho = 0.0, u[3] = {};
      for (std::size_t q = 0; q < table_.weight.size(); ++q) {
        came.push_back(coming({i, j, k}, q));
        rho += came[q];
        for (int a = 0; a < 3; ++a) u[a] += came[q] * table_.velocity[q][a];
      }
      double square = 0.0, work = 0.0;
      for (int a = 0; a < 3; ++a) {
        const double force = config_.force[static_cast<std::size_t>(a)];
        u[a] = (u[a] + 0.5 * force) / rho;
        square += u[a] * u[a];
        work += u[a] * force;
      }
      for (std::size_t q = 0; q < came.size(); ++q) {
        double cu = 0.0, cf = 0.0;
        for (int a = 0; a < 3; ++a) {
          cu += table_.velocity[q][a] * u[a];
          cf += table_.velocity[q][a] * config_.force[static_cast<std::size_t>(a)];
        }
        const double rest = table_.weight[q] * rho * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * square);
        const double source = table_.weight[q] * (3.0 * (cf - work) + 9.0 * cu * cf);
        next.at(q, {i, j, k}) = came[q] - omega * (came[q] - rest) + (1.0 - 0.5 * omega) * source;
      }
    });
    f_ = std::move(next.f_);
  }

 private:
  double coming(mesh::Int3 cell, std::size_t q) {
    mesh::Int3 from = cell - table_.velocity[q];
    const std::size_t opposite = q == 0 ? 0 : q % 2 == 1 ? q + 1 : q - 1;
    for (int axis = 0; axis < 3; ++axis) {
      const auto& edge = config_.edges[static_cast<std::size_t>(axis)];
      const bool is_outside = from[axis] < 0 || from[axis] >= cells_[axis];
      if (is_outside && edge[0].kind == EdgeKind::wall) {
        const LatticeEdge& wall = edge[from[axis] < 0 ? 0 : 1];
        double along = 0.0;
        for (int a = 0; a < 3; ++a) along += table_.velocity[q][a] * wall.velocity[static_cast<std::size_t>(a)];
        return at(opposite, cell) + 6.0 * table_.weight[q] * along;
      }
      from[axis] = mesh::wrapped(from[axis], cells_[axis]);
    }
    return is_solid_(from) ? at(opposite, cell) : at(q, from);
  }

  mesh::Int3 cells_;
  LatticeConfig config_;
  const LatticeTable& table_;
  std::function<bool(mesh::Int3)> is_solid_;
  std::vector<double> f_;
};

bool is_random_solid(mesh::Int3 cell) {
  return core::uniform(7, static_cast<std::uint64_t>((cell.z * 1000 + cell.y) * 1000 + cell.x), 0) < 0.1;
}
LatticeCell random_cell(mesh::Int3 cell) {
  const auto number = [&](std::uint64_t n) {
    return core::uniform(3, static_cast<std::uint64_t>((cell.z * 1000 + cell.y) * 1000 + cell.x), n) - 0.5;
  };
  return {1.0 + 0.1 * number(0), {0.1 * number(1), 0.1 * number(2), 0.0}, {}};
}

LatticeConfig between_walls(CollisionKind collision) {
  LatticeConfig config{
      .collision = collision, .viscosity = 0.03, .magic = 0.25, .force = {1e-4, 2e-5, 0.0}, .edges = {}};
  config.edges[1] = {LatticeEdge{EdgeKind::wall, {}}, LatticeEdge{EdgeKind::wall, {0.05, 0.0, 0.0}}};
  return config;
}

class LatticeFlowTest : public testing::TestWithParam<mesh::Int3> {
 protected:
  template <typename Real>
  void advance(LatticeFlow<Real>& flow, int steps) {
    flow.set_barriers([](mesh::Int3 cell) { return is_random_solid(cell) ? 1 : 0; });
    flow.set_flow(random_cell);
    for (int step = 0; step < steps; ++step) flow.advance();
  }

  comm::Communicator world{MPI_COMM_WORLD};
  core::Bill bill;
};

// Odd sides, and slices of few cells.
TEST_P(LatticeFlowTest, HasThePopulationsOfAPlainLattice) {
  const LatticeConfig config = between_walls(CollisionKind::bgk);
  const mesh::Box domain = mesh::domain_of(GetParam());
  const int last = GetParam().z > 1 ? 2 : 1;
  mesh::Int3 parts{1, 1, 1};
  parts[last] = world.size();
  LatticeFlow<double> flow(world, mesh::split(domain, parts), config, bill);
  PlainLattice plain(GetParam(), config, is_random_solid);
  const LatticeTable& table = table_of(flow.lattice());
  advance(flow, 0);
  const comm::Communicator self(MPI_COMM_SELF);
  LatticeFlow<double> alone(self, mesh::split(domain, {1, 1, 1}), config, bill);
  advance(alone, 0);
  const auto start = alone.populations().view(0);
  core::for_each_cell(domain, [&](int k, int j, int i) {
    for (std::size_t q = 0; q < table.weight.size(); ++q)
      plain.at(q, {i, j, k}) = table.weight[q] + start(static_cast<int>(q), k, j, i);
  });

  for (int step = 0; step < 20; ++step) {
    flow.advance();
    plain.step();
  }

  double largest = 0.0;
  for (int b = 0; b < flow.populations().blocks(); ++b)
    core::for_each_cell(flow.populations().box(b), [&, g = flow.populations().view(b)](int k, int j, int i) {
      for (std::size_t q = 0; q < table.weight.size(); ++q)
        largest =
            std::max(largest, std::fabs(g(static_cast<int>(q), k, j, i) - (plain.at(q, {i, j, k}) - table.weight[q])));
    });
  EXPECT_LT(largest, 1e-14);
}

INSTANTIATE_TEST_SUITE_P(Domains, LatticeFlowTest,
                         testing::Values(mesh::Int3{23, 13, 1}, mesh::Int3{2, 4, 1}, mesh::Int3{11, 9, 7}));

template <typename Real>
std::map<std::pair<std::int64_t, int>, Real> cells_of(const LatticeFlow<Real>& flow) {
  std::map<std::pair<std::int64_t, int>, Real> all;
  const auto view = flow.populations();
  for (int b = 0; b < view.blocks(); ++b)
    core::for_each_cell(view.box(b), [&, g = view.view(b)](int k, int j, int i) {
      for (int q = 0; q < g.components(); ++q)
        all[{mesh::linear_index(flow.layout().domain(), {i, j, k}), q}] = g(q, k, j, i);
    });
  return all;
}

template <typename Real>
class LatticeBitsTest : public LatticeFlowTest {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LatticeBitsTest, Reals);

TYPED_TEST(LatticeBitsTest, AreTheSameOnAnyLayout) {
  for (const CollisionKind kind : {CollisionKind::bgk, CollisionKind::trt, CollisionKind::regularised}) {
    const mesh::Box domain = mesh::domain_of({19, 12, 5});
    const LatticeConfig config = between_walls(kind);
    const comm::Communicator self(MPI_COMM_SELF);
    LatticeFlow<TypeParam> alone(self, mesh::split(domain, {1, 1, 1}), config, this->bill);
    this->advance(alone, 12);
    const auto expected = cells_of(alone);
    for (const mesh::Int3 parts : {mesh::Int3{this->world.size(), 1, 1}, {1, this->world.size(), 1}}) {
      LatticeFlow<TypeParam> together(this->world, mesh::split(domain, parts), config, this->bill);
      this->advance(together, 12);
      for (const auto& [cell, value] : cells_of(together)) ASSERT_EQ(value, expected.at(cell));
    }
  }
}

/// What a flow measures, of all cells with their ghost cells.
template <typename Real>
std::vector<double> numbers_of(const LatticeFlow<Real>& flow, const LatticeComponents& wanted) {
  std::vector<double> all;
  const mesh::FieldView<const double> measured = flow.measure(wanted);
  for (int b = 0; b < measured.blocks(); ++b)
    core::for_each_cell(measured.box(b).grown(measured.ghosts().layers),
                        [&, u = measured.view(b)](int k, int j, int i) {
                          for (std::size_t c = 0; c < wanted.size(); ++c)
                            if (wanted[c]) all.push_back(u(static_cast<int>(c), k, j, i));
                        });
  return all;
}

// Of fluid, barriers, walls, what comes in and what is held.
TYPED_TEST(LatticeBitsTest, AStepLeavesWhatAPassOfItsOwnFinds) {
  for (const mesh::Int3 cells : {mesh::Int3{37, 12, 1}, mesh::Int3{19, 12, 5}, mesh::Int3{3, 4, 1}})
    for (const CollisionKind kind : {CollisionKind::bgk, CollisionKind::trt, CollisionKind::regularised})
      for (const EdgeKind left : {EdgeKind::inflow, EdgeKind::equilibrium}) {
        LatticeConfig config = between_walls(kind);
        config.edges[0] = {LatticeEdge{left, {0.05, 0.0, 0.0}}, LatticeEdge{EdgeKind::outflow, {}, false, 1.0}};
        mesh::Int3 parts{1, 1, 1};
        parts[cells.z > 1 ? 2 : 1] = this->world.size();
        const mesh::Layout layout = mesh::split(mesh::domain_of(cells), parts);
        LatticeFlow<TypeParam> plain(this->world, layout, config, this->bill),
            fused(this->world, layout, config, this->bill);
        this->advance(plain, 4);
        this->advance(fused, 4);
        const bool is_plane = cells.z == 1;
        const LatticeComponents density{true}, velocity{false, true, true, !is_plane},
            both{true, true, true, !is_plane};
        for (const LatticeComponents& foreseen : {density, velocity, both, LatticeComponents{}}) {
          plain.advance();
          fused.advance(foreseen);

          ASSERT_EQ(numbers_of(fused, both), numbers_of(plain, both));
          ASSERT_EQ(numbers_of(fused, velocity), numbers_of(plain, velocity));
        }
        ASSERT_EQ(cells_of(fused), cells_of(plain));
      }
}

// Rows of several pieces, in a flow that is written past the caches.
TYPED_TEST(LatticeBitsTest, SoDoesAStepOfALargeFlow) {
  LatticeConfig config = between_walls(CollisionKind::trt);
  config.force = {};
  const comm::Communicator self(MPI_COMM_SELF);
  const mesh::Layout layout = mesh::split(mesh::domain_of({1031, 130, 1}), {1, 1, 1});
  LatticeFlow<TypeParam> plain(self, layout, config, this->bill), fused(self, layout, config, this->bill);
  this->advance(plain, 2);
  this->advance(fused, 2);
  for (const LatticeComponents& foreseen :
       {LatticeComponents{false, true, true, false}, LatticeComponents{true, false, true, false}}) {
    plain.advance();
    fused.advance(foreseen);
    ASSERT_EQ(numbers_of(fused, {true, true, true, false}), numbers_of(plain, {true, true, true, false}));
  }
}

TYPED_TEST(LatticeBitsTest, WhatWasMeasuredStaysAndIsForgottenWhereTheFlowChanges) {
  const LatticeConfig config = between_walls(CollisionKind::trt);
  const comm::Communicator self(MPI_COMM_SELF);
  LatticeFlow<TypeParam> flow(self, mesh::split(mesh::domain_of({19, 12, 1}), {1, 1, 1}), config, this->bill);
  this->advance(flow, 3);
  const LatticeComponents all{true, true, true, false};
  const auto corner = [](const mesh::FieldView<const double>& view) { return view.view(0)(1, 0, 3, 3); };

  flow.advance(all);
  const mesh::FieldView<const double> held = flow.measure(all);
  const double before = corner(held);
  flow.advance(all);

  EXPECT_EQ(corner(held), before);
  EXPECT_NE(corner(flow.measure(all)), before);
  flow.set_flow([](mesh::Int3) { return LatticeCell{1.0, {0.125, 0.0, 0.0}, {}}; });
  LatticeConfig still = config;
  still.force = {};
  flow.set(still);
  EXPECT_NEAR(corner(flow.measure(all)), 0.125, 1e-3);
  flow.set_barriers([](mesh::Int3) { return 1; });
  EXPECT_EQ(corner(flow.measure(all)), 0.0);
}

TYPED_TEST(LatticeBitsTest, ALookNamesTheCellThatCannotBe) {
  const comm::Communicator self(MPI_COMM_SELF);
  LatticeFlow<TypeParam> flow(self, mesh::split(mesh::domain_of({19, 12, 5}), {1, 1, 1}),
                              {.viscosity = 0.1, .edges = {}}, this->bill);
  flow.set_flow([](mesh::Int3 cell) {
    return LatticeCell{1.0, {cell == mesh::Int3{17, 3, 2} ? 0.25 : 0.125, 0.0, 0.0}, {}};
  });
  EXPECT_EQ(flow.look().problem, "");
  EXPECT_NEAR(flow.look().fastest, 0.25, 1e-6);

  for (const double number : {std::nan(""), 2.0, -0.7, 1e30}) {
    const TypeParam before = flow.populations().view(0)(3, 4, 11, 18);
    flow.populations().view(0)(3, 4, 11, 18) = static_cast<TypeParam>(number);
    EXPECT_NE(flow.look().problem.find("in the cell (18, 11, 4)"), std::string::npos) << number;
    flow.populations().view(0)(3, 4, 11, 18) = before;
  }
}

// `ctest` runs it with the kernels for lower instruction sets.
TEST(LatticeBits, AreThoseOfAllProcessors) {
  core::Bill bill;
  const comm::Communicator self(MPI_COMM_SELF);
  std::uint64_t sum = 0;
  for (const mesh::Int3 cells : {mesh::Int3{21, 10, 1}, mesh::Int3{13, 8, 6}})
    for (const CollisionKind kind : {CollisionKind::bgk, CollisionKind::trt, CollisionKind::regularised}) {
      LatticeConfig config = between_walls(kind);
      config.edges[0] = {LatticeEdge{EdgeKind::inflow, {0.05, 0.0, 0.0}, true},
                         LatticeEdge{EdgeKind::outflow, {}, false, 1.0}};
      LatticeFlow<double> flow(self, mesh::split(mesh::domain_of(cells), {1, 1, 1}), config, bill);
      flow.set_flow(random_cell);
      for (int step = 0; step < 20; ++step) flow.advance();
      for (const auto& [cell, value] : cells_of(flow)) sum = std::rotl(sum, 7) ^ std::bit_cast<std::uint64_t>(value);
    }
  EXPECT_EQ(sum, 0xFB13BBDABD9BD4F2ULL);
}

}  // namespace
}  // namespace sidestream::solvers
