#include <algorithm>

#include "analysis/entries.hpp"
#include "analysis/log_bins.hpp"
#include "analysis/make.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

// Counts of the cells in each bin of overdensity, the first and last for what lies below and above all bins.
// Collective.
std::vector<std::int64_t> count_overdensities(const comm::Communicator& comm, const mesh::Field<double>& field,
                                              double average, const LogBins& bins) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(bins.size()) + 2, 0);
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      ++counts[static_cast<std::size_t>(bins.find(view(k, j, i) / average) + 1)];
    });
  }
  comm.sum(std::span(counts));
  return counts;
}

class Pdf final : public Analysis {
 public:
  struct Parameters {
    std::vector<std::string> fields;
    double low = 0.0, high = 0.0;
    std::int64_t bins = 0;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Volume-weighted histograms of overdensity (density over its mean)");
    table.option("fields", &Parameters::fields, {"gas_density", "dark_matter_density", "total_density"})
        .doc("densities to count; of these three standard ones those that the simulation has");
    table.option("low", &Parameters::low, 1e-3).doc("low edge of the first bin, in means");
    table.option("high", &Parameters::high, 1e5).doc("high edge of the last bin, in means");
    table.option("bins", &Parameters::bins, 200).range(1, 1e6).doc("number of bins, of equal width in the logarithm");
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
    mesh::Result result;
    if (comm.rank() == 0) add_bins(result);
    int count = 0;
    for (const std::string& name : parameters_.fields) {
      if (is_standard(name) && name != "total_density" && !snapshot.has(name)) continue;
      const SharedField field = field_or_total(snapshot, name);
      const double average = mean(comm, *field, name);
      if (!(average > 0))
        throw core::Error("the mean of the field `" + name + "` is " + std::to_string(average) +
                          ", so it has no overdensity");
      const auto counts = count_overdensities(comm, *field, average, bins_);
      if (comm.rank() == 0) add_counts(result, name, counts, average);
      ++count;
    }
    if (comm.rank() == 0) result.summary = std::to_string(count) + (count == 1 ? " density" : " densities");
    return result;
  }

 private:
  static LogBins bins_of(const Parameters& p) {
    if (!(p.low > 0 && p.high > p.low))
      throw core::Error("the bins of the histogram go from `low` = " + std::to_string(p.low) +
                            " to `high` = " + std::to_string(p.high),
                        "", "set 0 < low < high");
    return {p.low, p.high, p.bins};
  }
  static bool is_standard(const std::string& name) {
    return name == "gas_density" || name == "dark_matter_density" || name == "total_density";
  }

  void add_bins(mesh::Result& result) const {
    std::vector<double> center, low, high;
    for (std::int32_t i = 0; i < bins_.size(); ++i) {
      center.push_back(bins_.center(i));
      low.push_back(bins_.edge(i));
      high.push_back(bins_.edge(i + 1));
    }
    const std::vector<std::int64_t> length{bins_.size()};
    result.add("overdensity", "1", "density over its mean, centre of the bin (geometric mean of its edges)", {"bin"},
               length, center);
    result.add("overdensity_low", "1", "low edge of the bin, inclusive", {"bin"}, length, low);
    result.add("overdensity_high", "1", "high edge of the bin, exclusive", {"bin"}, length, high);
  }

  void add_counts(mesh::Result& result, const std::string& name, const std::vector<std::int64_t>& counts,
                  double average) const {
    std::int64_t cells = 0;
    for (const std::int64_t count : counts) cells += count;
    std::vector<double> pdf;
    for (std::int32_t i = 0; i < bins_.size(); ++i)
      pdf.push_back(static_cast<double>(counts[static_cast<std::size_t>(i) + 1]) / static_cast<double>(cells) /
                    bins_.width_dex(i));
    const std::vector<std::int64_t> length{bins_.size()};
    result.add(name + "_count", "1", "number of cells of " + name + " in the bin", {"bin"}, length,
               std::vector<std::int64_t>(counts.begin() + 1, counts.end() - 1));
    result.add(name + "_pdf", "1", "fraction of the volume of " + name + " per unit of log10 overdensity", {"bin"},
               length, pdf);
    result.attributes[name + "_mean"] = average;
    result.attributes[name + "_below"] = counts.front();
    result.attributes[name + "_above"] = counts.back();
  }

  Parameters parameters_;
  LogBins bins_;
};

}  // namespace

AnalysisEntry pdf_entry() {
  return entry_of<Pdf>("pdf");
}

}  // namespace sidestream::analysis
