#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "analysis/at.hpp"
#include "analysis/entries.hpp"
#include "analysis/fields/unit_names.hpp"
#include "analysis/halo_measures/halo_parts.hpp"
#include "analysis/halo_measures/halo_properties.hpp"
#include "analysis/links/links.hpp"
#include "analysis/make.hpp"
#include "analysis/regions/cut_out.hpp"
#include "analysis/regions/region_table.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/cell_condition.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

mesh::CellCondition condition_of(const std::string& text) {
  try {
    return {text, "condition"};
  } catch (const core::Error& error) {
    throw core::Error(fmt::format("{} ({})", error.message(), error.where()), "condition", error.hint());
  }
}

// The snapshot of `rank` with the quantities `names`, of which sums may not have been sent.
mesh::Snapshot with_sums(const mesh::Snapshot& snapshot, int rank, const std::vector<std::string>& names) {
  mesh::Snapshot known = snapshot;
  known.rank = rank;
  for (const std::string& name : names)
    if (!snapshot.has(name))
      known.add({name, unit_of(snapshot, name)},
                [field = field_or_total(snapshot, name)](int level) -> mesh::AnyField { return field[at(level)]; });
  return known;
}

std::string percent_of_bytes(double share) {
  return fmt::format("{:.3g} % of the bytes saved", 100.0 * share);
}

class Regions final : public Analysis {
 public:
  struct Parameters {
    std::string condition, extreme;
    std::vector<std::string> measure, save;
    std::int64_t connectivity = 0, min_cells = 0;
    std::int32_t margin = 0;
    bool link = true;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>(
        "Regions: connected cells in which a condition holds, followed through time; only these are saved");
    table.option("condition", &Parameters::condition, "")
        .required()
        .doc(
            "what holds in the cells of a region: comparisons of quantities, with + - * /, functions, `and`, `or` and "
            "`not`, as in `[quantity.NAME]`");
    table.option("extreme", &Parameters::extreme, "")
        .doc("quantity whose largest magnitude names a region; empty: the first that the condition names");
    table.option("measure", &Parameters::measure, {})
        .doc("quantities whose mean, integral, least and largest value in each region are found");
    table.option("save", &Parameters::save, {})
        .doc("quantities whose cells in and around regions are saved, in full precision");
    table.option("margin", &Parameters::margin, 2)
        .at_least(0)
        .doc("cells around a region that are saved with it, in all directions");
    table.option("connectivity", &Parameters::connectivity, 26)
        .doc("neighbours of a cell: 6 (faces), 14 (Freudenthal triangulation) or 26 (faces, edges and corners)");
    table.option("min_cells", &Parameters::min_cells, 1).at_least(1).doc("smaller regions are left out");
    table.option("link", &Parameters::link, true)
        .doc("whether to find out which region of the result before became which of these");
    return table;
  }

  explicit Regions(Parameters parameters)
      : parameters_(std::move(parameters)), condition_(condition_of(parameters_.condition)) {
    connectivity_of(parameters_.connectivity);
    if (condition_.of().empty())
      throw core::Error("the condition names no quantity, so that it holds everywhere or nowhere", "condition",
                        "compare a quantity with a number: `density > 2`");
    if (parameters_.extreme.empty()) parameters_.extreme = condition_.of().front();
  }

  std::vector<std::string> fields() const override {
    std::vector<std::string> names;
    for (const auto* some : {&condition_.of(), &parameters_.measure, &parameters_.save})
      for (const std::string& name : *some) append_new(names, names_for(name));
    append_new(names, names_for(parameters_.extreme));
    return names;
  }

  void check(const mesh::Box& domain) const override {
    const Int3 cells = domain.extent();
    for (int axis = 0; axis < 3; ++axis)
      if (cells[axis] > 1 && parameters_.margin > cells[axis])
        throw core::Error(fmt::format("a margin of {} cells is wider than the box, which has {} along {}",
                                      parameters_.margin, cells[axis], "xyz"[axis]),
                          "", "take a smaller `margin`");
  }

