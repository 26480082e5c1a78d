#include "analysis/regions/region_table.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/at.hpp"
#include "analysis/fields/unit_names.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

constexpr const char* track_column = "track";
constexpr const char* next_track_attribute = "next_track";

class Columns {
 public:
  Columns(const RegionTable& table, mesh::Result& result) : table_(table), result_(result) {}

  template <typename T, typename F>
  void add(const std::string& name, const std::string& unit, const std::string& text, F value) {
    std::vector<T> values;
    for (std::size_t row = 0; row < table_.regions.size(); ++row)
      values.push_back(static_cast<T>(value(table_.regions[row], row)));
    const auto rows = std::ssize(values);
    result_.add(name, unit, text, {"region"}, {rows}, std::move(values));
  }
  // One column each for x, y, z.
  template <typename T, typename F>
  void add_axes(const std::string& prefix, const std::string& unit, const std::string& what, F value) {
    for (int axis = 0; axis < 3; ++axis) {
      const std::string name(1, "xyz"[axis]);
      add<T>(prefix + name, unit, name + " of the " + what,
             [&](const Region& region, std::size_t) { return value(region, axis); });
    }
  }

 private:
  const RegionTable& table_;
  mesh::Result& result_;
};

void add_place(Columns& columns, const std::string& length) {
  columns.add_axes<double>("", length, "centre: the mean position of its cells, by volume",
                           [](const Region& region, int axis) { return region.shape.centroid[at(axis)]; });
  columns.add_axes<std::int64_t>("low_", "1", "first cell of its bounding box, on the grid of the finest level",
                                 [](const Region& region, int axis) { return region.low[axis]; });
  columns.add_axes<std::int64_t>("high_", "1",
                                 "end of that box, which lies beyond the domain where it crosses a periodic boundary",
                                 [](const Region& region, int axis) { return region.high[axis]; });
  columns.add<std::int64_t>("spans_box", "1",
                            "1 where it reaches across half of the box, so that its centre is ambiguous",
                            [](const Region& region, std::size_t) { return region.shape.spans_box; });
}

void add_measured(Columns& columns, const RegionTable& table, const RegionColumns& about) {
  const std::string volume = unit_power(about.length_unit, 3);
  for (std::size_t q = 0; q < about.measured.size(); ++q) {
    const auto& [name, unit] = about.measured[q];
    const auto sum = [&table, q](std::size_t row) -> const RegionSum& {
      return table.sums[q * table.regions.size() + row];
    };
    const double cell = about.root_cell_volume;
    columns.add<double>(
        name + "_mean", unit, "mean of `" + name + "` over its volume",
        [&](const Region& region, std::size_t row) { return sum(row).total * cell / region.shape.volume; });
    columns.add<double>(name + "_integral", unit_product(unit, volume), "sum of `" + name + "` times volume",
                        [&](const Region&, std::size_t row) { return sum(row).total * cell; });
    columns.add<double>(name + "_min", unit, "least `" + name + "` in it",
                        [&](const Region&, std::size_t row) { return sum(row).least; });
    columns.add<double>(name + "_max", unit, "largest `" + name + "` in it",
                        [&](const Region&, std::size_t row) { return sum(row).most; });
  }
}

const std::vector<std::int64_t>& integers_in(const mesh::Result& result, const std::string& name) {
  const auto* values = std::get_if<std::vector<std::int64_t>>(&result.column(name).values);
  if (values == nullptr)
    throw core::Error("the column `" + name + "` is not one of integers", "regions of an earlier step",
                      "remove that result, or do not link");
  return *values;
}

bool has_tracks(const mesh::Result& result) {
  return std::ranges::find(result.columns, track_column, &mesh::Column::name) != result.columns.end();
}

}  // namespace

RegionTable gathered(const comm::Communicator& comm, const std::vector<Region>& mine,
                     const std::vector<RegionSum>& sums, std::size_t quantities) {
  std::vector<RegionSum> by_region;  // those of a region side by side
  for (const Region& region : mine)
    for (std::size_t q = 0; q < quantities; ++q)
      by_region.push_back(sums[q * (sums.size() / quantities) + at(region.position_own)]);
  const std::vector<Region> all = comm.gather(std::span<const Region>(mine));
  const std::vector<RegionSum> of_all = comm.gather(std::span<const RegionSum>(by_region));
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t row) { return std::tuple(-all[row].shape.volume, all[row].shape.id); };
  std::ranges::sort(order, {}, key);
  RegionTable table;
  for (const std::size_t row : order) table.regions.push_back(all[row]);
  for (std::size_t q = 0; q < quantities; ++q)
    for (const std::size_t row : order) table.sums.push_back(of_all[row * quantities + q]);
  return table;
}

void add_columns(const RegionTable& table, const RegionColumns& about, mesh::Result& result) {
  Columns columns(table, result);
  const std::string& length = about.length_unit;
  columns.add<std::int64_t>("id", "1", "linear index (z, y, x order) of the cell with its extreme",
                            [](const Region& region, std::size_t) { return region.shape.id; });
  add_place(columns, length);
  columns.add<std::int64_t>("cells", "1", "number of its cells",
                            [](const Region& region, std::size_t) { return region.shape.cells; });
  columns.add<double>("volume", unit_power(length, 3), "volume of its cells",
                      [](const Region& region, std::size_t) { return region.shape.volume; });
  columns.add<double>("extreme", about.extreme_unit, "`" + about.extreme + "` where its magnitude is largest",
                      [](const Region& region, std::size_t) { return region.extreme; });
  columns.add_axes<double>("extreme_", length, "cell with its extreme",
                           [](const Region& region, int axis) { return region.shape.peak_position[at(axis)]; });
  add_measured(columns, table, about);
}

void add_columns(const Tracks& tracks, mesh::Result& result) {
  const auto regions = std::ssize(tracks.track);
  result.add(track_column, "1", "number of the region through time", {"region"}, {regions}, tracks.track);
  result.add("from_track", "1", "the same where it goes on, the track that it split from, or -1 where it begins",
             {"region"}, {regions}, tracks.from);
  std::vector<std::int64_t> ended, into;
  for (const Tracks::End& end : tracks.ended) {
    ended.push_back(end.track);
    into.push_back(end.into);
  }
  const auto ends = std::ssize(ended);
  result.add("ended_track", "1", "a track that goes on no more since the result before", {"ended"}, {ends},
             std::move(ended));
  result.add("ended_into", "1", "the track that it merged into, or -1 where it vanished", {"ended"}, {ends},
             std::move(into));
  result.attributes["births"] = tracks.births();
  result.attributes["splits"] = tracks.splits();
  result.attributes["deaths"] = tracks.deaths();
  result.attributes["mergers"] = tracks.mergers();
  result.attributes[next_track_attribute] = tracks.next;
}

Tracked tracked_in(const mesh::Result& result) {
  if (!has_tracks(result)) return {};
  Tracked known{integers_in(result, "id"), integers_in(result, track_column)};
  if (known.ids.size() != known.tracks.size())
    throw core::Error("there are not as many ids as tracks", "regions of an earlier step",
                      "remove that result, or do not link");
  return known;
}

std::int64_t next_track(const mesh::Result& result) {
  const auto found = result.attributes.find(next_track_attribute);
  const auto* number = found == result.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return number == nullptr ? 0 : *number;
}

}  // namespace sidestream::analysis
