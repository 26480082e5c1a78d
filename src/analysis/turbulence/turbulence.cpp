#include <fmt/format.h>

#include <optional>

#include "analysis/at.hpp"
#include "analysis/entries.hpp"
#include "analysis/fields/levels.hpp"
#include "analysis/fields/unit_names.hpp"
#include "analysis/make.hpp"
#include "analysis/turbulence/flow_spectra.hpp"
#include "analysis/turbulence/gradient_statistics.hpp"
#include "analysis/turbulence/scales.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

constexpr double round_off = 1e-24;  // of mean squares of gradients, over the sum of all

class Turbulence final : public Analysis {
 public:
  struct Parameters {
    std::optional<double> viscosity;
    std::vector<std::string> scalars;
    std::vector<double> diffusivities;
    double pdf_width = 0.0;
    std::int64_t pdf_bins = 0, level = 0;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>(
        "Statistics of turbulence in a periodic box: energy spectrum, scales, Reynolds number, velocity gradients");
    table.option("viscosity", &Parameters::viscosity, std::nullopt)
        .at_least(0.0)
        .doc(
            "kinematic viscosity, in units of velocity times length; without it that of the simulation, if it has one");
    table.option("scalars", &Parameters::scalars, {}).doc("quantities whose spectrum, variance and flux are measured");
    table.option("diffusivities", &Parameters::diffusivities, {})
        .at_least(0.0)
        .doc("of each of the scalars; without them the attributes NAME_diffusivity of the simulation, if it has them");
    DeviationBins::add_to(table);
    table.option("level", &Parameters::level, 0)
        .range(0, finest_possible_level)
        .doc("level of refinement whose cells make the grid: finer ones are averaged, coarser ones fill all of theirs");
    return table;
  }

  explicit Turbulence(Parameters parameters) : parameters_(std::move(parameters)) {
    const std::size_t count = parameters_.diffusivities.size();
    if (count != 0 && count != parameters_.scalars.size())
      throw core::Error(fmt::format("there are {} diffusivities of {} scalars", count, parameters_.scalars.size()),
                        "diffusivities", "give one for each of `scalars`, or none");
  }

  std::vector<std::string> fields() const override {
    std::vector<std::string> names(velocity_names.begin(), velocity_names.end());
    for (const std::string& name : parameters_.scalars) append_new(names, names_for(name));
    return names;
  }

  void check(const mesh::Box& domain) const override {
    check_flow(domain);
    check_covering_grid(domain, static_cast<int>(parameters_.level));
  }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    check_flow(snapshot);
    const int level = static_cast<int>(parameters_.level);
    const CoveringGrid grid(comm, snapshot.levels, level);
    const Fields velocity = fields_of(comm, snapshot, grid, {velocity_names.begin(), velocity_names.end()}),
                 scalars = fields_of(comm, snapshot, grid, parameters_.scalars);
    const Flow flow(comm, {velocity[0].view, velocity[1].view, velocity[2].view}, snapshot.geometry.refined(level));
    const FlowSpectra spectra = flow_spectra(comm, flow);
    const GradientStatistics gradients =
        gradient_statistics(comm, flow, bins(), round_off * comm.broadcast(spectra.gradients));
    std::vector<ScalarSpectra> of_scalars;
    for (const Field& scalar : scalars) of_scalars.push_back(scalar_spectra(comm, flow, scalar.view));
    if (comm.rank() != 0) return {};

