#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "analysis/display/colour_map.hpp"
#include "analysis/display/plane_cells.hpp"
#include "analysis/entries.hpp"
#include "analysis/images/image.hpp"
#include "analysis/make.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/analysis/painter.hpp"

namespace sidestream::analysis {

namespace {

// The axis that has one cell: z first, as in most runs of two dimensions.
std::string flat_axis(const mesh::Box& domain) {
  const mesh::Int3 cells = domain.extent();
  return cells.z == 1 ? "z" : cells.y == 1 ? "y" : cells.x == 1 ? "x" : "";
}

class Display final : public Analysis, public Painter {
 public:
  struct Parameters {
    std::string quantity, axis, colormap, scale, tiles;
    double position = 0.5;
    std::vector<double> limits;
    bool pyramid = true, whole = false;
    std::int32_t frame = 0;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Pictures of any size: a pixel a cell, as tiles, as one file, and for a movie");
    table.option("quantity", &Parameters::quantity, "").required().doc("what the colours show");
    table.option("axis", &Parameters::axis, "")
        .one_of({"", "x", "y", "z"})
        .doc("axis across the plane; empty: that of a run in two dimensions which has one cell");
    table.option("position", &Parameters::position, 0.5)
        .range(0.0, 1.0)
        .doc("where the plane cuts the axis, as a fraction of the box");
    table.option("colormap", &Parameters::colormap, "viridis").doc("any colour map of matplotlib");
    table.option("limits", &Parameters::limits, {})
        .doc("the values of the first and the last colour; empty: the smallest and the largest so far");
    table.option("scale", &Parameters::scale, "linear")
        .one_of({"linear", "log"})
        .doc("whether colours follow the value or its logarithm");
    table.option("tiles", &Parameters::tiles, "rectangles")
        .one_of({"columns", "rectangles"})
        .doc("how the ranks that analyse share the picture");
    table.option("pyramid", &Parameters::pyramid, true)
        .doc("write tiles of all resolutions (Deep Zoom) with a page that shows them");
    table.option("whole", &Parameters::whole, false).doc("write the picture as one PNG file");
    table.option("frame", &Parameters::frame, 1920)
        .range(0, 16384)
        .doc("write it as a frame of a movie, halved until no side is longer than this; 0: no frame");
    return table;
  }

  explicit Display(Parameters parameters)
      : parameters_(std::move(parameters)),
        colours_(colour_map(parameters_.colormap, "colormap")),
        scale_(parameters_.scale == "log" ? Scale::log : Scale::linear) {
    check_limits();
    if (!parameters_.pyramid && !parameters_.whole && parameters_.frame == 0)
      throw core::Error("nothing of the picture is written", "pyramid", "set `pyramid`, `whole` or `frame`");
  }

  std::vector<std::string> fields() const override { return names_for(parameters_.quantity); }

  void check(const mesh::Box& domain) const override {
    if (parameters_.axis.empty() && flat_axis(domain).empty())
      throw core::Error("a picture shows a plane, and the box has three dimensions", "axis",
                        "say across which `axis`, and at which `position`, it is cut");
  }

  bool looks_back() const override { return parameters_.limits.empty(); }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    return run_after(comm, snapshot, {});
  }

  mesh::Result run_after(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                         const mesh::Result& earlier) const override {
    const ImagePlane plane = plane_of(snapshot);
    const PlaneCells cells(comm, snapshot, parameters_.quantity, plane, parameters_.position);
    const Limits fixed = parameters_.limits.empty() ? Limits() : Limits{parameters_.limits[0], parameters_.limits[1]};
    const PlaneContent content = cells.content(scale_, fixed);
    mesh::Result result;
    if (comm.rank() == 0)
      describe(snapshot, plane, content, fixed.are_known() ? fixed : so_far(content, earlier), result);
    return result;
  }

