#include <cmath>

#include "analysis/entries.hpp"
#include "analysis/images/image.hpp"
#include "analysis/make.hpp"
#include "analysis/statistics/totals.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

// Pixels of a plane of cells, from cells as large as a pixel or larger, or from smaller ones.
class PlaneOfCells {
 public:
  PlaneOfCells(const LeafField& field, const ImagePlane& plane, double position)
      : field_(field), plane_(plane), position_(position) {}

  // The plane of cells of the level that holds the position.
  std::int32_t depth(int level) const {
    const mesh::Box domain = refined(root_domain(field_), bits_between(root_domain(field_), level));
    const std::int32_t n = domain.extent()[plane_.axis];
    return domain.lo[plane_.axis] + std::min(n - 1, static_cast<std::int32_t>(std::floor(position_ * n)));
  }

  // Collective; on rank 0.
  std::vector<double> picture(const comm::Communicator& comm) const {
    std::vector<Pixel<double>> pixels;
    for (int level = 0; level <= std::min(plane_.level, finest_level(field_)); ++level) add_pixels(level, pixels);
    auto picture = assemble(comm, plane_, pixels, 0.0, [](double, double value) { return value; });
    if (finest_level(field_) > plane_.level) average_finer(comm, picture);
    return picture;
  }

 private:
  mesh::Box cells_of(int level, int block) const {
    mesh::Box cells = field_[static_cast<std::size_t>(level)].box(block);
    cells.lo[plane_.axis] = std::max(cells.lo[plane_.axis], depth(level));
    cells.hi[plane_.axis] = std::min(cells.hi[plane_.axis], depth(level) + 1);
    return cells;
  }

  void add_pixels(int level, std::vector<Pixel<double>>& pixels) const {
    const ScalarView& field = field_[static_cast<std::size_t>(level)];
    const mesh::Int3 coarser = plane_.bits_coarser(level);
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(cells_of(level, b), [&, view = field.view(b)](int k, int j, int i) {
        plane_.for_each_pixel({i, j, k}, coarser, [&](std::int32_t row, std::int32_t column) {
          pixels.push_back({row, column, view(k, j, i)});
        });
      });
  }

  // The pixels that smaller cells fill: the sum of their values over how many cells of the finest level they are worth.
  // A cell without a number makes a pixel without one.
  void average_finer(const comm::Communicator& comm, std::vector<double>& picture) const {
    std::vector<IndexedPortion> values, cells;
    for (int level = plane_.level + 1; level <= finest_level(field_); ++level) add_fillings(level, values, cells);
    const std::vector<double> sums = totals(comm, plane_.pixels(), values),
                              counts = totals(comm, plane_.pixels(), cells);
    for (std::size_t p = 0; p < counts.size(); ++p)
      if (counts[p] > 0) picture[p] = sums[p] / counts[p];
  }

  void add_fillings(int level, std::vector<IndexedPortion>& values, std::vector<IndexedPortion>& counts) const {
    const ScalarView& field = field_[static_cast<std::size_t>(level)];
    const mesh::Int3 finer = plane_.bits_finer(level);
    const int power = plane_.bits_of_pixel(finest_level(field_)) - plane_.bits_of_pixel(level);
    for (int b = 0; b < field.blocks(); ++b) {
      const mesh::Box cells = cells_of(level, b);
      if (cells.is_empty()) continue;
      const mesh::Box seen = coarsened(cells, finer);
      struct Filling {
        core::CompactSum value, count;
      };
      std::vector<Filling> fillings(static_cast<std::size_t>(seen.volume()));
      core::for_each_cell(cells, [&, view = field.view(b)](int k, int j, int i) {
        Filling& filling =
            fillings[static_cast<std::size_t>(linear_index(seen, coarsened(mesh::Int3{i, j, k}, finer)))];
        filling.value.add(view(k, j, i), power);
        filling.count.add(1.0, power);
      });
      auto next = fillings.begin();
      core::for_each_cell(seen, [&](int k, int j, int i) {
        plane_.for_each_pixel({i, j, k}, {}, [&](std::int32_t row, std::int32_t column) {
          const std::int64_t pixel = std::int64_t{row} * plane_.columns() + column;
          append(values, pixel, next->value);
          append(counts, pixel, next->count);
        });
        ++next;
      });
    }
  }

  const LeafField& field_;
  const ImagePlane& plane_;
  double position_;
};

class Slice final : public Analysis {
 public:
  struct Parameters {
    std::vector<std::string> fields;
    std::string axis;
    double position = 0.5;
    std::int64_t level = 0;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Pictures of fields in a plane of cells");
    table.option("fields", &Parameters::fields, {"total_density"})
        .doc("fields to show; `total_density` is gas and dark matter");
    table.option("axis", &Parameters::axis, "z").one_of({"x", "y", "z"}).doc("axis across the plane");
    table.option("position", &Parameters::position, 0.5)
        .range(0.0, 1.0)
        .doc("where the plane cuts the axis, as a fraction of the box");
    table.option("level", &Parameters::level, -1)
        .range(-1, finest_possible_level)
        .doc("level of refinement whose cells are the pixels; -1: the finest with at most 2048 pixels a side");
    return table;
  }

  explicit Slice(Parameters parameters) : parameters_(std::move(parameters)) {}

  std::vector<std::string> fields() const override {
    std::vector<std::string> names;
    for (const std::string& name : parameters_.fields) append_new(names, names_for(name));
    return names;
  }

  void check(const mesh::Box& domain) const override { check_plane(domain, parameters_.axis, parameters_.level); }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const ImagePlane plane = plane_of(snapshot, parameters_.axis, parameters_.level);
    const auto draw = [&](mesh::Result& result, const std::string& name, const LeafField& field) {
      const PlaneOfCells cells(field, plane, parameters_.position);
      auto picture = cells.picture(comm);
      if (comm.rank() != 0) return;
      result.add(name, unit_of(snapshot, name), name + " in a plane across " + parameters_.axis, {"y", "x"},
                 {plane.rows(), plane.columns()}, std::move(picture));
      result.attributes["position"] =
          (cells.depth(plane.level) + 0.5) * snapshot.geometry.refined(plane.level).cell_size(plane.axis);
    };
    return pictures_of(comm, snapshot, plane, parameters_.fields, draw);
  }

 private:
  Parameters parameters_;
};

}  // namespace

AnalysisEntry slice_entry() {
  return entry_of<Slice>("slice");
}

}  // namespace sidestream::analysis
