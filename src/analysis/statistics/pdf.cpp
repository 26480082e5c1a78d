#include <algorithm>
#include <numeric>
#include <span>

#include "analysis/entries.hpp"
#include "analysis/fields/levels.hpp"
#include "analysis/make.hpp"
#include "analysis/statistics/log_bins.hpp"
#include "analysis/statistics/totals.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

// The cells of each level in each bin of overdensity, and their share in the volume or in the mass; the first and last
// bin are for what lies below and above all bins.
class Histogram {
 public:
  // Collective. `of_mass`: whether shares are those of the mass; these on rank 0 only.
  Histogram(const comm::Communicator& comm, const LeafField& field, double average, const LogBins& bins, bool of_mass)
      : cells_(static_cast<std::size_t>(bins.size()) + 2, std::vector<std::int64_t>(field.size(), 0)) {
    for (std::size_t level = 0; level < field.size(); ++level) count(comm, field[level], level, average, bins);
    shares_ = of_mass ? shares_of_mass(comm, field, average, bins) : shares_of_volume(bits_a_level(root_domain(field)));
  }

  std::int64_t cells(std::size_t bin) const {
    return std::accumulate(cells_[bin].begin(), cells_[bin].end(), std::int64_t{0});
  }
  const std::vector<double>& shares() const { return shares_; }

 private:
  template <typename F>
  static void for_each_bin(const ScalarView& field, double average, const LogBins& bins, F f) {
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
        const double value = view(k, j, i);
        f(static_cast<std::size_t>(bins.find(value / average) + 1), value);
      });
  }

  void count(const comm::Communicator& comm, const ScalarView& field, std::size_t level, double average,
             const LogBins& bins) {
    std::vector<std::int64_t> counts(cells_.size(), 0);
    for_each_bin(field, average, bins, [&](std::size_t bin, double) { ++counts[bin]; });
    comm.sum(std::span(counts));
    for (std::size_t bin = 0; bin < counts.size(); ++bin) cells_[bin][level] = counts[bin];
  }

  std::vector<double> shares_of_volume(int bits_a_level) const {
    std::vector<std::int64_t> all(cells_.front().size(), 0);
    for (const auto& levels : cells_)
      for (std::size_t level = 0; level < all.size(); ++level) all[level] += levels[level];
    const double total = volume_weighted(all, bits_a_level);
    std::vector<double> shares;
    for (const auto& levels : cells_) shares.push_back(volume_weighted(levels, bits_a_level) / total);
    return shares;
  }

  std::vector<double> shares_of_mass(const comm::Communicator& comm, const LeafField& field, double average,
                                     const LogBins& bins) const {
    const int a_level = bits_a_level(root_domain(field)), finest = finest_level(field);
    std::vector<core::CompactSum> sums(cells_.size() + 1);  // of each bin, and of all
    for (int level = 0; level <= finest; ++level)
      for_each_bin(field[static_cast<std::size_t>(level)], average, bins,
                   [&](std::size_t bin, double value) { sums[bin].add(value, a_level * (finest - level)); });
    for (std::size_t bin = 0; bin < cells_.size(); ++bin) sums.back().add(sums[bin]);
    std::vector<double> shares = totals(comm, sums, -a_level * finest);
    if (shares.empty()) return shares;
    const double total = shares.back();
    shares.pop_back();
    for (double& share : shares) share /= total;
    return shares;
  }

  std::vector<std::vector<std::int64_t>> cells_;
  std::vector<double> shares_;
};

class Pdf final : public Analysis {
 public:
  struct Parameters {
    std::vector<std::string> fields;
    std::string weight;
    double low = 0.0, high = 0.0;
    std::int64_t bins = 0;
    bool in_means = true;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Histograms of fields, over their means or as they are, by volume or by mass");
    table.option("fields", &Parameters::fields, {"gas_density", "dark_matter_density", "total_density"})
        .doc("fields to count; of these three standard ones those that the simulation has");
    table.option("weight", &Parameters::weight, "volume")
        .one_of({"volume", "mass"})
        .doc(
            "what a cell counts for in `<field>_pdf`: its volume, or that times the field, which is the mass where it "
            "is "
            "a density");
    table.option("low", &Parameters::low, 1e-3).doc("low edge of the first bin, in means or in the unit of the field");
    table.option("high", &Parameters::high, 1e5).doc("high edge of the last bin, likewise");
    table.option("bins", &Parameters::bins, 200).range(1, 1e6).doc("number of bins, of equal width in the logarithm");
    table.option("in_means", &Parameters::in_means, true)
        .doc("whether bins are of overdensity (values over their mean) or of values as they are");
    return table;
  }

  explicit Pdf(Parameters parameters) : parameters_(std::move(parameters)), bins_(bins_of(parameters_)) {}

