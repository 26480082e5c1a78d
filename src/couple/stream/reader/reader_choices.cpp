#include <algorithm>

#include "sidestream/couple/stream_reader.hpp"

namespace sidestream::couple {

namespace {

mesh::Int3 near_squares(int pieces, const mesh::Box& region) {
  const mesh::Int3 n = region.extent();
  mesh::Int3 best{1, pieces, 1};
  double least = 0.0;
  for (int x = 1; x <= pieces; ++x) {
    if (pieces % x != 0) continue;
    const int y = pieces / x;
    const double a = static_cast<double>(n.x) / x, b = static_cast<double>(n.y) / y;
    const double cost = std::max(a / b, b / a);
    if (x == 1 || cost < least) least = cost, best = {x, y, 1};
  }
  return best;
}

}  // namespace

const core::Registry<TechniqueEntry>& techniques() {
  static const core::Registry<TechniqueEntry> all(
      {"techniques", "technique", "how the cells of a stream come to its readers: `sidestream attach --technique`"},
      {{"auto", "the faster of the two, measured over the first steps", Technique::automatic},
       {"bounding-box", "each reader asks every rank of the run for the part that it needs", Technique::bounding_box},
       {"write-block", "each takes whole blocks of its share of the ranks; then readers redistribute them",
        Technique::write_block}});
  return all;
}

const core::Registry<ReaderLayoutEntry>& reader_layouts() {
  static const core::Registry<ReaderLayoutEntry> all(
      {"layouts", "layout",
       "how readers of a stream lay out the cells among themselves: `sidestream.stream(layout=...)`"},
      {{"blocks", "whole blocks, as the run has them", {}},
       {"slabs", "slices along z",
        [](int readers, const mesh::Box&) {
          return mesh::Int3{1, 1, readers};
        }},
       {"rows", "slices along y",
        [](int readers, const mesh::Box&) {
          return mesh::Int3{1, readers, 1};
        }},
       {"columns", "slices along x",
        [](int readers, const mesh::Box&) {
          return mesh::Int3{readers, 1, 1};
        }},
       {"rectangles", "pieces in x and y, as square as can be", near_squares}});
  return all;
}

}  // namespace sidestream::couple
