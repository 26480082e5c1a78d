#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/at.hpp"
#include "analysis/entries.hpp"
#include "analysis/fields/levels.hpp"
#include "analysis/make.hpp"
#include "analysis/turbulence/flow.hpp"
#include "analysis/turbulence/increments.hpp"

namespace sidestream::analysis {

namespace {

constexpr std::int64_t highest_order = 12;

class StructureFunctions final : public Analysis {
 public:
  struct Parameters {
    std::vector<double> separations, orders;
    double pdf_width = 0.0;
    std::int64_t pdf_bins = 0, level = 0;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>(
        "Structure functions of the velocity along the axes of a periodic box: moments and histograms of increments");
    table.option("separations", &Parameters::separations, {})
        .at_least(1)
        .doc("in cells, at most half the box; without any 1, 2, 4, ... up to that");
    table.option("orders", &Parameters::orders, {2.0, 3.0, 4.0})
        .range(1, highest_order)
        .doc("powers of the increments whose means are taken");
    DeviationBins::add_to(table);
    table.option("level", &Parameters::level, 0)
        .range(0, finest_possible_level)
        .doc("level of refinement whose cells make the grid: finer ones are averaged, coarser ones fill all of theirs");
    return table;
  }

  explicit StructureFunctions(Parameters parameters)
      : parameters_(std::move(parameters)),
        separations_(whole(parameters_.separations, "separations")),
        orders_(whole(parameters_.orders, "orders")) {
    if (orders_.empty()) throw core::Error("there is no order of structure functions", "orders", "use [2, 3, 4]");
  }

  std::vector<std::string> fields() const override { return {velocity_names.begin(), velocity_names.end()}; }

  void check(const mesh::Box& domain) const override {
    check_flow(domain);
    const int level = static_cast<int>(parameters_.level);
    check_covering_grid(domain, level);
    separations_in(refined(domain, bits_between(domain, level)));
  }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    check_flow(snapshot);
    const int level = static_cast<int>(parameters_.level);
    const CoveringGrid grid(comm, snapshot.levels, level);
    const mesh::Geometry geometry = snapshot.geometry.refined(level);
    const std::array velocity{finite_field(comm, snapshot, grid, velocity_names[0]),
                              finite_field(comm, snapshot, grid, velocity_names[1]),
                              finite_field(comm, snapshot, grid, velocity_names[2])};
    Table measured{separations_in(geometry.domain), {}, {}};
    IncrementCounter counter(comm, velocity,
                             {measured.separations, std::max(2, *std::ranges::max_element(orders_)), bins()});
    for (int axis = 0; axis < 3; ++axis)
      if (geometry.domain.extent()[axis] > 1) {
        measured.axes.push_back(axis);
        measured.increments.push_back(counter.along(axis));
      }
    const IncrementDensities densities = counter.densities();
    if (comm.rank() != 0) return {};

    mesh::Result result;
    const FlowUnits units(snapshot);
    add_separations(result, measured, geometry, units);
    for (const int order : orders_) add_order(result, measured, geometry, units, order);
    if (bins().count > 0) add_densities(result, measured, densities);
    result.attributes["level"] = parameters_.level;
    result.summary = fmt::format("{} separations", measured.separations.size());
    return result;
  }

 private:
  struct Table {
    std::vector<std::int32_t> separations;
    std::vector<std::int64_t> axes;
    std::vector<Increments> increments;  // along each of the axes
  };

  DeviationBins bins() const { return {parameters_.pdf_width, parameters_.pdf_bins}; }

  static std::vector<std::int32_t> whole(const std::vector<double>& numbers, const char* key) {
    std::vector<std::int32_t> all;
    for (const double number : numbers) {
      if (number != std::floor(number) || number > 1e9)
        throw core::Error(fmt::format("{} is no whole number", number), key, "use whole numbers");
      all.push_back(static_cast<std::int32_t>(number));
    }
    return all;
  }

  // Those of the configuration, or powers of two.
  std::vector<std::int32_t> separations_in(const mesh::Box& domain) const {
    std::int32_t shortest = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (const std::int32_t cells = domain.extent()[axis]; cells > 1)
        shortest = shortest == 0 ? cells : std::min(shortest, cells);
    std::vector<std::int32_t> separations = separations_;
    if (separations.empty())
      for (std::int32_t cells = 1; 2 * cells <= shortest; cells *= 2) separations.push_back(cells);
    for (const std::int32_t cells : separations)
      if (2 * cells > shortest)
        throw core::Error(fmt::format("a separation of {} cells is more than half of the box of {}", cells, shortest),
                          "separations", fmt::format("use at most {}", shortest / 2));
    return separations;
  }

