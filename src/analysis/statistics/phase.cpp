#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "analysis/entries.hpp"
#include "analysis/fields/levels.hpp"
#include "analysis/fields/unit_names.hpp"
#include "analysis/make.hpp"
#include "analysis/statistics/log_bins.hpp"
#include "analysis/statistics/temperature_density.hpp"
#include "analysis/statistics/totals.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

// Cells in each bin of temperature (slow) and density (fast), one level after another; the sum of their densities times
// their volumes, in cells of the finest level, in each bin; and the cells in none.
struct PhaseTable {
  std::vector<std::int64_t> count;
  std::vector<core::CompactSum> mass;
  TemperatureMedians medians;
  std::int64_t outside = 0;
  bool is_finite = true;  // all temperatures of this rank
};

// The numbers of all levels in a bin.
template <typename T>
std::vector<T> of_bin(const std::vector<T>& table, std::size_t bin, std::size_t bins) {
  std::vector<T> levels;
  for (; bin < table.size(); bin += bins) levels.push_back(table[bin]);
  return levels;
}

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
    const LeafField density = field_or_total(snapshot, parameters_.density);
    const LeafField temperature = field_or_total(snapshot, parameters_.temperature);
    const double average = mean(comm, density, parameters_.density);
    if (!(average > 0))
      throw core::Error("the mean of the field `" + parameters_.density + "` is not positive, so it has no overdensity",
                        "", "set `density` to a quantity that is positive: `sidestream list quantities`");
    PhaseTable table{std::vector<std::int64_t>(density.size() * bins(), 0), std::vector<core::CompactSum>(bins()),
                     TemperatureMedians(density.size())};
    const int a_level = bits_a_level(root_domain(density)), finest = finest_level(density);
    for (int level = 0; level <= finest; ++level) count(density, temperature, level, average, table);
    comm.agree(table.is_finite ? "" : first_bad_cell(temperature, parameters_.temperature));
    comm.sum(std::span(table.count));
    table.medians.sum(comm);
    table.outside = comm.sum(table.outside);
    std::vector<double> mass = totals(comm, table.mass, -a_level * finest);
    return comm.rank() == 0 ? result_of(table, std::move(mass), snapshot, average) : mesh::Result();
  }

 private:
  static LogBins bins_of(const std::string& what, double low, double high, std::int64_t count) {
    if (!(low > 0 && high > low))
      throw core::Error("the bins of " + what + " go from " + std::to_string(low) + " to " + std::to_string(high),
                        what + "_low", "set 0 < " + what + "_low < " + what + "_high");
    return {low, high, count};
  }

  std::size_t bins() const {
    return static_cast<std::size_t>(temperature_bins_.size()) * static_cast<std::size_t>(density_bins_.size());
  }

  // Some cells of a row, in the order in which they lie: each step of the work is a loop of its own, in which cells do
  // not wait for one another.
  struct Cells {
    static constexpr int most = 64;
    std::array<double, most> overdensity{};
    std::array<std::int32_t, most> bin{};
  };

  // Adds the cells of a level.
  void count(const LeafField& density, const LeafField& temperature, int level, double average,
             PhaseTable& table) const {
    const auto at = static_cast<std::size_t>(level);
    const int power = bits_a_level(root_domain(density)) * (finest_level(density) - level);
    Cells cells;
    for (int b = 0; b < density[at].blocks(); ++b) {
      const mesh::Box box = density[at].box(b);
      const auto rho = density[at].view(b), t = temperature[at].view(b);
      core::for_each_row(box, [&](int k, int j) {
        for (int i = box.lo.x; i < box.hi.x; i += Cells::most) {
          const int n = std::min(Cells::most, box.hi.x - i);
          count({&rho(k, j, i), static_cast<std::size_t>(n)}, {&t(k, j, i), static_cast<std::size_t>(n)}, at, power,
                average, cells, table);
        }
      });
    }
  }

  void count(std::span<const double> density, std::span<const double> temperature, std::size_t level, int power,
             double average, Cells& cells, PhaseTable& table) const {
    const std::size_t first = level * bins(), n = density.size();
    for (std::size_t i = 0; i < n; ++i) cells.overdensity[i] = density[i] / average;
    for (std::size_t i = 0; i < n; ++i) cells.bin[i] = bin_of(cells.overdensity[i], temperature[i]);
    for (std::size_t i = 0; i < n; ++i) table.medians.add(level, cells.overdensity[i], temperature[i]);
    for (std::size_t i = 0; i < n; ++i) {
      if (cells.bin[i] < 0) {
        ++table.outside;
        table.is_finite = table.is_finite && std::isfinite(temperature[i]);
        continue;
      }
      const auto bin = static_cast<std::size_t>(cells.bin[i]);
      ++table.count[first + bin];
      table.mass[bin].add(density[i], power);
    }
  }

  // -1 outside of all bins.
  std::int32_t bin_of(double overdensity, double temperature) const {
    const std::int32_t column = density_bins_.find(overdensity), row = temperature_bins_.find(temperature);
    const bool is_inside = column >= 0 && row >= 0 && column < density_bins_.size() && row < temperature_bins_.size();
    return is_inside ? row * density_bins_.size() + column : -1;
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

  // `mass`: in densities times cells of level 0.
  mesh::Result result_of(const PhaseTable& table, std::vector<double> mass, const mesh::Snapshot& snapshot,
                         double average) const {
    mesh::Result result;
    const std::string unit = unit_of(snapshot, parameters_.temperature);
    add_bins(result, temperature_bins_, "temperature", unit);
    add_bins(result, density_bins_, "density", "1");
    const double cell_volume = snapshot.geometry.cell_volume();
    const int bits = bits_a_level(snapshot.geometry.domain);
    std::vector<std::int64_t> count;
    std::vector<double> volume;
    for (std::size_t bin = 0; bin < bins(); ++bin) {
      const auto cells = of_bin(table.count, bin, bins());
      count.push_back(std::accumulate(cells.begin(), cells.end(), std::int64_t{0}));
      volume.push_back(volume_weighted(cells, bits) * cell_volume);
      mass[bin] *= cell_volume;
    }
    const std::int64_t inside = std::accumulate(count.begin(), count.end(), std::int64_t{0});
    const std::vector<std::string> dimensions{"temperature_bin", "density_bin"};
    const std::vector<std::int64_t> lengths{temperature_bins_.size(), density_bins_.size()};
    result.add("count", "1", "number of cells in the bin", dimensions, lengths, std::move(count));
    result.add("volume", unit_power(snapshot.length_unit, 3), "volume in the bin", dimensions, lengths,
               std::move(volume));
    result.add("mass", unit_of_mass(unit_of(snapshot, parameters_.density), snapshot.length_unit),
               "gas mass in the bin", dimensions, lengths, std::move(mass));
    add_fit(result, table.medians, bits, unit);
    result.attributes["mean_density"] = average;
    result.attributes["outside"] = table.outside;
    result.summary = std::to_string(inside) + " cells";
    return result;
  }

  static void add_fit(mesh::Result& result, const TemperatureMedians& medians, int bits_a_level,
                      const std::string& unit) {
    const std::vector<double> overdensity = medians.middles(), temperature = medians.medians(bits_a_level);
    const std::vector<std::int64_t> length{static_cast<std::int64_t>(overdensity.size())};
    if (const auto relation = fitted(overdensity, temperature)) {
      result.attributes["mean_density_temperature"] = relation->mean_density_temperature;
      result.attributes["temperature_slope"] = relation->slope;
    }
    result.add("fit_overdensity", "1", "middle of a bin of gas density over its mean (geometric mean of its edges)",
               {"fit_bin"}, length, overdensity);
    result.add("median_temperature", unit,
               "median by volume of temperatures from 1 to 1e5 in the bin; 0 where there is none", {"fit_bin"}, length,
               temperature);
  }

  Parameters parameters_;
  LogBins density_bins_, temperature_bins_;
};

}  // namespace

AnalysisEntry phase_entry() {
  return entry_of<Phase>("phase");
}

}  // namespace sidestream::analysis
