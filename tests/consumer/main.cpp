// The example of docs/guides/library.md, with a check that the ghost cells were filled.

#include <sidestream/mesh/forest.hpp>
#include <sidestream/redistribute/redistribution.hpp>

using namespace sidestream;

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto slabs = mesh::split(mesh::domain_of({64, 64, 64}), {1, 1, world.size()});
  const auto blocks = mesh::Forest({64, 64, 64}, 16).layout(world.size());

  mesh::Field<double> from(slabs, world.rank()), to(blocks, world.rank(), 1, 2);
  for (double& value : from.all()) value = 1.0;
  const redistribute::Redistribution plan(world, slabs, blocks);
  plan.apply(from, to);
  redistribute::GhostFill(world, blocks, 2).fill(to);

  bool is_filled = true;
  for (const double value : to.all()) is_filled = is_filled && value == 1.0;
  return world.all(is_filled) ? 0 : 1;
}