  bool looks_back() const override { return parameters_.link; }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    return run_after(comm, snapshot, {});
  }

  mesh::Result run_after(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                         const mesh::Result& earlier) const override {
    comm.agree_on([&] { check_names(snapshot); });
    require_numbers(comm, snapshot);
    const LeafField heights = heights_of(comm, snapshot);
    const HaloRuns runs = runs_of(comm, heights);
    const HaloFrame frame(heights, snapshot.geometry);
    const Own own = own_regions(comm, snapshot, runs, frame);
    const Members members = members_of(comm, runs, frame, own.kept, {});
    const RegionTable table = gathered(comm, own.regions, own.sums, parameters_.measure.size());
    mesh::Result result;
    if (comm.rank() == 0) add_columns(table, columns_for(snapshot), result);
    if (parameters_.link) link(comm, members, heights, snapshot, table, earlier, result);
    const double share = save(comm, snapshot, members, result);
    if (comm.rank() == 0) describe(table, share, result);
    return result;
  }

 private:
  // The regions whose peaks this rank has; `kept` are their ids, ascending.
  struct Own {
    std::vector<Region> regions;
    std::vector<RegionSum> sums;
    std::vector<std::int64_t> kept;
  };

  void check_names(const mesh::Snapshot& snapshot) const {
    std::vector<std::string> known = mesh::names_of(snapshot.quantities());
    append_new(known, condition_.of());
    condition_.check(known, snapshot.moment.redshift().has_value());
  }

  void require_numbers(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const {
    std::vector<std::string> names = condition_.of();
    append_new(names, parameters_.measure);
    append_new(names, {parameters_.extreme});
    for (const std::string& name : names) comm.agree(first_bad_cell(field_or_total(snapshot, name), name));
  }

  // The magnitude where the condition holds, -1 elsewhere: cells at or above 0 are those of regions.
  LeafField heights_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const {
    const LeafField values = field_or_total(snapshot, parameters_.extreme);
    LeafField heights;
    for (mesh::Field<double>& holds :
         condition_.holds(with_sums(snapshot, comm.rank(), condition_.of()), snapshot.levels.front().domain())) {
      const ScalarView& value = values[heights.size()];
      for (int b = 0; b < holds.blocks(); ++b)
        core::for_each_cell(holds.box(b), [out = holds.view(b), from = value.view(b)](int k, int j, int i) {
          out(k, j, i) = out(k, j, i) != 0.0 ? std::fabs(from(k, j, i)) : -1.0;
        });
      heights.push_back(ScalarView(std::make_shared<const mesh::Field<double>>(std::move(holds))));
    }
    return heights;
  }

  HaloRuns runs_of(const comm::Communicator& comm, const LeafField& heights) const {
    const MergeTree tree(comm, heights, {connectivity_of(parameters_.connectivity), Sets::above, 0.0});
    return {comm, tree, 0.0, 0.0};
  }

  Own own_regions(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const HaloRuns& runs,
                  const HaloFrame& frame) const {
    const HaloMeasures nothing_more;
    const LeafField values = field_or_total(snapshot, parameters_.extreme);
    std::vector<std::int64_t> peaks;
    Own own;
    for (const HaloPart& part : halo_parts(comm, {runs, frame, nothing_more, {}})) {
      const auto position = static_cast<std::int64_t>(peaks.size());
      peaks.push_back(part.extent.peak.cell);
      if (part.extent.cells < parameters_.min_cells) continue;
      own.kept.push_back(part.extent.peak.cell);
      own.regions.push_back(region_of(part, frame, values));
      own.regions.back().position_own = position;
    }
    std::vector<LeafField> measured;
    for (const std::string& name : parameters_.measure) measured.push_back(field_or_total(snapshot, name));
    own.sums = region_sums(comm, runs, frame, measured, peaks);
    return own;
  }

  static Region region_of(const HaloPart& part, const HaloFrame& frame, const LeafField& values) {
    Region region;
    region.shape = halo_of(part, frame, 1.0);
    const Int3 corner = frame.cell_of(part.extent.peak.cell), n = frame.finest().domain.extent();
    const int level = frame.level_of(corner);
    const Int3 cell = coarsened(corner, frame.bits(level));
    const ScalarView& value = values[at(level)];
    const int block = block_of(value.layout(), value.rank(), value.layout().find(cell));
    region.extreme = value.view(block)(cell.z, cell.y, cell.x);
    region.low = corner + part.extent.low;
    region.high = corner + part.extent.high;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int32_t inside = mesh::wrapped(region.low[axis], n[axis]), shift = inside - region.low[axis];
      region.low[axis] += shift;
      region.high[axis] += shift;
    }
    return region;
  }

  RegionColumns columns_for(const mesh::Snapshot& snapshot) const {
    RegionColumns columns{parameters_.extreme,
                          unit_of(snapshot, parameters_.extreme),
                          snapshot.length_unit,
                          {},
                          snapshot.geometry.cell_volume()};
    for (const std::string& name : parameters_.measure) columns.measured.push_back({name, unit_of(snapshot, name)});
    return columns;
  }

  void link(const comm::Communicator& comm, const Members& members, const LeafField& heights,
            const mesh::Snapshot& snapshot, const RegionTable& table, const mesh::Result& earlier,
            mesh::Result& result) const {
    const LinkedKind kind{"region", unit_power(snapshot.length_unit, 3)};
    const std::vector<TimeLink> links = add_members_and_links(comm, kind, members, heights, snapshot, earlier, result);
    comm.agree_on([&] {
      if (comm.rank() != 0) return;
      std::vector<std::int64_t> ids;
      for (const Region& region : table.regions) ids.push_back(region.shape.id);
      add_columns(tracks_of(links, tracked_in(earlier), ids, next_track(earlier)), result);
    });
  }

  // The share of the bytes that are saved.
  double save(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const Members& members,
              mesh::Result& result) const {
    if (parameters_.save.empty()) return 0.0;
    const CutOut cut = cut_out(comm, snapshot, members.runs, parameters_.margin, parameters_.save);
    result.cut_out = cut.snapshot;
    std::int64_t all = 0;
    for (const mesh::Layout& level : snapshot.levels)
      for (const mesh::Box& box : level.boxes()) all += box.volume();
    if (comm.rank() == 0) {
      const std::int64_t bytes_a_cell = std::ssize(parameters_.save) * std::int64_t{sizeof(double)};
      result.attributes["saved_cells"] = cut.cells;
      result.attributes["saved_bytes"] = cut.cells * bytes_a_cell;
      result.attributes["whole_bytes"] = all * bytes_a_cell;
      result.attributes["saved_share"] = static_cast<double>(cut.cells) / static_cast<double>(all);
    }
    return static_cast<double>(cut.cells) / static_cast<double>(all);
  }

  void describe(const RegionTable& table, double share, mesh::Result& result) const {
    result.attributes["condition"] = parameters_.condition;
    result.attributes["extreme"] = parameters_.extreme;
    result.attributes["connectivity"] = parameters_.connectivity;
    result.attributes["margin"] = std::int64_t{parameters_.margin};
    const std::size_t count = table.regions.size();
    result.summary = fmt::format("{} region{}", count == 0 ? "no" : std::to_string(count), count == 1 ? "" : "s");
    if (!parameters_.save.empty()) result.summary += ", " + percent_of_bytes(share);
  }

  Parameters parameters_;
  mesh::CellCondition condition_;
};

}  // namespace

AnalysisEntry regions_entry() {
  return entry_of<Regions>("regions");
}

}  // namespace sidestream::analysis
