#pragma once

#include <cmath>
#include <utility>

#include "sidestream/redistribute/migration.hpp"
#include "sidestream/solvers/background.hpp"
#include "sidestream/solvers/gravity.hpp"
#include "sidestream/solvers/momentum.hpp"
#include "sidestream/solvers/particle_mesh.hpp"

namespace sidestream::test {

/// Dark matter alone: the particle mesh, gravity and the leapfrog, and nothing else. All members are collective.
class NBody {
 public:
  NBody(const comm::Communicator& comm, const mesh::Layout& layout, const mesh::Geometry& geometry,
        const solvers::Background& background, mesh::Particles start, double a)
      : comm_(comm),
        layout_(layout),
        geometry_(geometry),
        background_(background),
        particles_(std::move(start)),
        a_(a),
        particle_mesh_(comm, layout, geometry, comm.sum(static_cast<std::int64_t>(particles_.size()))),
        gravity_(comm, layout, geometry),
        density_(layout, comm.rank()),
        acceleration_(layout, comm.rank(), 3, 1) {
    solve();
  }

  void step_to(double a) {
    const solvers::LeapfrogStep step = solvers::leapfrog_step(background_, a_, a);
    particle_mesh_.kick(acceleration_, step.first_kick, particles_, step.drift);
    redistribute::migrate(comm_, layout_, geometry_, particles_);
    if (++steps_ % 10 == 0) particle_mesh_.sort(particles_);
    solve();
    particle_mesh_.kick(acceleration_, step.second_kick, particles_);
    a_ = a;
  }

  /// Equal steps in ln a.
  void run_to(double a, int steps) {
    const double start = a_;
    for (int n = 1; n <= steps; ++n)
      step_to(n == steps ? a : start * std::pow(a / start, static_cast<double>(n) / steps));
  }

  const mesh::Particles& particles() const { return particles_; }
  const mesh::Field<double>& density() const { return density_; }
  /// psi with lap psi = density - mean.
  const mesh::Field<double>& potential() const { return gravity_.potential(); }
  double scale_factor() const { return a_; }

 private:
  void solve() {
    particle_mesh_.deposit(particles_, density_);
    gravity_.solve(density_, acceleration_);
  }

  const comm::Communicator& comm_;
  mesh::Layout layout_;
  mesh::Geometry geometry_;
  solvers::Background background_;
  mesh::Particles particles_;
  double a_;
  int steps_ = 0;
  solvers::ParticleMesh particle_mesh_;
  solvers::Gravity gravity_;
  mesh::Field<double> density_, acceleration_;
};

}  // namespace sidestream::test
