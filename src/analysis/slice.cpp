#include <cmath>

#include "analysis/entries.hpp"
#include "analysis/image.hpp"
#include "analysis/make.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

class Slice final : public Analysis {
 public:
  struct Parameters {
    std::vector<std::string> fields;
    std::string axis;
    double position = 0.5;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Pictures of fields in a plane of cells");
    table.option("fields", &Parameters::fields, {"total_density"})
        .doc("fields to show; `total_density` is gas and dark matter");
    table.option("axis", &Parameters::axis, "z").one_of({"x", "y", "z"}).doc("axis across the plane");
    table.option("position", &Parameters::position, 0.5)
        .range(0.0, 1.0)
        .doc("where the plane cuts the axis, as a fraction of the box");
    return table;
  }

  explicit Slice(Parameters parameters) : parameters_(std::move(parameters)) {}

  std::vector<std::string> fields() const override {
    std::vector<std::string> names;
    for (const std::string& name : parameters_.fields) append_new(names, names_for(name));
    return names;
  }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const ImagePlane plane(parameters_.axis, snapshot.geometry.domain);
    const std::int32_t depth = depth_of(plane);
    mesh::Result result;
    if (comm.rank() == 0) add_axes(result, plane, snapshot.geometry);
    for (const std::string& name : parameters_.fields) {
      auto picture = picture_of(comm, *field_or_total(snapshot, name), plane, depth);
      if (comm.rank() != 0) continue;
      result.add(name, unit_of(snapshot, name), name + " in a plane across " + parameters_.axis, {"y", "x"},
                 {plane.rows(), plane.columns()}, std::move(picture));
    }
    if (comm.rank() == 0) {
      result.attributes["position"] = (depth + 0.5) * snapshot.geometry.cell_size(plane.axis);
      result.summary = std::to_string(plane.columns()) + " x " + std::to_string(plane.rows()) + " pixels";
    }
    return result;
  }

 private:
  // The plane of cells that holds the position.
  std::int32_t depth_of(const ImagePlane& plane) const {
    const std::int32_t n = plane.domain.extent()[plane.axis];
    return plane.domain.lo[plane.axis] +
           std::min(n - 1, static_cast<std::int32_t>(std::floor(parameters_.position * n)));
  }

  static std::vector<double> picture_of(const comm::Communicator& comm, const mesh::Field<double>& field,
                                        const ImagePlane& plane, std::int32_t depth) {
    std::vector<Pixel<double>> pixels;
    for (int b = 0; b < field.blocks(); ++b) {
      mesh::Box cells = field.box(b);
      cells.lo[plane.axis] = std::max(cells.lo[plane.axis], depth);
      cells.hi[plane.axis] = std::min(cells.hi[plane.axis], depth + 1);
      const auto view = field.view(b);
      core::for_each_cell(cells, [&](int k, int j, int i) {
        pixels.push_back({plane.row_of({i, j, k}), plane.column_of({i, j, k}), view(k, j, i)});
      });
    }
    return assemble(comm, plane, pixels, 0.0, [](double, double value) { return value; });
  }

  Parameters parameters_;
};

}  // namespace

AnalysisEntry slice_entry() {
  return entry_of<Slice>("slice");
}

}  // namespace sidestream::analysis
