#include "analysis/halo_measures/halo_particles.hpp"

#include <cmath>
#include <string>

#include "analysis/particle_columns.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/redistribute/owned_cells.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

bool is_finite(const std::array<double, 3>& numbers) {
  return std::isfinite(numbers[0]) && std::isfinite(numbers[1]) && std::isfinite(numbers[2]);
}

class Finder {
 public:
  Finder(const HaloRuns& runs, const HaloFrame& frame, int rank) : runs_(runs), frame_(frame) {
    for (const ScalarView& level : frame.field()) owned_.emplace_back(level.layout(), rank);
  }

  std::vector<HaloParticle> take() { return std::move(found_); }
  const std::string& problem() const { return problem_; }

  // Takes the particles that lie in cells of this rank; the others go to `outgoing`, by the rank of their cells.
  void sort(const ParticleColumns& columns, std::vector<std::vector<LooseParticle>>& outgoing) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::array<double, 3> position = columns.position(i);
      if (!is_finite(position)) {
        problem_ = "a particle lies at a position that is not finite";
        return;
      }
      if (!bring_inside(position)) continue;
      const Int3 cell = mesh::cell_of(frame_.finest(), position);
      const Place place = here(cell);
      if (place.level >= 0) {
        const std::int32_t halo = halo_at(place, cell);
        if (halo >= 0) take(columns.particle(i, position), halo, place.level, cell);
      } else {
        const int owner = owner_of(cell);
        if (owner >= 0) outgoing[static_cast<std::size_t>(owner)].push_back(columns.particle(i, position));
      }
    }
  }
  void take(const LooseParticle& particle) {
    const Int3 cell = mesh::cell_of(frame_.finest(), particle.position);
    const Place place = here(cell);
    const std::int32_t halo = place.level < 0 ? -1 : halo_at(place, cell);
    if (halo >= 0) take(particle, halo, place.level, cell);
  }

 private:
  struct Place {
    int level = -1;  // -1: not here
    std::int32_t block = -1;
  };

  bool bring_inside(std::array<double, 3>& position) const {
    for (std::size_t a = 0; a < 3; ++a) {
      const double length = frame_.root().length[a];
      if (frame_.root().periodic[a])
        position[a] = mesh::wrapped_coordinate(position[a], length);
      else if (!(position[a] >= 0.0 && position[a] < length))
        return false;
    }
    return true;
  }
  Place here(Int3 finest_cell) const {
    for (int level = frame_.levels() - 1; level >= 0; --level) {
      const std::int32_t block =
          owned_[static_cast<std::size_t>(level)].block_of(coarsened(finest_cell, frame_.bits(level)));
      if (block >= 0) return {level, block};
    }
    return {};
  }
  int owner_of(Int3 finest_cell) const {
    for (int level = frame_.levels() - 1; level >= 0; --level) {
      const mesh::Layout& layout = frame_.field()[static_cast<std::size_t>(level)].layout();
      const std::int32_t box = layout.find(coarsened(finest_cell, frame_.bits(level)));
      if (box >= 0) return layout.owner(box);
    }
    return -1;
  }
  std::int32_t halo_at(const Place& place, Int3 finest_cell) const {
    return runs_.halo_at(place.level, place.block, coarsened(finest_cell, frame_.bits(place.level)));
  }

  // `cell` is the one of the finest level that holds it, or would hold it.
  void take(const LooseParticle& particle, std::int32_t halo, int level, Int3 cell) {
    if (!std::isfinite(particle.mass) || !is_finite(particle.velocity))
      problem_ = "a particle in a halo has a mass or a velocity that is not finite";
    HaloParticle& found = found_.emplace_back();
    found.id = particle.id;
    found.halo = halo;
    found.matter.mass = particle.mass;
    found.matter.velocity = particle.velocity;
    const Int3 corner = frame_.cell_of(runs_.peak(halo).cell);
    found.matter.offset = frame_.offset(level, corner, coarsened(cell, frame_.bits(level)), particle.position);
  }

  const HaloRuns& runs_;
  const HaloFrame& frame_;
  std::vector<redistribute::OwnedCells> owned_;  // of each level
  std::vector<HaloParticle> found_;
  std::string problem_;
};

}  // namespace

bool have_velocities(const comm::Communicator& comm, const mesh::Particles& particles) {
  const ParticleColumns columns(particles, 1.0);
  return comm.max(std::int64_t{columns.size() > 0 && columns.have_velocities()}) > 0;
}

std::vector<HaloParticle> particles_in_halos(const comm::Communicator& comm, const HaloRuns& runs,
                                             const HaloFrame& frame, const HaloMeasures& measures) {
  Finder finder(runs, frame, comm.rank());
  std::vector<std::vector<LooseParticle>> outgoing(static_cast<std::size_t>(comm.size()));
  finder.sort(ParticleColumns(*measures.particles, measures.scale_factor), outgoing);
  for (const auto& incoming : comm.exchange(outgoing))
    for (const LooseParticle& particle : incoming) finder.take(particle);
  comm.agree(finder.problem());
  return finder.take();
}

}  // namespace sidestream::analysis
