#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "analysis/entries.hpp"
#include "analysis/fields/unit_names.hpp"
#include "analysis/images/image.hpp"
#include "analysis/make.hpp"
#include "analysis/statistics/totals.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

// Combines the cells of the blocks of a level of this rank along the plane's axis, one piece of the picture for all
// blocks that lie behind one another: `taker(level, block)(pixel, z, y, x)` adds a cell to a pixel, which begins as
// T(). Then calls `emit(row, column, pixel)` for each pixel of a piece.
template <typename T, typename Taker, typename Emit>
void project_level(const LeafField& leaves, int level, const ImagePlane& plane, Taker taker, Emit emit) {
  using Footprint = std::array<std::int32_t, 4>;  // rows and columns [begin, end)
  std::map<Footprint, std::vector<T>> pieces;
  const ScalarView& field = leaves[static_cast<std::size_t>(level)];
  const mesh::Int3 finer = plane.bits_finer(level), coarser = plane.bits_coarser(level);
  for (int b = 0; b < field.blocks(); ++b) {
    const mesh::Box box = coarsened(field.box(b), finer);
    const std::int32_t row0 = box.lo[plane.vertical], column0 = box.lo[plane.horizontal];
    const std::int32_t columns = box.extent()[plane.horizontal], rows = box.extent()[plane.vertical];
    auto& piece = pieces[{row0, row0 + rows, column0, column0 + columns}];
    piece.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    mesh::Int3 stride;  // from pixel to pixel in the piece
    stride[plane.horizontal] = 1;
    stride[plane.vertical] = columns;
    core::for_each_cell(field.box(b), [=, take = taker(level, b), to = piece.data(), lo = box.lo](int k, int j, int i) {
      take(to[((i >> finer.x) - lo.x) * stride.x + ((j >> finer.y) - lo.y) * stride.y +
              ((k >> finer.z) - lo.z) * stride.z],
           k, j, i);
    });
  }
  for (const auto& [footprint, piece] : pieces) {
    auto next = piece.begin();
    mesh::Int3 cell;
    for (cell[plane.vertical] = footprint[0]; cell[plane.vertical] < footprint[1]; ++cell[plane.vertical])
      for (cell[plane.horizontal] = footprint[2]; cell[plane.horizontal] < footprint[3]; ++cell[plane.horizontal]) {
        plane.for_each_pixel(cell, coarser, [&](std::int32_t row, std::int32_t column) { emit(row, column, *next); });
        ++next;
      }
  }
}

// What a sum along the line of sight counts as one: the part of a cell of the finest level, or of a pixel if that is
// smaller, that lies behind a pixel.
struct LineOfSight {
  double cells = 0.0;      // of the finest level along the line
  double cell_size = 0.0;  // of these
  int bits = 0;            // by which the cells of the finest level in a pixel are counted

  LineOfSight(const mesh::Geometry& root, const ImagePlane& plane, int finest)
      : cells(root.refined(finest).domain.extent()[plane.axis]),
        cell_size(root.refined(finest).cell_size(plane.axis)),
        bits(plane.bits_of_pixel(finest)) {}

  double total() const { return std::ldexp(cells, bits); }
};

// Sum of `values(level, block)(z, y, x)` along the plane's axis, in units of `LineOfSight`. It does not depend on how
// the cells are spread over blocks and ranks. Picture on rank 0.
template <typename Values>
std::vector<double> sum_along(const comm::Communicator& comm, const LeafField& field, const ImagePlane& plane,
                              Values values) {
  const int finest = finest_level(field);
  const auto taker = [&](int level, int block) {
    const int along = bits_between(root_domain(field), finest - level)[plane.axis];
    const int power = along + plane.bits_of_pixel(finest) - plane.bits_of_pixel(level);
    return [power, value = values(level, block)](core::CompactSum& pixel, int k, int j, int i) {
      pixel.add(value(k, j, i), power);
    };
  };
  std::vector<IndexedPortion> portions;
  for (int level = 0; level <= finest; ++level)
    project_level<core::CompactSum>(field, level, plane, taker,
                                    [&](std::int32_t row, std::int32_t column, const auto& sum) {
                                      append(portions, std::int64_t{row} * plane.columns() + column, sum);
                                    });
  return totals(comm, plane.pixels(), portions);
}

// The views of the blocks of all levels.
auto views_of(const LeafField& field) {
  return [&field](int level, int block) { return field[static_cast<std::size_t>(level)].view(block); };
}

std::vector<double> sum_of(const comm::Communicator& comm, const LeafField& field, const ImagePlane& plane) {
  return sum_along(comm, field, plane, views_of(field));
}

std::vector<double> sum_of_product(const comm::Communicator& comm, const LeafField& field, const LeafField& weight,
                                   const ImagePlane& plane) {
  return sum_along(comm, field, plane, [&](int level, int b) {
    return [f = views_of(field)(level, b), w = views_of(weight)(level, b)](int k, int j, int i) {
      return f(k, j, i) * w(k, j, i);
    };
  });
}

