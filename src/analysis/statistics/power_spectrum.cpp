#include "sidestream/analysis/power_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/entries.hpp"
#include "analysis/fields/levels.hpp"
#include "analysis/fields/unit_names.hpp"
#include "analysis/make.hpp"
#include "analysis/statistics/angular_power.hpp"
#include "analysis/statistics/spectrum.hpp"
#include "sidestream/analysis/covering_grid.hpp"
#include "sidestream/analysis/density.hpp"

namespace sidestream::analysis {

namespace {

constexpr const char* gas_name = "gas_density";
constexpr const char* dark_name = "dark_matter_density";
constexpr const char* total_name = "total_density";

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class PowerSpectra final : public Analysis {
 public:
  struct Parameters {
    std::vector<std::string> fields, deconvolve;
    std::string binning, axis;
    double width = 1.0;
    std::int64_t per_decade = 0, mu_bins = 0, level = 0;
    bool cross = false, subtract_shot_noise = false;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Power spectra of the relative fluctuation of densities");
    table.option("fields", &Parameters::fields, {gas_name, dark_name, total_name})
        .doc("densities to measure; of these three standard ones those that the simulation has");
    table.option("binning", &Parameters::binning, "linear")
        .one_of({"linear", "log"})
        .doc("shells of equal width in k or in log k");
    table.option("width", &Parameters::width, 1.0)
        .range(0.1, 1e6)
        .doc("width of linear shells in fundamental modes, 2 pi / box");
    table.option("per_decade", &Parameters::per_decade, 10)
        .range(1, 1000)
        .doc("number of logarithmic shells in a factor of ten");
    table.option("cross", &Parameters::cross, false).doc("whether each two of the fields get their cross spectrum");
    table.option("mu_bins", &Parameters::mu_bins, 0)
        .range(0, 1000)
        .doc("bins of the angle to `axis`, with multipoles; 0: all directions alike");
    table.option("axis", &Parameters::axis, "z").one_of({"x", "y", "z"}).doc("what the angle is measured from");
    table.option("level", &Parameters::level, 0)
        .range(0, finest_possible_level)
        .doc("level of refinement whose cells make the grid: finer ones are averaged, coarser ones fill all of theirs");
    table.option("deconvolve", &Parameters::deconvolve, {dark_name})
        .doc("densities to divide by the window of the cloud-in-cell deposit; in the total density, its parts are");
    table.option("subtract_shot_noise", &Parameters::subtract_shot_noise, false)
        .doc("take off volume / particles; right for evolved particles, not for a lattice that is hardly perturbed");
    return table;
  }

  explicit PowerSpectra(Parameters parameters) : parameters_(std::move(parameters)) {
    shells_ = {parameters_.binning == "log", parameters_.width, parameters_.per_decade};
    axis_ = parameters_.axis.front() - 'x';
  }

  std::vector<std::string> fields() const override {
    std::vector<std::string> names;
    for (const std::string& name : parameters_.fields)
      if (name == gas_name || name == dark_name)
        append_new(names, {name + "?"});
      else
        append_new(names, names_for(name));
    return names;
  }

  void check(const mesh::Box& domain) const override {
    check_covering_grid(domain, static_cast<int>(parameters_.level));
  }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const auto shot_noise = parameters_.subtract_shot_noise ? shot_noise_of(snapshot) : 0.0;
    const int level = static_cast<int>(parameters_.level);
    const CoveringGrid grid(comm, snapshot.levels, level);
    const fft::FftPlan<double> plan(comm, grid.layout());
    Measurement measurement{comm, snapshot, grid, plan, snapshot.geometry.refined(level), shot_noise, {}, 0, {}};
    measure_parts(measurement);
    for (const std::string& name : parameters_.fields)
      if (name != gas_name && name != dark_name && (name != total_name || has_own_total(snapshot)))
        measure_field(measurement, name);
    measure_kept(measurement);
    if (comm.rank() != 0) return {};
    const int fields = measurement.fields;
    measurement.result.attributes["level"] = parameters_.level;
    measurement.result.summary = std::to_string(fields) + (fields == 1 ? " spectrum" : " spectra");
    return std::move(measurement.result);
  }