  std::shared_ptr<const mesh::Picture> picture(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                               const mesh::Result& found) const override {
    struct Told {
      Limits limits;
      bool is_opaque = true;
    } told;
    if (comm.rank() == 0) {
      const auto& limits = std::get<std::vector<double>>(found.column("limits").values);
      told = {{limits[0], limits[1]}, std::get<std::int64_t>(found.attributes.at("bad")) == 0};
    }
    told = comm.broadcast(told);
    const ImagePlane plane = plane_of(snapshot);
    auto picture = std::make_shared<mesh::Picture>();
    picture->name = parameters_.quantity;
    picture->columns = plane.columns();
    picture->rows = plane.rows();
    picture->is_opaque = told.is_opaque;
    picture->in_rectangles = parameters_.tiles == "rectangles";
    picture->has_pyramid = parameters_.pyramid;
    picture->is_whole = parameters_.whole;
    picture->frame_side = parameters_.frame;
    picture->step = snapshot.moment.step;
    picture->time = snapshot.moment.time;
    picture->paint =
        [cells = std::make_shared<const PlaneCells>(comm, snapshot, parameters_.quantity, plane, parameters_.position),
         colouring = Colouring(colours_, told.limits, scale_)](const mesh::Layout& parts) {
          return cells->paint(parts, colouring);
        };
    return picture;
  }

 private:
  void check_limits() const {
    const std::vector<double>& limits = parameters_.limits;
    if (limits.empty()) return;
    if (limits.size() != 2)
      throw core::Error("limits are two numbers", "limits",
                        "give `[lowest, highest]`, or `[]` for the smallest and the largest value so far");
    if (limits[0] >= limits[1])
      throw core::Error(fmt::format("the lower limit, {}, is not below the upper one, {}", limits[0], limits[1]),
                        "limits", "give the lower one first; `colormap = \"NAME_r\"` turns the colours round");
    if (scale_ == Scale::log && limits[0] <= 0.0)
      throw core::Error(fmt::format("the lower limit, {}, has no logarithm", limits[0]), "limits",
                        "take limits above 0, or `scale = \"linear\"`");
  }

  ImagePlane plane_of(const mesh::Snapshot& snapshot) const {
    const mesh::Box& domain = snapshot.geometry.domain;
    check(domain);
    return {parameters_.axis.empty() ? flat_axis(domain) : parameters_.axis, domain, snapshot.finest_level()};
  }

  static Limits so_far(const PlaneContent& content, const mesh::Result& earlier) {
    Limits limits = content.limits;
    if (!earlier.columns.empty())
      for (const double value : std::get<std::vector<double>>(earlier.column("limits").values))
        if (std::isfinite(value)) limits.take(value);
    return limits;
  }

  void describe(const mesh::Snapshot& snapshot, const ImagePlane& plane, const PlaneContent& content, Limits limits,
                mesh::Result& result) const {
    const std::string& name = parameters_.quantity;
    const std::string unit = unit_of(snapshot, name);
    const auto add = [&](const std::string& column, const std::string& what, Limits values) {
      result.add(column, unit, what, {"limit"}, {2}, std::vector<double>{values.low, values.high});
      result.columns.back().has_gaps = !values.are_known();
    };
    add("limits", "values of " + name + " with the first and the last colour", limits);
    add("extremes", "the smallest and the largest finite value in the picture", content.limits);
    result.attributes["quantity"] = name;
    result.attributes["colormap"] = parameters_.colormap;
    result.attributes["scale"] = parameters_.scale;
    result.attributes["axis"] = std::string(1, "xyz"[plane.axis]);
    result.attributes["horizontal"] = std::string(1, "xyz"[plane.horizontal]);
    result.attributes["vertical"] = std::string(1, "xyz"[plane.vertical]);
    result.attributes["columns"] = std::int64_t{plane.columns()};
    result.attributes["rows"] = std::int64_t{plane.rows()};
    result.attributes["below"] = content.below;
    result.attributes["above"] = content.above;
    result.attributes["bad"] = content.bad;
    result.summary = fmt::format("{} x {} pixels", plane.columns(), plane.rows());
    if (limits.are_known()) result.summary += fmt::format(", {:.4g} to {:.4g}", limits.low, limits.high);
  }

  Parameters parameters_;
  ColourMap colours_;
  Scale scale_;
};

}  // namespace

AnalysisEntry display_entry() {
  return entry_of<Display>("display");
}

}  // namespace sidestream::analysis