  std::vector<std::string> fields() const override {
    std::vector<std::string> names;
    for (const std::string& name : parameters_.fields)
      append_new(names, is_standard(name) && name != "total_density" ? std::vector{name + "?"} : names_for(name));
    return names;
  }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    std::vector<std::string> names;
    for (const std::string& name : parameters_.fields)
      if (!is_standard(name) || name == "total_density" || snapshot.has(name)) names.push_back(name);
    const std::string unit = parameters_.in_means ? "1" : common_unit(snapshot, names);
    mesh::Result result;
    if (comm.rank() == 0) add_bins(result, unit);
    for (const std::string& name : names) {
      const LeafField field = field_or_total(snapshot, name);
      const double average = mean(comm, field, name);
      if (parameters_.in_means && !(average > 0))
        throw core::Error(
            "the mean of the field `" + name + "` is " + std::to_string(average) + ", so it has no overdensity", "",
            "take a quantity whose mean is positive, or count positive values as they are: `in_means = false`, with "
            "`low` and `high` in its unit");
      const Histogram histogram(comm, field, parameters_.in_means ? average : 1.0, bins_, parameters_.weight == "mass");
      if (comm.rank() == 0) add_histogram(result, name, histogram, average);
    }
    if (comm.rank() != 0) return result;
    result.attributes["weight"] = parameters_.weight;
    result.summary = std::to_string(names.size()) + (names.size() == 1 ? " field" : " fields");
    return result;
  }

 private:
  static LogBins bins_of(const Parameters& p) {
    if (!(p.low > 0 && p.high > p.low))
      throw core::Error("the bins of the histogram go from `low` = " + std::to_string(p.low) +
                            " to `high` = " + std::to_string(p.high),
                        "low", "set 0 < low < high");
    return {p.low, p.high, p.bins};
  }
  std::string weight_of(const std::string& name) const {
    if (parameters_.weight == "volume") return "volume";
    return (name.find("density") != std::string::npos ? "mass of " : "volume times ") + name;
  }
  static bool is_standard(const std::string& name) {
    return name == "gas_density" || name == "dark_matter_density" || name == "total_density";
  }

  static std::string common_unit(const mesh::Snapshot& snapshot, const std::vector<std::string>& names) {
    const std::string unit = names.empty() ? "1" : unit_of(snapshot, names.front());
    for (const std::string& name : names)
      if (const std::string own = unit_of(snapshot, name); own != unit)
        throw core::Error("the field `" + name + "` is in " + own + ", `" + names.front() + "` in " + unit, "fields",
                          "fields whose bins are not in means share their unit: make a task for each of these");
    return unit;
  }

  void add_bins(mesh::Result& result, const std::string& unit) const {
    std::vector<double> center, low, high;
    for (std::int32_t i = 0; i < bins_.size(); ++i) {
      center.push_back(bins_.center(i));
      low.push_back(bins_.edge(i));
      high.push_back(bins_.edge(i + 1));
    }
    const std::vector<std::int64_t> length{bins_.size()};
    const std::string name = parameters_.in_means ? "overdensity" : "value",
                      meaning = parameters_.in_means ? "value over its mean" : "value of the field";
    result.add(name, unit, meaning + ", centre of the bin (geometric mean of its edges)", {"bin"}, length, center);
    result.add(name + "_low", unit, "low edge of the bin, inclusive", {"bin"}, length, low);
    result.add(name + "_high", unit, "high edge of the bin, exclusive", {"bin"}, length, high);
  }

  void add_histogram(mesh::Result& result, const std::string& name, const Histogram& histogram, double average) const {
    const std::vector<double>& shares = histogram.shares();
    std::vector<std::int64_t> cells;
    std::vector<double> pdf;
    for (std::int32_t i = 0; i < bins_.size(); ++i) {
      const auto bin = static_cast<std::size_t>(i) + 1;
      cells.push_back(histogram.cells(bin));
      pdf.push_back(shares[bin] / bins_.width_dex(i));
    }
    const std::vector<std::int64_t> length{bins_.size()};
    result.add(name + "_count", "1", "number of cells of " + name + " in the bin", {"bin"}, length, cells);
    result.add(name + "_pdf", "1",
               "fraction of the " + weight_of(name) + " per unit of log10 " +
                   (parameters_.in_means ? "overdensity" : "of the value"),
               {"bin"}, length, pdf);
    result.attributes[name + "_mean"] = average;
    result.attributes[name + "_below"] = histogram.cells(0);
    result.attributes[name + "_above"] = histogram.cells(static_cast<std::size_t>(bins_.size()) + 1);
  }

  Parameters parameters_;
  LogBins bins_;
};

}  // namespace

AnalysisEntry pdf_entry() {
  return entry_of<Pdf>("pdf");
}

}  // namespace sidestream::analysis
