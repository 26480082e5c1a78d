#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <optional>

#include "analysis/at.hpp"
#include "analysis/entries.hpp"
#include "analysis/lyman_alpha/absorbers.hpp"
#include "analysis/lyman_alpha/depth_histogram.hpp"
#include "analysis/lyman_alpha/flux_statistics.hpp"
#include "analysis/lyman_alpha/line_tile.hpp"
#include "analysis/lyman_alpha/lines_of_sight.hpp"
#include "analysis/lyman_alpha/mean_flux.hpp"
#include "analysis/make.hpp"
#include "analysis/statistics/angular_power.hpp"
#include "analysis/statistics/spectrum.hpp"
#include "sidestream/analysis/covering_grid.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::analysis {

namespace {

using Numbers = std::vector<double>;

template <typename T>
DepthHistogram histogram_of(const comm::Communicator& comm, const mesh::Field<T>& depth, int axis) {
  DepthHistogram histogram;
  Numbers lines(static_cast<std::size_t>(LineTile::most_lines * depth.layout().domain().extent()[axis]));
  for (int b = 0; b < depth.blocks(); ++b)
    for_each_tile(depth.box(b), axis, [&, view = depth.view(b)](const LineTile& tile) {
      tile.load(view, lines);
      histogram.add(std::span(lines).first(tile.size()));
    });
  histogram.sum(comm);
  return histogram;
}

// What was found along one axis.
struct AlongAxis {
  int axis = 0;
  double factor = 1.0;  // of the optical depth
  FluxStatistics flux;
  AngularPower power;
  std::vector<AngularPower> cross;  // with each density
  Numbers slice;                    // where it is wanted
};

// A plane in the middle of the box that holds lines of sight along `axis`, side by side along `other`.
struct Plane {
  int axis, other, across;
  explicit Plane(int along) : axis(along), other((along + 1) % 3), across((along + 2) % 3) {}
};

// Its flux, a row a line. Collective; on rank 0.
Numbers slice_of(const comm::Communicator& comm, const mesh::Field<double>& flux, const Plane& plane) {
  const mesh::Layout& lines = flux.layout();
  mesh::Box box = lines.domain();
  box.lo[plane.across] = (box.lo[plane.across] + box.hi[plane.across]) / 2;
  box.hi[plane.across] = box.lo[plane.across] + 1;
  mesh::Field<double> slice({lines.domain(), lines.periodic(), {box}, {0}, lines.level()}, comm.rank());
  redistribute::Redistribution(comm, lines, slice.layout()).apply(flux, slice);
  Numbers rows;
  if (comm.rank() != 0) return rows;
  for (mesh::Int3 cell = box.lo; cell[plane.other] < box.hi[plane.other]; ++cell[plane.other])
    for (cell[plane.axis] = box.lo[plane.axis]; cell[plane.axis] < box.hi[plane.axis]; ++cell[plane.axis])
      rows.push_back(slice.view(0)(cell.z, cell.y, cell.x));
  return rows;
}

struct Density {
  std::string name;
  Spectrum spectrum;
  double mean = 0.0;
};

class Flux final : public Analysis {
 public:
  struct Parameters : AbsorptionOptions {
    std::vector<std::string> axes, cross;
    std::string mean_flux;
    std::optional<std::string> rescale;
    std::int64_t bins = 0, mu_bins = 0;
    bool slice = false;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Transmitted flux of the Lyman-alpha forest: mean, PDF and power spectra");
    table.option("axes", &Parameters::axes, {"x", "y", "z"}).doc("axes of the box to look along");
    table.option("mean_flux", &Parameters::mean_flux, "simulated")
        .doc(
            "mean flux that the optical depth is multiplied for: a number, or the fit `becker2013`, "
            "`faucher-giguere2008` or `kim2007`");
    table.option("rescale", &Parameters::rescale, std::nullopt)
        .one_of({"together", "each"})
        .doc("with a `mean_flux`: one factor for all axes, which it is without this key, or one for each");
    table.option("bins", &Parameters::bins, 50).range(1, 1e6).doc("number of bins of flux, from 0 to 1");
    table.option("mu_bins", &Parameters::mu_bins, 4)
        .range(0, 1000)
        .doc("bins of the angle to the line of sight for the power in three dimensions; 0: without it");
    table.option("cross", &Parameters::cross, {})
        .doc("densities to take cross spectra of the flux with, in three dimensions");
    table.option("slice", &Parameters::slice, false)
        .doc("whether to keep the flux in a plane of lines along the last of the axes");
    AbsorptionOptions::add_to(table);
    return table;
  }

