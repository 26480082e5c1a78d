#include "sidestream/analysis/halos.hpp"

#include "analysis/entries.hpp"
#include "analysis/make.hpp"
#include "sidestream/analysis/density.hpp"

namespace sidestream::analysis {

namespace {

class Halos final : public Analysis {
 public:
  struct Parameters {
    std::string field, t_boundary, t_halo;
    std::int64_t connectivity = 0, min_cells = 0;
  };

  static core::Table<Parameters> table() {
    auto table =
        task_table<Parameters>("Iso-density halos: connected regions above `t_boundary` whose peak reaches `t_halo`");
    table.option("field", &Parameters::field, "total_density").doc("field in which halos are sought");
    table.option("t_boundary", &Parameters::t_boundary, "81.66 mean")
        .doc(
            "density at the boundary of a halo: a multiple of the mean (\"81.66 mean\") or a density (\"4e12\") "
            "[Msun/Mpc^3]");
    table.option("t_halo", &Parameters::t_halo, "200 mean")
        .doc("density that the highest cell of a halo reaches at least, in the same forms");
    table.option("connectivity", &Parameters::connectivity, 14)
        .doc("neighbours of a cell: 6 (faces), 14 (Freudenthal triangulation) or 26 (faces, edges and corners)");
    table.option("min_cells", &Parameters::min_cells, 1).at_least(1).doc("smaller halos are left out");
    return table;
  }

  explicit Halos(Parameters parameters)
      : parameters_(std::move(parameters)),
        t_boundary_(parse_threshold(parameters_.t_boundary)),
        t_halo_(parse_threshold(parameters_.t_halo)) {
    connectivity_of(parameters_.connectivity);
    if (t_boundary_.is_of_mean == t_halo_.is_of_mean && t_halo_.value < t_boundary_.value)
      throw core::Error("`t_halo` (" + parameters_.t_halo + ") is below `t_boundary` (" + parameters_.t_boundary + ")",
                        "", "the peak of a halo lies above its boundary: raise t_halo or lower t_boundary");
  }

  std::vector<std::string> fields() const override { return names_for(parameters_.field); }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const LeafField density = field_or_total(snapshot, parameters_.field);
    const double average = mean(comm, density, parameters_.field);
    const HaloCriteria criteria{t_boundary_.in(average), t_halo_.in(average), connectivity_of(parameters_.connectivity),
                                parameters_.min_cells};
    const auto halos = find_halos(comm, density, snapshot.geometry, criteria);
    if (comm.rank() != 0) return {};
    mesh::Result result = result_of(halos, criteria, average, unit_of(snapshot, parameters_.field));
    result.attributes["finest_level"] = std::int64_t{snapshot.finest_level()};
    return result;
  }

 private:
  template <typename T, typename F>
  static void add(mesh::Result& result, const std::vector<Halo>& halos, std::string name, std::string unit,
                  std::string text, F value) {
    std::vector<T> values;
    values.reserve(halos.size());
    for (const Halo& halo : halos) values.push_back(static_cast<T>(value(halo)));
    result.add(std::move(name), std::move(unit), std::move(text), {"halo"}, {static_cast<std::int64_t>(halos.size())},
               std::move(values));
  }
  static void add_position(mesh::Result& result, const std::vector<Halo>& halos, const std::string& prefix,
                           const std::string& what, std::array<double, 3> Halo::*member) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::string name(1, "xyz"[axis]);
      add<double>(result, halos, prefix + name, "Mpc", name + " of the " + what,
                  [=](const Halo& halo) { return (halo.*member)[axis]; });
    }
  }

  mesh::Result result_of(const std::vector<Halo>& halos, const HaloCriteria& criteria, double average,
                         const std::string& unit) const {
    mesh::Result result;
    add<std::int64_t>(result, halos, "id", "1", "linear index (z, y, x order) of the densest cell",
                      [](const Halo& h) { return h.id; });
    add_position(result, halos, "", "centroid (mean position of the cells)", &Halo::centroid);
    add<double>(result, halos, "mass", "Msun", "mass of the cells", [](const Halo& h) { return h.mass; });
    add<std::int64_t>(result, halos, "cells", "1", "number of cells", [](const Halo& h) { return h.cells; });
    add<double>(result, halos, "peak", unit, "density of the densest cell", [](const Halo& h) { return h.peak; });
    add_position(result, halos, "peak_", "densest cell", &Halo::peak_position);
    add_position(result, halos, "center_", "centre of mass", &Halo::center);
    add<std::int64_t>(result, halos, "spans_box", "1",
                      "1 where it reaches across half of the box, so that its centroid is ambiguous",
                      [](const Halo& h) { return h.spans_box; });
    result.attributes["field"] = parameters_.field;
    result.attributes["connectivity"] = parameters_.connectivity;
    result.attributes["t_boundary"] = criteria.t_boundary;
    result.attributes["t_halo"] = criteria.t_halo;
    result.attributes["mean_density"] = average;
    result.summary = std::to_string(halos.size()) + (halos.size() == 1 ? " halo" : " halos");
    return result;
  }

  Parameters parameters_;
  Threshold t_boundary_, t_halo_;
};

}  // namespace

AnalysisEntry halos_entry() {
  return entry_of<Halos>("halos");
}

}  // namespace sidestream::analysis