 private:
  struct Measured {
    std::string name;
    Spectrum spectrum;
    double mean = 0.0, shot_noise = 0.0;  // [unit of length, cubed]
  };

  struct Measurement {
    const comm::Communicator& comm;
    const mesh::Snapshot& snapshot;
    const CoveringGrid& grid;
    const fft::FftPlan<double>& plan;
    mesh::Geometry geometry;  // of the grid
    double shot_noise;        // of particles of all the dark matter [unit of length, cubed]
    mesh::Result result;
    int fields = 0;
    std::vector<Measured> kept;  // whose power is to be measured
  };

  static double mean_of(const Measurement& m, const std::string& name) {
    return positive_mean(m.comm, field_or_total(m.snapshot, name), name);
  }

  // V / N [unit of length, cubed]
  static double shot_noise_of(const mesh::Snapshot& snapshot) {
    const auto particles = snapshot.moment.attributes.find("particles");
    if (particles == snapshot.moment.attributes.end() || !(particles->second > 0))
      throw core::Error("the shot noise cannot be subtracted: the moment does not tell a number of `particles`", "",
                        "set `subtract_shot_noise = false`; a program gives the number as attribute of its moment");
    return snapshot.geometry.volume() / particles->second;
  }

  Spectrum spectrum_of(const Measurement& m, const std::string& name) const {
    Spectrum spectrum = transform(m.comm, m.plan, m.grid.of(m.comm, field_or_total(m.snapshot, name)));
    if (contains(parameters_.deconvolve, name)) divide_by_cic_window(spectrum, m.geometry.domain.extent());
    return spectrum;
  }

  // Gas, dark matter and the total made of them: the transform of a sum is the sum of the transforms.
  void measure_parts(Measurement& m) const {
    const bool wants_total = contains(parameters_.fields, total_name) && !has_own_total(m.snapshot);
    std::optional<Spectrum> total;
    double total_mean = 0.0, dark_mean = 0.0;
    for (const std::string name : {gas_name, dark_name}) {
      if (!m.snapshot.has(name) || !(wants_total || contains(parameters_.fields, name))) continue;
      const double average = mean_of(m, name);
      Spectrum part = spectrum_of(m, name);
      if (wants_total) {
        if (!total) total.emplace(m.plan.spectral(), m.comm.rank());
        add_to(*total, part);
        total_mean += average;
        if (name == dark_name) dark_mean = average;
      }
      if (contains(parameters_.fields, name))
        add(m, {name, std::move(part), average, name == dark_name ? m.shot_noise : 0.0});
    }
    const double share = dark_mean / total_mean;
    if (wants_total && !total) total_density(m.snapshot);  // says which densities are missing
    if (total) add(m, {total_name, std::move(*total), total_mean, m.shot_noise * share * share});
  }

  void measure_field(Measurement& m, const std::string& name) const {
    const double average = mean_of(m, name);
    add(m, {name, spectrum_of(m, name), average});
  }

  void add(Measurement& m, Measured field) const {
    ++m.fields;
    m.kept.push_back(std::move(field));
    if (!parameters_.cross) measure_kept(m);
  }

  // The power of each field that is kept, and that with each before it. None is kept any more.
  void measure_kept(Measurement& m) const {
    std::vector<RelativeField> fields;
    std::vector<FieldPair> pairs;
    for (std::size_t n = 0; n < m.kept.size(); ++n) {
      fields.push_back({m.kept[n].spectrum, m.kept[n].mean});
      pairs.push_back({n, n});
      for (std::size_t other = 0; other < n; ++other) pairs.push_back({other, n});
    }
    if (fields.empty()) return;
    std::vector<AngularPower> powers = angular_powers(m.comm, fields, pairs, m.geometry, shells_, axis_,
                                                      std::max(parameters_.mu_bins, std::int64_t{1}));
    for (std::size_t pair = 0; pair < pairs.size() && m.comm.rank() == 0; ++pair)
      add_power(m, m.kept[pairs[pair].a], m.kept[pairs[pair].b], std::move(powers[pair]));
    m.kept.clear();
  }