  explicit Flux(Parameters parameters)
      : parameters_(std::move(parameters)),
        absorption_(absorption_of(parameters_, parameters_.axes)),
        mean_flux_(parameters_.mean_flux) {
    if (!parameters_.cross.empty() && parameters_.mu_bins == 0)
      throw core::Error("cross spectra are of three dimensions", "cross", "take one of the `mu_bins` or more");
    if (parameters_.rescale && parameters_.mean_flux == "simulated")
      throw core::Error("there is no mean flux to rescale to", "rescale",
                        "say it with `mean_flux`, such as \"becker2013\", or leave `rescale` out");
  }

  std::vector<std::string> fields() const override {
    std::vector<std::string> names = absorption_.fields();
    for (const std::string& name : parameters_.cross) append_new(names, names_for(name));
    return names;
  }

  void check(const mesh::Box& domain) const override { check_covering_grid(domain, absorption_.level); }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const Absorbers gas = absorbers_of(comm, snapshot, absorption_);
    const Box box{comm, gas, densities(comm, snapshot, gas.density.layout())};
    const std::optional<double> wanted = mean_flux_.at(gas.flow.redshift);
    const std::vector<AlongAxis> found = wanted && parameters_.rescale.value_or("together") == "together"
                                             ? scaled_together(box, *wanted)
                                             : scaled(box, wanted);
    mesh::Result result;
    if (comm.rank() != 0) return result;
    add_means(result, found);
    add_pdfs(result, found);
    add_power(result, gas, found, snapshot.moment.attribute("hubble"));
    if (parameters_.mu_bins > 0) add_angular_power(result, found, snapshot.moment.attribute("hubble"));
    if (parameters_.slice) add_slice(result, gas.geometry, found.back());
    if (wanted) result.attributes["wanted_mean_flux"] = *wanted;
    absorption_.describe(result, gas.flow);
    return result;
  }

 private:
  struct Box {
    const comm::Communicator& comm;
    const Absorbers& gas;
    std::vector<Density> densities;
  };

  std::vector<Density> densities(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                 const mesh::Layout& cells) const {
    std::vector<Density> all;
    if (parameters_.cross.empty()) return all;
    const CoveringGrid grid(comm, snapshot.levels, absorption_.level);
    const fft::FftPlan<double> plan(comm, cells);
    for (const std::string& name : parameters_.cross)
      all.push_back({name, density_spectrum(comm, plan, grid, snapshot, name),
                     positive_mean(comm, field_or_total(snapshot, name), name)});
    return all;
  }

  // The flux takes the place of the depths.
  AlongAxis along(const Box& box, mesh::Field<double>& depth, int axis, double factor) const {
    AlongAxis found{axis, factor, flux_statistics(box.comm, depth, axis, factor, parameters_.bins), {}, {}, {}};
    if (parameters_.slice && axis == absorption_.axes.back()) found.slice = slice_of(box.comm, depth, Plane(axis));
    if (parameters_.mu_bins == 0) return found;
    const Spectrum spectrum = transform(box.comm, fft::FftPlan<double>(box.comm, depth.layout()), depth);
    std::vector<RelativeField> fields{{spectrum, found.flux.mean}};
    for (const Density& density : box.densities) fields.push_back({density.spectrum, density.mean});
    std::vector<FieldPair> with_flux;
    for (std::size_t other = 0; other < fields.size(); ++other) with_flux.push_back({0, other});
    found.cross = angular_powers(box.comm, fields, with_flux, box.gas.geometry, {}, axis, parameters_.mu_bins);
    found.power = std::move(found.cross.front());
    found.cross.erase(found.cross.begin());
    return found;
  }