// The largest value behind a pixel.
struct Largest {
  double value = -std::numeric_limits<double>::infinity();
};

std::vector<double> maximum_of(const comm::Communicator& comm, const LeafField& field, const ImagePlane& plane) {
  const auto larger = [](double a, double b) { return std::max(a, b); };
  const auto taker = [&](int level, int block) {
    return [value = views_of(field)(level, block)](Largest& pixel, int k, int j, int i) {
      pixel.value = std::max(pixel.value, value(k, j, i));
    };
  };
  std::vector<Pixel<double>> pixels;
  for (int level = 0; level <= finest_level(field); ++level)
    project_level<Largest>(field, level, plane, taker,
                           [&](std::int32_t row, std::int32_t column, const Largest& pixel) {
                             pixels.push_back({row, column, pixel.value});
                           });
  return assemble(comm, plane, pixels, Largest().value, larger);
}

class Projection final : public Analysis {
 public:
  struct Parameters {
    std::vector<std::string> fields;
    std::string axis, combine, weight;
    std::int64_t level = 0;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Pictures of fields seen along an axis");
    table.option("fields", &Parameters::fields, {"total_density"})
        .doc("fields to project; `total_density` is gas and dark matter");
    table.option("axis", &Parameters::axis, "z").one_of({"x", "y", "z"}).doc("line of sight");
    table.option("combine", &Parameters::combine, "mean")
        .one_of({"mean", "integral", "max"})
        .doc(
            "what a pixel shows of the cells behind it: their (weighted) mean, the sum times the cell size, or the "
            "largest");
    table.option("weight", &Parameters::weight, "volume")
        .doc("weight of the mean: \"volume\", or a field such as \"total_density\" for mass");
    table.option("level", &Parameters::level, -1)
        .range(-1, finest_possible_level)
        .doc("level of refinement whose cells are the pixels; -1: the finest with at most 2048 pixels a side");
    return table;
  }

  explicit Projection(Parameters parameters) : parameters_(std::move(parameters)) {
    if (parameters_.weight != "volume" && parameters_.combine != "mean")
      throw core::Error(
          "the weight `" + parameters_.weight + "` has no meaning with `combine = \"" + parameters_.combine + "\"`",
          "weight", "leave `weight` out or set `combine = \"mean\"`");
  }

  std::vector<std::string> fields() const override {
    std::vector<std::string> names;
    for (const std::string& name : parameters_.fields) append_new(names, names_for(name));
    if (parameters_.weight != "volume") append_new(names, names_for(parameters_.weight));
    return names;
  }

  void check(const mesh::Box& domain) const override { check_plane(domain, parameters_.axis, parameters_.level); }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const ImagePlane plane = plane_of(snapshot, parameters_.axis, parameters_.level);
    const auto draw = [&](mesh::Result& result, const std::string& name, const LeafField& field) {
      mean(comm, field, name);  // throws unless all values are finite
      auto picture = picture_of(comm, snapshot, field, plane);
      if (comm.rank() != 0) return;
      const std::string unit = unit_of(snapshot, name);
      result.add(name, parameters_.combine == "integral" ? unit_product(unit, snapshot.length_unit) : unit,
                 description(name), {"y", "x"}, {plane.rows(), plane.columns()}, std::move(picture));
    };
    mesh::Result result = pictures_of(comm, snapshot, plane, parameters_.fields, draw);
    if (comm.rank() == 0) {
      result.attributes["combine"] = parameters_.combine;
      result.attributes["weight"] = parameters_.weight;
    }
    return result;
  }

 private:
  std::vector<double> picture_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const LeafField& field,
                                 const ImagePlane& plane) const {
    if (parameters_.combine == "max") return maximum_of(comm, field, plane);
    if (parameters_.weight != "volume") return weighted_mean(comm, snapshot, field, plane);
    const LineOfSight line(snapshot.geometry, plane, snapshot.finest_level());
    std::vector<double> picture = sum_of(comm, field, plane);
    for (double& pixel : picture)
      pixel = parameters_.combine == "mean" ? pixel / line.total() : pixel * std::ldexp(line.cell_size, -line.bits);
    return picture;
  }

  std::vector<double> weighted_mean(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                    const LeafField& field, const ImagePlane& plane) const {
    const LeafField weight = field_or_total(snapshot, parameters_.weight);
    mean(comm, weight, parameters_.weight);
    std::vector<double> picture = sum_of_product(comm, field, weight, plane);
    const std::vector<double> weights = sum_of(comm, weight, plane);
    for (std::size_t p = 0; p < picture.size(); ++p) picture[p] /= weights[p];
    return picture;
  }

  std::string description(const std::string& name) const {
    if (parameters_.combine == "max") return "largest " + name + " along " + parameters_.axis;
    if (parameters_.combine == "integral") return name + " integrated along " + parameters_.axis;
    return "mean " + name + " along " + parameters_.axis + ", weighted by " + parameters_.weight;
  }

  Parameters parameters_;
};

}  // namespace

AnalysisEntry projection_entry() {
  return entry_of<Projection>("projection");
}

}  // namespace sidestream::analysis
