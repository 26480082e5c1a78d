#include <algorithm>

#include "analysis/entries.hpp"
#include "analysis/fixed_point.hpp"
#include "analysis/log_bins.hpp"
#include "analysis/make.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

// Cells and mass in each bin of temperature (slow) and density (fast); `outside` for the cells in none.
struct PhaseTable {
  std::vector<std::int64_t> count;
  std::vector<Int128> mass;
  std::int64_t outside = 0;
};

class Phase final : public Analysis {
 public:
  struct Parameters {
    std::string temperature, density;
    double temperature_low = 0.0, temperature_high = 0.0, density_low = 0.0, density_high = 0.0;
    std::int64_t temperature_bins = 0, density_bins = 0;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Phase diagram: cells and mass by temperature and gas overdensity");
    table.option("density", &Parameters::density, "gas_density").doc("field of the density");
    table.option("density_low", &Parameters::density_low, 1e-3).doc("low edge of the first density bin, in means");
    table.option("density_high", &Parameters::density_high, 1e5).doc("high edge of the last density bin, in means");
    table.option("density_bins", &Parameters::density_bins, 160)
        .range(1, 1e4)
        .doc("number of density bins, of equal width in the logarithm");
    table.option("temperature", &Parameters::temperature, "temperature").doc("field of the temperature");
    table.option("temperature_low", &Parameters::temperature_low, 1e-4)
        .doc("low edge of the first temperature bin [K]");
    table.option("temperature_high", &Parameters::temperature_high, 1e8)
        .doc("high edge of the last temperature bin [K]");
    table.option("temperature_bins", &Parameters::temperature_bins, 240)
        .range(1, 1e4)
        .doc("number of temperature bins, of equal width in the logarithm");
    return table;
  }

  explicit Phase(Parameters p)
      : parameters_(std::move(p)),
        density_bins_(bins_of("density", parameters_.density_low, parameters_.density_high, parameters_.density_bins)),
        temperature_bins_(bins_of("temperature", parameters_.temperature_low, parameters_.temperature_high,
                                  parameters_.temperature_bins)) {}

  std::vector<std::string> fields() const override {
    std::vector<std::string> names = names_for(parameters_.density);
    append_new(names, {parameters_.temperature});
    return names;
  }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const SharedField density = field_or_total(snapshot, parameters_.density);
    const mesh::Field<double>& temperature = snapshot.field(parameters_.temperature);
    const double average = mean(comm, *density, parameters_.density);
    mean(comm, temperature, parameters_.temperature);  // throws unless all values are finite
    if (!(average > 0))
      throw core::Error("the mean of the field `" + parameters_.density +
                        "` is not positive, so it has no overdensity");
    const FixedPoint fixed(largest_magnitude(comm, *density));

    PhaseTable table = count(*density, temperature, average, fixed);
    comm.sum(std::span(table.count));
    sum_over_ranks(comm, table.mass);
    table.outside = comm.sum(table.outside);
    return comm.rank() == 0 ? result_of(table, fixed, snapshot.geometry.cell_volume(), average) : mesh::Result();
  }

 private:
  static LogBins bins_of(const std::string& what, double low, double high, std::int64_t count) {
    if (!(low > 0 && high > low))
      throw core::Error("the bins of " + what + " go from " + std::to_string(low) + " to " + std::to_string(high), "",
                        "set 0 < " + what + "_low < " + what + "_high");
    return {low, high, count};
  }

  PhaseTable count(const mesh::Field<double>& density, const mesh::Field<double>& temperature, double average,
                   const FixedPoint& fixed) const {
    const auto size =
        static_cast<std::size_t>(temperature_bins_.size()) * static_cast<std::size_t>(density_bins_.size());
    PhaseTable table{std::vector<std::int64_t>(size, 0), std::vector<Int128>(size, 0), 0};
    for (int b = 0; b < density.blocks(); ++b) {
      const auto rho = density.view(b), t = temperature.view(b);
      core::for_each_cell(density.box(b), [&](int k, int j, int i) {
        const std::int32_t column = density_bins_.find(rho(k, j, i) / average),
                           row = temperature_bins_.find(t(k, j, i));
        if (column < 0 || row < 0 || column == density_bins_.size() || row == temperature_bins_.size()) {
          ++table.outside;
          return;
        }
        const auto bin = static_cast<std::size_t>(row) * static_cast<std::size_t>(density_bins_.size()) +
                         static_cast<std::size_t>(column);
        ++table.count[bin];
        table.mass[bin] += fixed.of(rho(k, j, i));
      });
    }
    return table;
  }

  static void add_bins(mesh::Result& result, const LogBins& bins, const std::string& name, const std::string& unit) {
    std::vector<double> low, high;
    for (std::int32_t i = 0; i < bins.size(); ++i) {
      low.push_back(bins.edge(i));
      high.push_back(bins.edge(i + 1));
    }
    const std::string dimension = name + "_bin", what = name == "density" ? "gas density over its mean" : name;
    result.add(name + "_low", unit, what + ", low edge of the bin, inclusive", {dimension}, {bins.size()}, low);
    result.add(name + "_high", unit, what + ", high edge of the bin, exclusive", {dimension}, {bins.size()}, high);
  }

  mesh::Result result_of(const PhaseTable& table, const FixedPoint& fixed, double cell_volume, double average) const {
    mesh::Result result;
    add_bins(result, temperature_bins_, "temperature", "K");
    add_bins(result, density_bins_, "density", "1");
    std::vector<double> mass;
    for (const Int128 sum : table.mass) mass.push_back(fixed.value(sum) * cell_volume);
    const std::vector<std::string> dimensions{"temperature_bin", "density_bin"};
    const std::vector<std::int64_t> lengths{temperature_bins_.size(), density_bins_.size()};
    result.add("count", "1", "number of cells in the bin", dimensions, lengths, table.count);
    result.add("mass", "Msun", "gas mass in the bin", dimensions, lengths, mass);
    result.attributes["mean_density"] = average;
    result.attributes["outside"] = table.outside;
    std::int64_t inside = 0;
    for (const std::int64_t cells : table.count) inside += cells;
    result.summary = std::to_string(inside) + " cells";
    return result;
  }

  Parameters parameters_;
  LogBins density_bins_, temperature_bins_;
};

}  // namespace

AnalysisEntry phase_entry() {
  return entry_of<Phase>("phase");
}

}  // namespace sidestream::analysis
