#include "sidestream/analysis/power_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/entries.hpp"
#include "analysis/fields/levels.hpp"
#include "analysis/make.hpp"
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
    std::string binning;
    double width = 1.0;
    std::int64_t per_decade = 0, level = 0;
    bool subtract_shot_noise = false;
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
    const fft::FftPlan plan(comm, grid.layout());
    Measurement measurement{comm, snapshot, grid, plan, snapshot.geometry.refined(level), shot_noise, {}};
    measure_parts(measurement);
    for (const std::string& name : parameters_.fields)
      if (name != gas_name && name != dark_name && (name != total_name || has_own_total(snapshot)))
        measure_field(measurement, name);
    if (comm.rank() != 0) return {};
    auto& spectra = measurement.spectra;
    measurement.result.attributes["level"] = parameters_.level;
    measurement.result.attributes["finest_level"] = std::int64_t{snapshot.finest_level()};
    measurement.result.summary = std::to_string(spectra) + (spectra == 1 ? " spectrum" : " spectra");
    return std::move(measurement.result);
  }

 private:
  struct Measurement {
    const comm::Communicator& comm;
    const mesh::Snapshot& snapshot;
    const CoveringGrid& grid;
    const fft::FftPlan& plan;
    mesh::Geometry geometry;  // of the grid
    double shot_noise;        // of particles of all the dark matter [Mpc^3]
    mesh::Result result;
    int spectra = 0;
  };

  static double mean_of(const Measurement& m, const std::string& name) {
    const double average = mean(m.comm, field_or_total(m.snapshot, name), name);
    if (!(average > 0))
      throw core::Error("the mean of the field `" + name + "` is not positive, so it has no relative fluctuation");
    return average;
  }

  // V / N [Mpc^3]
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
      if (contains(parameters_.fields, name)) add(m, name, part, average, name == dark_name ? m.shot_noise : 0.0);
      if (!wants_total) continue;
      total_mean += average;
      if (name == dark_name) dark_mean = average;
      if (total)
        add_to(*total, part);
      else
        total = std::move(part);
    }
    const double share = dark_mean / total_mean;
    if (wants_total && !total) total_density(m.snapshot);  // says which densities are missing
    if (total) add(m, total_name, *total, total_mean, m.shot_noise * share * share);
  }

  void measure_field(Measurement& m, const std::string& name) const {
    const double average = mean_of(m, name);
    add(m, name, spectrum_of(m, name), average, 0.0);
  }

  void add(Measurement& m, const std::string& name, const Spectrum& spectrum, double average, double shot_noise) const {
    PowerSpectrum power = power_of(m.comm, spectrum, m.geometry, average, shells_);
    ++m.spectra;
    if (m.comm.rank() != 0) return;
    const auto hubble = m.snapshot.moment.attributes.find("hubble");
    const bool has_h = hubble != m.snapshot.moment.attributes.end();
    const double h = has_h ? hubble->second : 1.0;
    for (double& k : power.k) k /= h;
    for (double& p : power.power) p = (p - shot_noise) * (h * h * h);
    const std::vector<std::int64_t> length{static_cast<std::int64_t>(power.k.size())};
    if (m.spectra == 1) {
      m.result.add("k", has_h ? "h/Mpc" : "1/Mpc", "mean wave number of the modes in the shell", {"k_bin"}, length,
                   power.k);
      m.result.add("modes", "1", "number of modes in the shell, k and -k both counted", {"k_bin"}, length, power.modes);
    }
    m.result.add(name + "_power", has_h ? "(Mpc/h)^3" : "Mpc^3", "power of the relative fluctuation of " + name,
                 {"k_bin"}, length, power.power);
    m.result.attributes[name + "_mean"] = average;
    m.result.attributes[name + "_shot_noise"] = shot_noise * (h * h * h);
  }

  Parameters parameters_;
  ShellOptions shells_;
};

}  // namespace

AnalysisEntry power_spectrum_entry() {
  return entry_of<PowerSpectra>("power_spectrum");
}

}  // namespace sidestream::analysis
