#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/display/colouring.hpp"
#include "analysis/images/image.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/picture.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// What the cells in a plane hold: counted in pixels, so the same for any layout and ranks.
struct PlaneContent {
  Limits limits;           ///< the smallest and the largest finite value that has a colour
  std::int64_t below = 0;  ///< pixels below the limits that were given
  std::int64_t above = 0;  ///< and above
  std::int64_t bad = 0;    ///< and of values that have no colour
};

/// A quantity in a plane of cells, of which only the part that is asked for is computed and moved. Lives as long as the
/// snapshot.
class PlaneCells {
 public:
  /// `position`: where the plane cuts its axis, as a fraction of the box. Collective.
  PlaneCells(const comm::Communicator& comm, const mesh::Snapshot& snapshot, std::string quantity,
             const ImagePlane& plane, double position);

  /// Collective.
  PlaneContent content(Scale scale, Limits limits) const;

  /// The pixels of this rank's boxes of `parts`, whose domain is `columns` x `rows` of the plane with row 0 where the
  /// vertical axis is largest: a pixel a cell of the finest level, larger cells as many pixels. Collective.
  mesh::Pixels paint(const mesh::Layout& parts, const Colouring& colouring) const;

 private:
  using Box = mesh::Box;

  std::int32_t depth(int level) const;
  Box in_plane(Box cells, int level) const;
  Box cells_of(const Box& pixels, int level) const;
  Box pixels_of(const Box& cells) const;
  mesh::Int3 bits(int level) const;
  mesh::Layout sources(const mesh::Layout& parts, int level) const;
  core::View4<const double> block(int level, const Box& leaf, std::vector<double>& room) const;
  mesh::Field<double> read(const mesh::Layout& sources, int level) const;

  const comm::Communicator& comm_;
  const mesh::Snapshot& snapshot_;
  std::string quantity_;
  ImagePlane plane_;
  double position_;
  LeafField at_hand_;  // of levels whose cells lie in memory; else empty views
};

}  // namespace sidestream::analysis