  static void add_separations(mesh::Result& result, const Table& table, const mesh::Geometry& geometry,
                              const FlowUnits& units) {
    const auto axes = static_cast<std::int64_t>(table.axes.size()),
               count = static_cast<std::int64_t>(table.separations.size());
    std::vector<double> lengths;
    for (const std::int64_t axis : table.axes)
      for (const std::int32_t cells : table.separations)
        lengths.push_back(cells * geometry.cell_size(static_cast<int>(axis)));
    result.add("axis", "1", "axis of the separation: 0, 1, 2 for x, y, z", {"axis"}, {axes}, table.axes);
    result.add("separation_cells", "1", "separation in cells", {"separation_bin"}, {count},
               std::vector<std::int64_t>(table.separations.begin(), table.separations.end()));
    result.add("separation", units.length, "separation along the axis", {"axis", "separation_bin"}, {axes, count},
               std::move(lengths));
  }

  static bool has_cubic_cells(const Table& table, const mesh::Geometry& geometry) {
    const double first = geometry.cell_size(static_cast<int>(table.axes.front()));
    constexpr double round_off = 1e-12;
    return std::ranges::all_of(table.axes, [&](std::int64_t axis) {
      return std::fabs(geometry.cell_size(static_cast<int>(axis)) / first - 1.0) < round_off;
    });
  }

  static void add_order(mesh::Result& result, const Table& table, const mesh::Geometry& geometry,
                        const FlowUnits& units, int order) {
    const struct {
      const char *name, *meaning;
      std::vector<std::vector<double>> Increments::*means;
    } kinds[] = {{"longitudinal", "the velocity along the axis", &Increments::longitudinal},
                 {"transverse", "the velocities across the axis", &Increments::transverse}};
    const auto axes = static_cast<std::int64_t>(table.axes.size()),
               count = static_cast<std::int64_t>(table.separations.size());
    for (const auto& [name, meaning, means] : kinds) {
      std::vector<double> values, mean(at(count));
      for (const Increments& increments : table.increments)
        for (std::size_t n = 0; n < at(count); ++n) {
          values.push_back((increments.*means)[n][at(order - 1)]);
          mean[n] += values.back() / static_cast<double>(axes);
        }
      const std::string what = fmt::format("mean of the power {} of increments of {}", order, meaning);
      result.add(fmt::format("{}_{}", name, order), units.of(order, 0), what, {"axis", "separation_bin"}, {axes, count},
                 std::move(values));
      if (has_cubic_cells(table, geometry))
        result.add(fmt::format("mean_{}_{}", name, order), units.of(order, 0), what + ", over the axes",
                   {"separation_bin"}, {count}, std::move(mean));
    }
  }

  void add_densities(mesh::Result& result, const Table& table, const IncrementDensities& densities) const {
    const std::int64_t count = parameters_.pdf_bins;
    std::vector<double> centers;
    for (std::int64_t bin = 0; bin < count; ++bin) centers.push_back(bins().center(bin));
    result.add("deviation", "1", "middle of the bin, in standard deviations", {"deviation_bin"}, {count},
               std::move(centers));
    const auto add = [&](const char* name, const char* meaning, const std::vector<std::vector<double>>& rows) {
      std::vector<double> values;
      for (const std::vector<double>& row : rows) values.insert(values.end(), row.begin(), row.end());
      result.add(name, "1", meaning, {"separation_bin", "deviation_bin"},
                 {static_cast<std::int64_t>(table.separations.size()), count}, std::move(values));
    };
    add("longitudinal_pdf", "probability density of increments along the axis over their standard deviation",
        densities.longitudinal);
    add("transverse_pdf", "probability density of increments across the axis over their standard deviation",
        densities.transverse);
  }

  Parameters parameters_;
  std::vector<std::int32_t> separations_, orders_;
};

}  // namespace

AnalysisEntry structure_functions_entry() {
  return entry_of<StructureFunctions>("structure_functions");
}

}  // namespace sidestream::analysis