    Report report{snapshot, FlowUnits(snapshot), flow.waves(), {}};
    add_energy(report, spectra, velocity);
    add_scales(report, spectra);
    add_gradients(report, gradients);
    for (std::size_t n = 0; n < scalars.size(); ++n) add_scalar(report, n, scalars[n], of_scalars[n]);
    report.result.attributes["level"] = parameters_.level;
    return std::move(report.result);
  }

 private:
  struct Field {
    std::string name;
    ScalarView view;
    double mean = 0.0, mean_square = 0.0;
  };
  using Fields = std::vector<Field>;

  // On rank 0.
  struct Report {
    const mesh::Snapshot& snapshot;
    FlowUnits units;
    const WaveNumbers& waves;
    mesh::Result result;

    void shells(const std::string& name, const std::string& unit, const std::string& meaning,
                std::vector<double> values) {
      result.add(name, unit, meaning, {"shell"}, {waves.shells()}, std::move(values));
    }
    void axes(const std::string& name, const std::string& unit, const std::string& meaning,
              std::vector<double> values) {
      result.add(name, unit, meaning, {"axis"}, {3}, std::move(values));
    }
    std::optional<double> told(const std::string& attribute) const {
      const auto found = snapshot.moment.attributes.find(attribute);
      return found == snapshot.moment.attributes.end() ? std::nullopt : std::optional(found->second);
    }
  };

  DeviationBins bins() const { return {parameters_.pdf_width, parameters_.pdf_bins}; }

  // Cells that hold no finite number are an error that names one.
  static Fields fields_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const CoveringGrid& grid,
                          const std::vector<std::string>& names) {
    Fields fields;
    for (const std::string& name : names) {
      Field field{name, finite_field(comm, snapshot, grid, name)};
      PowerSums sums(2);
      for (int b = 0; b < field.view.blocks(); ++b)
        core::for_each_cell(field.view.box(b),
                            [&, view = field.view.view(b)](int k, int j, int i) { sums.add(view(k, j, i)); });
      const std::vector<double> means = sums.means(comm);
      field.mean = means[0];
      field.mean_square = means[1];
      fields.push_back(std::move(field));
    }
    return fields;
  }

  static void add_energy(Report& report, const FlowSpectra& spectra, const Fields& velocity) {
    const FlowUnits& units = report.units;
    std::vector<double> k, mean_velocity, rms;
    for (std::int64_t shell = 0; shell < report.waves.shells(); ++shell)
      k.push_back(report.waves.fundamental() * static_cast<double>(shell));
    report.shells("k", units.of(0, -1), "wave number in the middle of the shell", std::move(k));
    report.result.add("modes", "1", "number of modes in the shell, k and -k both counted", {"shell"},
                      {report.waves.shells()}, spectra.modes);
    report.shells("energy_spectrum", units.of(2, 1), "kinetic energy of a mass in waves, per unit of k",
                  spectra.energy);
    report.shells("helicity_spectrum", units.of(2, 0), "helicity in waves, per unit of k", spectra.helicity);
    double kinetic = 0.0;
    for (std::size_t c = 0; c < 3; ++c) {
      kinetic += 0.5 * velocity[c].mean_square;
      mean_velocity.push_back(velocity[c].mean);
      rms.push_back(std::sqrt(spectra.squared_velocity[c]));
    }
    report.axes("mean_velocity", units.velocity, "mean of the velocity along x, y, z", std::move(mean_velocity));
    report.axes("rms_fluctuation", units.velocity, "rms of the velocity along x, y, z about its mean", std::move(rms));
    auto& attributes = report.result.attributes;
    attributes["kinetic_energy"] = kinetic;
    attributes["helicity"] = sum_of(spectra.helicity) * spectra.fundamental;
    attributes["enstrophy"] = spectra.enstrophy;
    attributes["rms_divergence"] = std::sqrt(spectra.squared_divergence);
  }

  static double sum_of(const std::vector<double>& values) {
    core::CompactSum sum;
    for (const double value : values) sum.add(value);
    return sum.value();
  }

  void add_scales(Report& report, const FlowSpectra& spectra) const {
    auto& attributes = report.result.attributes;
    FlowMeans means{0.0, spectra.energy_over_k, spectra.gradients, report.waves.dimensions()};
    for (const double square : spectra.squared_velocity) means.energy += 0.5 * square;
    const FlowScales scales = flow_scales(means);
    attributes["fluctuation_energy"] = means.energy;
    attributes["rms_velocity"] = scales.rms_velocity;
    attributes["integral_scale"] = scales.integral_scale;
    attributes["taylor_scale"] = scales.taylor_scale;
    attributes["turnover_time"] = scales.turnover_time;
    report.result.summary = fmt::format("energy {:.3g}", std::get<double>(attributes.at("kinetic_energy")));
    const std::optional<double> viscosity = parameters_.viscosity ? parameters_.viscosity : report.told("viscosity");
    if (!viscosity) {
      report.result.summary += ", no viscosity known";
      return;
    }
    add_viscous(report, spectra, means, *viscosity);
  }

  static void add_viscous(Report& report, const FlowSpectra& spectra, const FlowMeans& means, double viscosity) {
    auto& attributes = report.result.attributes;
    const ViscousScales scales = viscous_scales(means, viscosity);
    const double k_max = report.told("k_max").value_or(report.waves.nyquist());
    attributes["viscosity"] = viscosity;
    attributes["dissipation"] = scales.dissipation;
    attributes["enstrophy_dissipation"] = 2.0 * viscosity * spectra.enstrophy;
    attributes["kolmogorov_scale"] = scales.kolmogorov_scale;
    attributes["kolmogorov_time"] = scales.kolmogorov_time;
    attributes["k_max"] = k_max;
    attributes["k_max_eta"] = k_max * scales.kolmogorov_scale;
    attributes["taylor_reynolds_number"] = scales.taylor_reynolds_number;
    attributes["normalized_dissipation"] = scales.normalized_dissipation;
    std::vector<double> dissipation = spectra.k2_energy;
    for (double& value : dissipation) value *= 2.0 * viscosity;
    report.shells("dissipation_spectrum", report.units.of(3, 0), "dissipation in waves, per unit of k",
                  std::move(dissipation));
    report.result.summary += fmt::format(", R_lambda {:.3g}", scales.taylor_reynolds_number);
  }

  void add_gradients(Report& report, const GradientStatistics& gradients) const {
    const auto tensor = [&](const char* name, const std::string& unit, const std::string& meaning,
                            const GradientStatistics::Tensor& values) {
      report.result.add(name, unit, meaning + " of the gradient of each velocity along each axis",
                        {"component", "axis"}, {3, 3}, std::vector(values.begin(), values.end()));
    };
    tensor("gradient_variance", report.units.of(2, -2), "mean square", gradients.variance);
    tensor("gradient_skewness", "1", "skewness <g^3> / <g^2>^(3/2)", gradients.skewness);
    tensor("gradient_flatness", "1", "flatness <g^4> / <g^2>^2", gradients.flatness);
    auto& attributes = report.result.attributes;
    attributes["longitudinal_skewness"] = mean_of(gradients, gradients.skewness, true);
    attributes["longitudinal_flatness"] = mean_of(gradients, gradients.flatness, true);
    attributes["transverse_flatness"] = mean_of(gradients, gradients.flatness, false);
    if (parameters_.pdf_bins == 0) return;
    std::vector<double> centers;
    for (std::int64_t bin = 0; bin < parameters_.pdf_bins; ++bin) centers.push_back(bins().center(bin));
    const auto add = [&](const char* name, const char* meaning, std::vector<double> values) {
      report.result.add(name, "1", meaning, {"deviation_bin"}, {parameters_.pdf_bins}, std::move(values));
    };
    add("deviation", "middle of the bin, in standard deviations", std::move(centers));
    add("longitudinal_gradient_pdf", "probability density of d u_i / d x_i over its standard deviation",
        gradients.longitudinal_pdf);
    add("transverse_gradient_pdf", "probability density of d u_i / d x_j, i not j, over its standard deviation",
        gradients.transverse_pdf);
    add("vorticity_pdf", "probability density of the components of the vorticity over their standard deviation",
        gradients.vorticity_pdf);
  }

  // Over the gradients along (or across) the velocity that do not vanish.
  static double mean_of(const GradientStatistics& gradients, const GradientStatistics::Tensor& values, bool is_along) {
    double sum = 0.0, count = 0.0;
    for (std::size_t place = 0; place < values.size(); ++place)
      if ((place % 4 == 0) == is_along && gradients.flatness[place] > 0.0) {
        sum += values[place];
        ++count;
      }
    return count == 0.0 ? 0.0 : sum / count;
  }

  void add_scalar(Report& report, std::size_t number, const Field& scalar, const ScalarSpectra& spectra) const {
    const std::string unit = unit_of(report.snapshot, scalar.name),
                      square = unit.empty() || unit == "1" ? unit : "(" + unit + ")^2";
    report.shells(scalar.name + "_spectrum", unit_product(square, report.units.length),
                  "variance of " + scalar.name + " in waves, per unit of k", spectra.variance);
    report.axes(scalar.name + "_flux", unit_product(unit, report.units.velocity),
                "mean of " + scalar.name + " times the velocity along x, y, z, both about their means",
                {spectra.flux.begin(), spectra.flux.end()});
    auto& attributes = report.result.attributes;
    attributes[scalar.name + "_mean"] = scalar.mean;
    attributes[scalar.name + "_variance"] = spectra.total;
    const std::optional<double> diffusivity = parameters_.diffusivities.empty()
                                                  ? report.told(scalar.name + "_diffusivity")
                                                  : std::optional(parameters_.diffusivities[number]);
    if (diffusivity) attributes[scalar.name + "_dissipation"] = 2.0 * *diffusivity * spectra.gradients;
  }

  Parameters parameters_;
};

}  // namespace

AnalysisEntry turbulence_entry() {
  return entry_of<Turbulence>("turbulence");
}

}  // namespace sidestream::analysis
