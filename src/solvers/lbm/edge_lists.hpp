#pragma once

#include <vector>

#include "sidestream/mesh/field.hpp"
#include "sidestream/solvers/lbm/lattice_flow.hpp"
#include "solvers/lbm/populations.hpp"

namespace sidestream::solvers {

/// The cells of a box whose populations do not all come from fluid cells around them.
template <typename Real>
class EdgeLists {
 public:
  /// Cells of one face, or of none.
  struct List {
    int axis = -1, inward = 0;
    bool has_velocity = false;
    double density = 1.0, stiffness = 0.0;
    std::vector<std::int64_t> at, sources;
    std::vector<Real> added, velocity;

    EdgeCells<Real> cells() const;
  };
  /// A cell that keeps what it has: a solid one at rest, or one in equilibrium.
  struct Held {
    std::int64_t at = 0;
    const std::vector<Real>* populations = nullptr;
    bool is_solid = false;
  };
  /// A population that leaves a fluid cell for a barrier.
  struct Link {
    std::int64_t place = 0;
    int direction = 0, barrier = 0;
  };

  EdgeLists() = default;
  /// `wraps`: as those of a `CollisionStep`. `barriers` has a layer of ghost cells along axes of more than one cell.
  EdgeLists(const mesh::Box& domain, LatticeKind lattice, const LatticeConfig& config, const std::array<bool, 3>& wraps,
            const Populations<Real>& populations, const mesh::Field<std::int32_t>& barriers);

  const std::vector<List>& lists() const { return lists_; }
  const std::vector<Held>& held() const { return held_; }
  const std::vector<Link>& links() const { return links_; }

 private:
  struct Builder;
  std::vector<List> lists_;
  std::vector<Held> held_;
  std::vector<Link> links_;
  std::vector<std::unique_ptr<std::vector<Real>>> kept_;  // what cells are held at
};

/// The velocity of an edge at a cell on it.
std::array<double, 3> edge_velocity(const mesh::Box& domain, const LatticeConfig& config, int axis, bool high,
                                    mesh::Int3 cell);
/// The equilibrium of density 1 less its weight, of each direction.
std::vector<double> equilibrium_deviations(const LatticeTable& table, double density,
                                           const std::array<double, 3>& velocity);

}  // namespace sidestream::solvers