  // Each axis for itself.
  std::vector<AlongAxis> scaled(const Box& box, std::optional<double> wanted) const {
    std::vector<AlongAxis> found;
    for (const int axis : absorption_.axes) {
      mesh::Field<double> depth = optical_depth(box.comm, box.gas, axis, absorption_.broadening);
      const double factor = wanted ? histogram_of(box.comm, depth, axis).factor_for(*wanted) : 1.0;
      found.push_back(along(box, depth, axis, factor));
    }
    return found;
  }

  // The factor is known when all axes have been seen. Their optical depths wait for it as floats.
  std::vector<AlongAxis> scaled_together(const Box& box, double wanted) const {
    DepthHistogram histogram;
    std::vector<mesh::Field<float>> depths;
    for (const int axis : absorption_.axes) {
      depths.push_back(optical_depth<float>(box.comm, box.gas, axis, absorption_.broadening));
      histogram.add(histogram_of(box.comm, depths.back(), axis));
    }
    const double factor = histogram.factor_for(wanted);
    std::vector<AlongAxis> found;
    for (std::size_t a = 0; a < depths.size(); ++a) {
      mesh::Field<double> depth(depths[a].layout(), box.comm.rank());
      std::ranges::copy(depths[a].all(), depth.all().begin());
      depths[a] = {};
      found.push_back(along(box, depth, absorption_.axes[a], factor));
    }
    return found;
  }

  static void add_means(mesh::Result& result, const std::vector<AlongAxis>& found) {
    const std::vector<std::int64_t> length{static_cast<std::int64_t>(found.size())};
    std::vector<std::int64_t> axes;
    Numbers means, factors;
    std::string summary;
    for (const AlongAxis& one : found) {
      axes.push_back(one.axis);
      means.push_back(one.flux.mean);
      factors.push_back(one.factor);
      summary += fmt::format("{}{:.4f}", summary.empty() ? "mean flux " : ", ", one.flux.mean);
    }
    result.add("axis", "1", "axis of the lines of sight: 0 is x, 1 is y, 2 is z", {"axis"}, length, axes);
    result.add("mean_flux", "1", "mean over all pixels of lines along the axis", {"axis"}, length, means);
    result.add("depth_factor", "1", "what the optical depths were multiplied by", {"axis"}, length, factors);
    result.summary = summary;
  }

  void add_pdfs(mesh::Result& result, const std::vector<AlongAxis>& found) const {
    const std::vector<std::int64_t> bins{parameters_.bins},
        both{static_cast<std::int64_t>(found.size()), parameters_.bins};
    const auto width = 1.0 / static_cast<double>(parameters_.bins);
    Numbers middle, pdf;
    std::vector<std::int64_t> pixels;
    for (std::int64_t bin = 0; bin < parameters_.bins; ++bin)
      middle.push_back((static_cast<double>(bin) + 0.5) * width);
    for (const AlongAxis& one : found) {
      std::int64_t all = 0;
      for (const std::int64_t count : one.flux.pixels) all += count;
      for (const std::int64_t count : one.flux.pixels) {
        pixels.push_back(count);
        pdf.push_back(static_cast<double>(count) / static_cast<double>(all) / width);
      }
    }
    result.add("flux", "1", "middle of the bin; the bins are of equal width from 0 to 1", {"flux_bin"}, bins, middle);
    result.add("flux_count", "1", "number of pixels in the bin; a flux of 1 is in the last one", {"axis", "flux_bin"},
               both, pixels);
    result.add("flux_pdf", "1", "share of the pixels per unit of flux", {"axis", "flux_bin"}, both, pdf);
  }

