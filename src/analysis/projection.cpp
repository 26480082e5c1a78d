#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "analysis/entries.hpp"
#include "analysis/fixed_point.hpp"
#include "analysis/image.hpp"
#include "analysis/make.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

// Combines `values(block)(z, y, x)` along the plane's axis within the blocks of this rank, one piece of the picture for
// all blocks that lie behind one another.
template <typename T, typename Values, typename Combine>
std::vector<Pixel<T>> project_blocks(const mesh::Field<double>& field, const ImagePlane& plane, T initial,
                                     Values values, Combine combine) {
  using Footprint = std::array<std::int32_t, 4>;  // rows and columns [begin, end)
  std::map<Footprint, std::vector<T>> pieces;
  for (int b = 0; b < field.blocks(); ++b) {
    const mesh::Box& box = field.box(b);
    const std::int32_t row0 = plane.row_of(box.lo), column0 = plane.column_of(box.lo);
    const std::int32_t columns = box.extent()[plane.horizontal], rows = box.extent()[plane.vertical];
    auto& piece = pieces[{row0, row0 + rows, column0, column0 + columns}];
    piece.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), initial);
    mesh::Int3 stride;  // from cell to cell in the piece
    stride[plane.horizontal] = 1;
    stride[plane.vertical] = columns;
    const auto value = values(b);
    core::for_each_cell(box, [=, to = piece.data(), lo = box.lo](int k, int j, int i) {
      T& pixel = to[(i - lo.x) * stride.x + (j - lo.y) * stride.y + (k - lo.z) * stride.z];
      pixel = combine(pixel, value(k, j, i));
    });
  }
  std::vector<Pixel<T>> pixels;
  for (const auto& [footprint, piece] : pieces) {
    auto next = piece.begin();
    for (std::int32_t row = footprint[0]; row < footprint[1]; ++row)
      for (std::int32_t column = footprint[2]; column < footprint[3]; ++column)
        pixels.push_back({row, column, *next++});
  }
  return pixels;
}

// Sum of `values(block)(z, y, x)`, of magnitude up to `largest`, along the plane's axis. It does not depend on how the
// cells are spread over blocks and ranks: terms are integers. Picture on rank 0.
template <typename Values>
std::vector<double> sum_along(const comm::Communicator& comm, const mesh::Field<double>& field, const ImagePlane& plane,
                              double largest, Values values) {
  const FixedPoint fixed(largest);
  const auto add = [](Int128 a, Int128 b) { return a + b; };
  const auto terms = [&](int block) {
    return [fixed, value = values(block)](int k, int j, int i) { return fixed.of(value(k, j, i)); };
  };
  const auto pixels = project_blocks(field, plane, Int128{0}, terms, add);
  std::vector<double> picture;
  for (const Int128 sum : assemble(comm, plane, pixels, Int128{0}, add)) picture.push_back(fixed.value(sum));
  return picture;
}

std::vector<double> sum_of(const comm::Communicator& comm, const mesh::Field<double>& field, const ImagePlane& plane) {
  return sum_along(comm, field, plane, largest_magnitude(comm, field), [&](int b) { return field.view(b); });
}

std::vector<double> sum_of_product(const comm::Communicator& comm, const mesh::Field<double>& field,
                                   const mesh::Field<double>& weight, const ImagePlane& plane) {
  const double largest = largest_magnitude(comm, field) * largest_magnitude(comm, weight);
  return sum_along(comm, field, plane, largest, [&](int b) {
    return [f = field.view(b), w = weight.view(b)](int k, int j, int i) { return f(k, j, i) * w(k, j, i); };
  });
}

std::vector<double> maximum_of(const comm::Communicator& comm, const mesh::Field<double>& field,
                               const ImagePlane& plane) {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  const auto larger = [](double a, double b) { return std::max(a, b); };
  const auto values = [&](int b) { return field.view(b); };
  return assemble(comm, plane, project_blocks(field, plane, lowest, values, larger), lowest, larger);
}

class Projection final : public Analysis {
 public:
  struct Parameters {
    std::vector<std::string> fields;
    std::string axis, combine, weight;
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
    return table;
  }

  explicit Projection(Parameters parameters) : parameters_(std::move(parameters)) {
    if (parameters_.weight != "volume" && parameters_.combine != "mean")
      throw core::Error(
          "the weight `" + parameters_.weight + "` has no meaning with `combine = \"" + parameters_.combine + "\"`", "",
          "leave `weight` out or set `combine = \"mean\"`");
  }

  std::vector<std::string> fields() const override {
    std::vector<std::string> names;
    for (const std::string& name : parameters_.fields) append_new(names, names_for(name));
    if (parameters_.weight != "volume") append_new(names, names_for(parameters_.weight));
    return names;
  }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const ImagePlane plane(parameters_.axis, snapshot.geometry.domain);
    mesh::Result result;
    if (comm.rank() == 0) add_axes(result, plane, snapshot.geometry);
    for (const std::string& name : parameters_.fields) {
      const SharedField field = field_or_total(snapshot, name);
      mean(comm, *field, name);  // throws unless all values are finite
      auto picture = picture_of(comm, snapshot, *field, plane);
      if (comm.rank() != 0) continue;
      const std::string unit = unit_of(snapshot, name);
      result.add(name, parameters_.combine == "integral" ? unit + " Mpc" : unit, description(name), {"y", "x"},
                 {plane.rows(), plane.columns()}, std::move(picture));
    }
    if (comm.rank() == 0) {
      result.attributes["combine"] = parameters_.combine;
      result.attributes["weight"] = parameters_.weight;
      result.summary = std::to_string(plane.columns()) + " x " + std::to_string(plane.rows()) + " pixels";
    }
    return result;
  }

 private:
  std::vector<double> picture_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                 const mesh::Field<double>& field, const ImagePlane& plane) const {
    if (parameters_.combine == "max") return maximum_of(comm, field, plane);
    if (parameters_.weight != "volume") return weighted_mean(comm, snapshot, field, plane);
    const double cells = plane.domain.extent()[plane.axis];
    std::vector<double> picture = sum_of(comm, field, plane);
    for (double& pixel : picture)
      pixel = parameters_.combine == "mean" ? pixel / cells : pixel * snapshot.geometry.cell_size(plane.axis);
    return picture;
  }

  std::vector<double> weighted_mean(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                    const mesh::Field<double>& field, const ImagePlane& plane) const {
    const SharedField weight = field_or_total(snapshot, parameters_.weight);
    mean(comm, *weight, parameters_.weight);
    std::vector<double> picture = sum_of_product(comm, field, *weight, plane);
    const std::vector<double> weights = sum_of(comm, *weight, plane);
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