  // On rank 0.
  void add_power(Measurement& m, const Measured& a, const Measured& b, AngularPower power) const {
    const bool is_own = &a == &b;
    const std::string name = is_own ? a.name + "_power" : a.name + "_" + b.name + "_cross",
                      meaning = is_own ? "power of the relative fluctuation of " + a.name
                                       : "cross power of the relative fluctuations of " + a.name + " and " + b.name;
    const double shot_noise = is_own ? a.shot_noise : 0.0;
    if (m.result.columns.empty()) add_modes(m, power);
    const double h = hubble_of(m).value_or(1.0), volume_unit = h * h * h;
    if (is_own) {
      m.result.attributes[a.name + "_mean"] = a.mean;
      m.result.attributes[a.name + "_shot_noise"] = shot_noise * volume_unit;
    }
    const std::string& length = m.snapshot.length_unit;
    const std::string unit = unit_power(hubble_of(m) && !length.empty() ? length + "/h" : length, 3);
    const auto shells = static_cast<std::int64_t>(power.shell_k.size());
    const auto add = [&](const std::string& suffix, const std::string& what, std::vector<double> values) {
      m.result.add(name + suffix, unit, meaning + what, {"k_bin"}, {shells}, std::move(values));
    };
    for (double& p : power.monopole) p = (p - shot_noise) * volume_unit;
    add("", "", std::move(power.monopole));
    if (parameters_.mu_bins == 0) return;
    for (double& p : power.quadrupole) p *= volume_unit;
    for (double& p : power.hexadecapole) p *= volume_unit;
    for (std::size_t bin = 0; bin < power.power.size(); ++bin)
      power.power[bin] = power.modes[bin] == 0 ? 0.0 : (power.power[bin] - shot_noise) * volume_unit;
    add("_quadrupole", ", its quadrupole about the axis", std::move(power.quadrupole));
    add("_hexadecapole", ", its hexadecapole about the axis", std::move(power.hexadecapole));
    m.result.add(name + "_mu", unit, meaning + ", by the angle to the axis; 0 without modes", {"k_bin", "mu_bin"},
                 {shells, parameters_.mu_bins}, std::move(power.power));
  }

  // Where the modes lie, the same for all fields.
  void add_modes(Measurement& m, const AngularPower& power) const {
    const std::optional<double> hubble = hubble_of(m);
    const std::string& length = m.snapshot.length_unit;
    const std::string unit = length.empty() ? "" : (hubble ? "h/" : "1/") + length;
    const auto per_h = [&](std::vector<double> wave_numbers) {
      for (double& k : wave_numbers) k /= hubble.value_or(1.0);
      return wave_numbers;
    };
    const auto shells = static_cast<std::int64_t>(power.shell_k.size()), bins = parameters_.mu_bins;
    m.result.add("k", unit, "mean wave number of the modes in the shell", {"k_bin"}, {shells}, per_h(power.shell_k));
    m.result.add("modes", "1", "number of modes in the shell, k and -k both counted", {"k_bin"}, {shells},
                 power.shell_modes);
    if (bins == 0) return;
    std::vector<double> middle;
    for (std::int64_t bin = 0; bin < bins; ++bin)
      middle.push_back((static_cast<double>(bin) + 0.5) / static_cast<double>(bins));
    const auto add = [&](const char* name, const std::string& unit_of_it, const char* meaning, auto values) {
      m.result.add(name, unit_of_it, meaning, {"k_bin", "mu_bin"}, {shells, bins}, std::move(values));
    };
    m.result.add("mu", "1", "middle of the bin of |k along the axis| / k", {"mu_bin"}, {bins}, std::move(middle));
    add("mu_modes", "1", "number of modes in shell and bin, k and -k both counted", power.modes);
    add("mu_k", unit, "their mean wave number; 0 without modes", per_h(power.k));
    add("mu_mean", "1", "their mean |k along the axis| / k", power.mu);
    m.result.attributes["axis"] = parameters_.axis;
  }

  static std::optional<double> hubble_of(const Measurement& m) {
    const auto found = m.snapshot.moment.attributes.find("hubble");
    return found == m.snapshot.moment.attributes.end() ? std::nullopt : std::optional(found->second);
  }

  Parameters parameters_;
  ShellOptions shells_;
  int axis_ = 0;
};

}  // namespace

AnalysisEntry power_spectrum_entry() {
  return entry_of<PowerSpectra>("power_spectrum");
}

}  // namespace sidestream::analysis
