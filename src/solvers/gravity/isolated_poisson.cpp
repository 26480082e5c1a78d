#include "solvers/gravity/isolated_poisson.hpp"

#include <algorithm>
#include <cmath>

#include "sidestream/core/for_each.hpp"
#include "solvers/gravity/lattice_green.hpp"

namespace sidestream::solvers {

namespace {

using mesh::Box;
using mesh::Field;
using mesh::Geometry;
using mesh::Layout;

constexpr mesh::Periodicity wraps{true, true, true};

Box doubled(const Box& domain) {
  return mesh::domain_of(domain.hi + domain.hi);
}

Layout within(const Layout& blocks, const Box& domain) {
  return {
      domain, wraps, {blocks.boxes().begin(), blocks.boxes().end()}, {blocks.owners().begin(), blocks.owners().end()}};
}

}  // namespace

IsolatedPoisson::IsolatedPoisson(const comm::Communicator& comm, const Layout& blocks, const Geometry& geometry)
    : doubled_(split(doubled(geometry.domain), {1, 1, comm.size()})),
      blocks_within_(within(blocks, doubled_.domain())),
      in_(comm, blocks_within_, doubled_),
      out_(comm, doubled_, blocks_within_, redistribute::Strategy::automatic, {.destination_ghost = 1}),
      transform_(comm, doubled_),
      extended_(doubled_, comm.rank()),
      potential_(blocks_within_, comm.rank(), 1, 1),
      spectrum_(transform_.spectral(), comm.rank()),
      green_(transform_.spectral(), comm.rank()) {
  fill_with_lattice_green(geometry, extended_);
  transform_.forward(extended_, spectrum_);
  std::ranges::fill(extended_.all(), 0.0);
  const double norm = 1.0 / static_cast<double>(doubled_.domain().volume());
  std::ranges::transform(spectrum_.all(), green_.all().begin(),
                         [&](const std::complex<double>& mode) { return norm * mode.real(); });
}

const Field<double>& IsolatedPoisson::solve(const Field<double>& rhs) {
  std::ranges::fill(extended_.all(), 0.0);
  in_.apply(rhs, extended_);
  transform_.forward(extended_, spectrum_);
  std::ranges::transform(spectrum_.all(), green_.all(), spectrum_.all().begin(),
                         [](const std::complex<double>& mode, double green) { return green * mode; });
  transform_.backward(spectrum_, extended_);
  out_.apply(extended_, potential_);
  return potential_;
}

}  // namespace sidestream::solvers