  static void add_power(mesh::Result& result, const Absorbers& gas, const std::vector<AlongAxis>& found, double h) {
    std::size_t modes = 0;
    for (const AlongAxis& one : found) modes = std::max(modes, one.flux.power.size());
    // Rows of axes with fewer modes end with zeros.
    Numbers k(found.size() * modes), k_velocity(k), power(k), power_velocity(k), dimensionless(k);
    const double km_per_s = gas.flow.velocity_of(1.0);  // of 1 Mpc (comoving)
    for (std::size_t a = 0; a < found.size(); ++a) {
      const double length = gas.geometry.length[at(found[a].axis)];
      for (std::size_t m = 0; m < found[a].flux.power.size(); ++m) {
        const double wave = 2.0 * std::numbers::pi * static_cast<double>(m + 1) / length,
                     of_mode = length * found[a].flux.power[m];
        const std::size_t place = a * modes + m;
        k[place] = wave / h;
        k_velocity[place] = wave / km_per_s;
        power[place] = of_mode * h;
        power_velocity[place] = of_mode * km_per_s;
        dimensionless[place] = wave * of_mode / std::numbers::pi;
      }
    }
    const std::vector<std::string> names{"axis", "mode"};
    const std::vector<std::int64_t> both{static_cast<std::int64_t>(found.size()), static_cast<std::int64_t>(modes)};
    result.add("k", "h/Mpc", "wave number along the line; 0 where the axis has no such mode", names, both, k);
    result.add("k_velocity", "s/km", "the same in velocity", names, both, k_velocity);
    result.add("flux_power", "Mpc/h", "power of flux / mean - 1, the mean over all lines along the axis", names, both,
               power);
    result.add("flux_power_velocity", "km/s", "the same in velocity", names, both, power_velocity);
    result.add("dimensionless_power", "1", "k times the power over pi", names, both, dimensionless);
    if (!are_alike(gas, found)) return;
    const auto mean = [&](const Numbers& of_axes) {
      Numbers means(modes);
      for (std::size_t place = 0; place < of_axes.size(); ++place)
        means[place % modes] += of_axes[place] / static_cast<double>(found.size());
      return means;
    };
    const std::vector<std::int64_t> length{static_cast<std::int64_t>(modes)};
    result.add("mean_flux_power", "Mpc/h", "mean of the powers along the axes", {"mode"}, length, mean(power));
    result.add("mean_flux_power_velocity", "km/s", "the same in velocity", {"mode"}, length, mean(power_velocity));
    result.add("mean_dimensionless_power", "1", "k times the mean power over pi", {"mode"}, length,
               mean(dimensionless));
  }

  void add_angular_power(mesh::Result& result, const std::vector<AlongAxis>& found, double h) const {
    const AngularPower& first = found.front().power;
    const auto axes = static_cast<std::int64_t>(found.size()), bins = parameters_.mu_bins;
    const auto shells = static_cast<std::int64_t>(first.shell_k.size());
    const auto add = [&](const char* name, const char* unit, const char* meaning, auto values) {
      result.add(name, unit, meaning, {"axis", "shell", "mu_bin"}, {axes, shells, bins}, std::move(values));
    };
    Numbers k = first.shell_k, middle;
    for (double& one : k) one /= h;
    for (std::int64_t bin = 0; bin < bins; ++bin)
      middle.push_back((static_cast<double>(bin) + 0.5) / static_cast<double>(bins));
    std::vector<const AngularPower*> powers;
    for (const AlongAxis& one : found) powers.push_back(&one.power);
    result.add("shell_k", "h/Mpc", "mean wave number of the modes in the shell", {"shell"}, {shells}, std::move(k));
    result.add("mu", "1", "middle of the bin of |k along the line| / k", {"mu_bin"}, {bins}, std::move(middle));
    add("mu_modes", "1", "number of modes in shell and bin, k and -k both counted",
        of_all(powers, &AngularPower::modes, std::int64_t{1}));
    add("mu_k", "h/Mpc", "their mean wave number; 0 without modes", of_all(powers, &AngularPower::k, 1.0 / h));
    add("mu_mean", "1", "their mean |k along the line| / k", of_all(powers, &AngularPower::mu, 1.0));
    add_spectrum(result, powers, {"flux", "mu_power", "power of flux / mean - 1 in three dimensions"}, h);
    for (std::size_t c = 0; c < parameters_.cross.size(); ++c) {
      const std::string& density = parameters_.cross[c];
      for (std::size_t a = 0; a < found.size(); ++a) powers[a] = &found[a].cross[c];
      add_spectrum(result, powers,
                   {"flux_" + density + "_cross", "flux_" + density + "_cross_mu",
                    "cross power of flux / mean - 1 and the relative fluctuation of " + density},
                   h);
    }
  }

