#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/solvers/lbm/lattice_flow.hpp"

namespace sidestream::solvers {
namespace {

double chance(mesh::Int3 cell, std::uint64_t stream) {
  return core::uniform(5, static_cast<std::uint64_t>((cell.z * 1000 + cell.y) * 10000 + cell.x), stream);
}
// In some rows only.
bool is_solid(mesh::Int3 cell) {
  return cell.y % 3 == 1 && chance(cell, 0) < 0.2;
}

/// Central differences as one writes them down.
struct PlainGradient {
  core::View4<const double> u;
  mesh::Int3 layers;

  double operator()(int component, int axis, mesh::Int3 cell) const {
    mesh::Int3 next = cell, last = cell;
    next[axis] += layers[axis];
    last[axis] -= layers[axis];
    return 0.5 * (u(1 + component, next.z, next.y, next.x) - u(1 + component, last.z, last.y, last.x));
  }
  double curl(int axis, mesh::Int3 cell) const {
    const int next = (axis + 1) % 3, last = (axis + 2) % 3;
    return (*this)(last, next, cell) - (*this)(next, last, cell);
  }
  double value_of(OfGradient what, mesh::Int3 cell) const {
    double sum = 0.0;
    if (what == OfGradient::vorticity_magnitude) {
      for (int axis = 0; axis < 3; ++axis) sum += curl(axis, cell) * curl(axis, cell);
      return std::sqrt(sum);
    }
    if (what != OfGradient::q_criterion) return curl(static_cast<int>(what), cell);
    for (int a = 0; a < 3; ++a) sum += (*this)(a, a, cell) * (*this)(a, a, cell);
    for (int a = 0; a < 3; ++a)
      for (int b = a + 1; b < 3; ++b) sum += 2.0 * ((*this)(a, b, cell) * (*this)(b, a, cell));
    return -0.5 * sum;
  }
};

// A wall that moves and fluid that comes in and goes on, so that all ghost cells are others.
LatticeConfig with_edges() {
  LatticeConfig config{.collision = CollisionKind::bgk, .viscosity = 0.05, .magic = 0.25, .force = {}, .edges = {}};
  config.edges[0] = {LatticeEdge{EdgeKind::inflow, {0.05, 0.0, 0.0}}, LatticeEdge{EdgeKind::outflow, {}, false, 1.0}};
  config.edges[1] = {LatticeEdge{EdgeKind::wall, {}}, LatticeEdge{EdgeKind::wall, {0.04, 0.0, 0.0}}};
  return config;
}

// Cells that do not have the value of the plain gradient, to the bit, in memory that begins `behind` numbers after a
// cache line, and numbers beside the cells that were written to.
int wrong_numbers(const comm::Communicator& comm, mesh::Int3 cells, OfGradient what, int behind) {
  core::Bill bill;
  mesh::Int3 parts{1, 1, 1};
  parts[cells.z > 1 ? 2 : 1] = comm.size();
  LatticeFlow<double> flow(comm, mesh::split(mesh::domain_of(cells), parts), with_edges(), bill);
  flow.set_barriers([](mesh::Int3 cell) { return is_solid(cell) ? 2 : 0; });
  flow.set_flow([](mesh::Int3 cell) {
    return LatticeCell{1.0, {0.1 * chance(cell, 1), 0.1 * chance(cell, 2), 0.0}, {}};
  });
  flow.advance({false, true, true, cells.z > 1});
  const mesh::FieldView<const double> measured = flow.measure({false, true, true, cells.z > 1});
  if (measured.blocks() == 0) return 0;
  const mesh::Box& box = measured.box(0);
  const mesh::Int3 n = box.extent();
  constexpr double untouched = -77.0;
  constexpr int line = 8, around = 16;
  std::vector<double> room(static_cast<std::size_t>(box.volume()) + around + 2 * line, untouched);
  const auto past_a_line = static_cast<int>(reinterpret_cast<std::uintptr_t>(room.data()) % 64 / sizeof(double));
  const int first = line - past_a_line + behind;
  const core::View4<double> out(room.data() + first, box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, 1);

  flow.differentiate(measured, what, box, out);

  const PlainGradient plain{measured.view(0), measured.ghosts().layers};
  int wrong = 0;
  core::for_each_cell(box, [&](int k, int j, int i) {
    wrong += out(k, j, i) != (is_solid({i, j, k}) ? 0.0 : plain.value_of(what, {i, j, k}));
  });
  for (std::size_t at = 0; at < room.size(); ++at) {
    const auto place = static_cast<std::int64_t>(at) - first;
    wrong += (place < 0 || place >= box.volume()) && room[at] != untouched;
  }
  return wrong;
}

constexpr std::array all_of_gradient{OfGradient::vorticity_x, OfGradient::vorticity_y, OfGradient::vorticity_z,
                                     OfGradient::vorticity_magnitude, OfGradient::q_criterion};

// `ctest` runs it with the kernels for lower instruction sets, too.
TEST(LatticeBits, GradientsAreThoseOfPlainDifferences) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const int behind : {0, 1, 7}) {
    for (const mesh::Int3 cells : {mesh::Int3{3, 4, 1}, mesh::Int3{37, 12, 1}, mesh::Int3{64, 8, 1}})
      for (const OfGradient what : {OfGradient::vorticity_z, OfGradient::q_criterion})
        EXPECT_EQ(wrong_numbers(world, cells, what, behind), 0) << cells.x << " " << static_cast<int>(what);
    for (const mesh::Int3 cells : {mesh::Int3{19, 12, 5}, mesh::Int3{5, 1, 9}})
      for (const OfGradient what : all_of_gradient)
        EXPECT_EQ(wrong_numbers(world, cells, what, behind), 0) << cells.x << " " << static_cast<int>(what);
  }
}

// So large that it is written past the caches on four ranks, too.
TEST(LatticeBits, SoAreThoseOfLargeFlows) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const int behind : {0, 3})
    EXPECT_EQ(wrong_numbers(world, {1031, 540 * world.size(), 1}, OfGradient::vorticity_z, behind), 0);
}

}  // namespace
}  // namespace sidestream::solvers
