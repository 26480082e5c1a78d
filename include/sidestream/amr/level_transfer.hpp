#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sidestream/amr/interpolation.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::amr {

/// Writes the cells `region` of `fine` from the coarse cells around them (the shape of `interpolate_limited`).
using Interpolation = std::function<void(core::View4<const double> coarse, core::View4<double> fine,
                                         const mesh::Box& region, RefinedAxes axes)>;
/// Writes the ghost cells outside the domain of a field on the level of `geometry`.
using FillOutside = std::function<void(mesh::Field<double>& field, const mesh::Geometry& geometry)>;

/// Coarse data at a time. `prepare` is done to a copy of those that are interpolated, ghost cells too.
struct CoarseState {
  const mesh::Field<double>& field;
  std::function<void(mesh::Field<double>& copy)> prepare{};
};

/// Carries fields between a level and the next finer one: averages down, ghost cells up. Every movement is a
/// redistribution between the coarse blocks and the fine blocks' outlines on the coarse level. Built once for a
/// hierarchy (collective), applied often. Memory: the outlines of the fine blocks, where they border on coarser ones.
class LevelTransfer {
 public:
  /// Between `coarse_level` and the level above it. `ghost`: the layers of fine ghost cells that `fill_ghosts` fills.
  LevelTransfer(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy, int coarse_level, std::int32_t ghost);

  /// Goes on with the memory of `before`, which was made alike for another hierarchy and is not used any more.
  void take_memory(LevelTransfer&& before);

  /// Sets the refined blocks' cells of `coarse` to the averages of their children. Collective.
  void average_down(const mesh::Field<double>& fine, mesh::Field<double>& coarse) const;

  /// Fills those of the `ghost` layers of ghost cells of `fine` inside the domain that no block of the fine level owns,
  /// from `coarse` by `interpolate`. The other ghost cells are left as they were (fill them by a GhostFill and by
  /// boundary conditions). `layers`: only so many, an even number. Collective.
  void fill_ghosts(const mesh::Field<double>& coarse, mesh::Field<double>& fine, const Interpolation& interpolate,
                   const FillOutside& outside = {}, std::optional<std::int32_t> layers = {}) const;
  /// The same from coarse data between two times: (1 - weight) * `older` + weight * `newer`.
  void fill_ghosts(const CoarseState& older, const CoarseState& newer, double weight, mesh::Field<double>& fine,
                   const Interpolation& interpolate, const FillOutside& outside = {}) const;

 private:
  struct Region {
    int fine_block, outline;  // local indices
    mesh::Box cells;
  };
  void find_regions(const mesh::Hierarchy& hierarchy, int fine_level);
  mesh::Field<double>& outlines_of(const CoarseState& coarse, int components, std::size_t which) const;
  void interpolate_regions(mesh::Field<double>& outlines, mesh::Field<double>& fine, const Interpolation& interpolate,
                           const FillOutside& outside, std::int32_t layers) const;

  int rank_;
  std::int32_t ghost_;
  RefinedAxes axes_;
  mesh::Geometry coarse_geometry_;
  mesh::Layout coarsened_, outlines_;  // of all fine blocks; of those that border on coarser ones
  redistribute::Redistribution down_, up_;
  std::vector<Region> regions_;
  // Kept from one use to the next: pages that are given back and taken again cost more than what is done with them.
  mutable std::array<mesh::Field<double>, 2> outline_fields_;
  mutable mesh::Field<double> averages_;
};

/// Moves the fields of a hierarchy, one a level, onto another hierarchy of the same root grid: blocks that a rank keeps
/// stay where they are, others come from the rank that had them, new ones are interpolated from the level below (its
/// own blocks first). Ghost cells hold anything. `fields` is emptied on the way, level by level. Collective.
std::vector<mesh::Field<double>> carried_over(const comm::Communicator& comm, const mesh::Hierarchy& from,
                                              const mesh::Hierarchy& to, std::vector<mesh::Field<double>> fields,
                                              const Interpolation& interpolate, const FillOutside& outside = {});

}  // namespace sidestream::amr