  // Those of all axes, one after the other.
  template <typename T>
  static std::vector<T> of_all(const std::vector<const AngularPower*>& powers, std::vector<T> AngularPower::*member,
                               T unit) {
    std::vector<T> all;
    for (const AngularPower* power : powers)
      for (const T value : power->*member) all.push_back(value * unit);
    return all;
  }

  struct SpectrumNames {
    std::string prefix, by_angle, meaning;
  };
  void add_spectrum(mesh::Result& result, const std::vector<const AngularPower*>& powers, const SpectrumNames& names,
                    double h) const {
    const auto axes = static_cast<std::int64_t>(powers.size());
    const auto shells = static_cast<std::int64_t>(powers.front()->shell_k.size());
    const double volume_unit = h * h * h;
    const auto add_pole = [&](const char* suffix, const char* what, std::vector<double> AngularPower::*member) {
      result.add(names.prefix + suffix, "(Mpc/h)^3", names.meaning + what, {"axis", "shell"}, {axes, shells},
                 of_all(powers, member, volume_unit));
    };
    add_pole("_monopole", "", &AngularPower::monopole);
    add_pole("_quadrupole", ", its quadrupole about the line of sight", &AngularPower::quadrupole);
    add_pole("_hexadecapole", ", its hexadecapole about the line of sight", &AngularPower::hexadecapole);
    result.add(names.by_angle, "(Mpc/h)^3", names.meaning + ", by the angle to the line of sight; 0 without modes",
               {"axis", "shell", "mu_bin"}, {axes, shells, parameters_.mu_bins},
               of_all(powers, &AngularPower::power, volume_unit));
  }

  static void add_slice(mesh::Result& result, const mesh::Geometry& geometry, const AlongAxis& found) {
    const Plane plane(found.axis);
    const mesh::Int3 cells = geometry.domain.extent();
    const auto add_places = [&](const char* name, const char* meaning, int axis) {
      Numbers places;
      for (int i = 0; i < cells[axis]; ++i) places.push_back((i + 0.5) * geometry.cell_size(axis));
      result.add(name, "Mpc", meaning, {name}, {cells[axis]}, std::move(places));
      result.attributes[std::string(name) + "_axis"] = std::string(1, "xyz"[axis]);
    };
    add_places("slice_line", "place of the line of sight in the plane", plane.other);
    add_places("slice_pixel", "middle of the pixel along the line of sight, by the Hubble flow", plane.axis);
    result.add("flux_slice", "1", "flux in a plane through the middle of the box", {"slice_line", "slice_pixel"},
               {cells[plane.other], cells[plane.axis]}, found.slice);
  }

  // Whether all axes have the same modes.
  static bool are_alike(const Absorbers& gas, const std::vector<AlongAxis>& found) {
    return std::ranges::all_of(found, [&](const AlongAxis& one) {
      return gas.geometry.length[at(one.axis)] == gas.geometry.length[at(found.front().axis)] &&
             one.flux.power.size() == found.front().flux.power.size();
    });
  }

  Parameters parameters_;
  Absorption absorption_;
  MeanFlux mean_flux_;
};

}  // namespace

AnalysisEntry flux_entry() {
  return entry_of<Flux>("flux");
}

}  // namespace sidestream::analysis
