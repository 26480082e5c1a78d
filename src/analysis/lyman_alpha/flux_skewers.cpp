#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "analysis/entries.hpp"
#include "analysis/lyman_alpha/absorbers.hpp"
#include "analysis/lyman_alpha/line_sample.hpp"
#include "analysis/lyman_alpha/lines_of_sight.hpp"
#include "analysis/lyman_alpha/mock_spectra.hpp"
#include "analysis/make.hpp"
#include "sidestream/analysis/covering_grid.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"

namespace sidestream::analysis {

namespace {

using Numbers = std::vector<double>;

constexpr std::int64_t usual_number = 100;  // of lines
constexpr double least_signal_to_noise = 1e-3;

std::vector<Point> points_of(const core::Node& node) {
  std::vector<Point> points;
  for (const core::Node& row : node.elements()) {
    const core::Node::Array& numbers = row.elements();
    if (numbers.size() != 3) core::reject(row, "a position has three coordinates", "write [x, y, z] in comoving Mpc");
    points.push_back({numbers[0].number(), numbers[1].number(), numbers[2].number()});
    for (const double coordinate : points.back())
      if (!std::isfinite(coordinate)) core::reject(row, "a position is not finite");
  }
  return points;
}

class FluxSkewers final : public Analysis {
 public:
  struct Parameters : AbsorptionOptions {
    std::string axis, choose;
    std::vector<Point> positions;
    std::optional<std::int64_t> number;
    std::int64_t seed = 0;
    double resolution = 0.0, pixel = 0.0, signal_to_noise = 0.0;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Lines of sight through the Lyman-alpha forest: gas, optical depth and flux");
    table.option("axis", &Parameters::axis, "z").one_of({"x", "y", "z"}).doc("axis of the box to look along");
    table.option("choose", &Parameters::choose, "regular")
        .one_of({"regular", "random", "positions"})
        .doc("lines on a square lattice, at random, or through `positions`");
    table.parsed<std::vector<Point>>("positions", &Parameters::positions, {}, points_of)
        .doc("[[x, y, z], ...] in comoving Mpc: points that lines go through, such as the halos of a catalogue");
    table.option("number", &Parameters::number, std::nullopt)
        .range(1, 1e6)
        .doc("number of lines, 100 without it; of regular ones the largest square number that is not above it");
    table.option("seed", &Parameters::seed, 1).at_least(0).doc("of random lines, and of noise");
    table.option("resolution", &Parameters::resolution, 0.0)
        .range(0.0, 1e4)
        .doc("mock spectra: full width at half maximum of the profile of the spectrograph [km/s]");
    table.option("pixel", &Parameters::pixel, 0.0)
        .range(0.0, 1e4)
        .doc("mock spectra: width of a pixel [km/s], or the nearest that divides the line; 0: a cell");
    table.option("signal_to_noise", &Parameters::signal_to_noise, 0.0)
        .range(0.0, 1e9)
        .doc("mock spectra: signal over noise in a pixel without absorption, 0.001 at least; 0: no noise");
    AbsorptionOptions::add_to(table);
    return table;
  }

  explicit FluxSkewers(Parameters parameters)
      : parameters_(std::move(parameters)),
        absorption_(absorption_of(parameters_, {parameters_.axis})),
        axis_(absorption_.axes.front()),
        spectrograph_{parameters_.resolution, parameters_.pixel, parameters_.signal_to_noise, parameters_.seed} {
    if ((parameters_.choose == "positions") != !parameters_.positions.empty())
      throw core::Error("lines through positions take both `choose = \"positions\"` and `positions`", "choose",
                        "write positions = [[x, y, z], ...] in comoving Mpc, or leave both out");
    if (parameters_.number && !parameters_.positions.empty())
      throw core::Error("there are as many lines through positions as these say", "number", "leave `number` out");
    if (spectrograph_.signal_to_noise > 0.0 && spectrograph_.signal_to_noise < least_signal_to_noise)
      throw core::Error(fmt::format("a signal to noise of {:g} is all noise", spectrograph_.signal_to_noise),
                        "signal_to_noise", "0.001 is the least, 0 is without noise");
  }

  std::vector<std::string> fields() const override { return absorption_.fields(); }

  void check(const mesh::Box& domain) const override { check_covering_grid(domain, absorption_.level); }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const Absorbers gas = absorbers_of(comm, snapshot, absorption_);
    const mesh::Layout& grid = gas.density.layout();
    const LinesThroughPoints chosen = lines_of(gas.geometry);
    const mesh::Layout lines = chosen.sample.layout(grid, comm.size());
    if (!spectrograph_.is_perfect())
      check_pixels(spectrograph_, lines.size(), grid.domain().extent()[axis_], width_of_pixel(gas));
    LineCells cells;
    cells.gather(comm, gas, axis_, lines);
    mesh::Field<double> depth(lines, comm.rank());
    if (!comm.all(find_depth<double>(cells, gas, axis_, absorption_.broadening, depth)))
      refuse_absorbers(comm, gas, axis_);

    // Lines are dealt in order, so what the ranks have in their order is all lines in theirs.
    const auto all_of = [&](const mesh::Field<double>& field) { return comm.gather(field.all()); };
    const Numbers density = all_of(cells.density), temperature = all_of(cells.temperature),
                  velocity = all_of(cells.velocity), depths = all_of(depth);
    mesh::Result result;
    if (comm.rank() != 0) return result;
    add_pixels(result, gas.flow, "", grid.domain().extent()[axis_], width_of_pixel(gas));
    add_places(result, gas, chosen);
    const auto add = [&](const std::string& name, const std::string& unit, const std::string& meaning, Numbers values) {
      result.add(name, unit, meaning, {"line", "pixel"}, {lines.size(), grid.domain().extent()[axis_]},
                 std::move(values));
    };
    Numbers flux(depths.size());
    transmitted_flux(depths, 1.0, flux);
    add(absorption_.line.quantity, "1/cm^3", "number of " + absorption_.line.ion + " atoms in a proper volume",
        density);
    add("temperature", "K", "temperature of the gas", temperature);
    add("peculiar_velocity", "km/s", "proper velocity of the gas along the line, away from its beginning", velocity);
    add("optical_depth", "1", "optical depth in Lyman alpha", depths);
    add("flux", "1", "exp(-optical_depth)", flux);
    result.summary =
        fmt::format("{} {} along {}{}", lines.size(), lines.size() == 1 ? "line" : "lines", parameters_.axis,
                    lines.size() == most_lines(gas.geometry.domain.extent()) ? ", all there are" : "");
    if (!spectrograph_.is_perfect()) add_mock(result, gas, flux);
    result.attributes["axis"] = parameters_.axis;
    absorption_.describe(result, gas.flow);
    return result;
  }

 private:
  LinesThroughPoints lines_of(const mesh::Geometry& geometry) const {
    const mesh::Int3 cells = geometry.domain.extent();
    const std::int64_t number = parameters_.number.value_or(usual_number);
    if (parameters_.choose == "positions") return lines_through(parameters_.positions, geometry, axis_);
    if (parameters_.choose == "regular") return {regular_lines(cells, axis_, number), {}};
    return {random_lines(cells, axis_, number, parameters_.seed), {}};
  }

  std::int64_t most_lines(const mesh::Int3& cells) const { return cells.product() / cells[axis_]; }

  double width_of_pixel(const Absorbers& gas) const { return gas.flow.velocity_of(gas.geometry.cell_size(axis_)); }

  // Pixels of this width [km/s]; the names of their columns and dimension begin with `kind`.
  void add_pixels(mesh::Result& result, const HubbleFlow& flow, const std::string& kind, std::int64_t pixels,
                  double width) const {
    const double begin = absorption_.line.wavelength * (1.0 + flow.redshift);
    Numbers velocity, wavelength;
    for (std::int64_t j = 0; j < pixels; ++j) {
      velocity.push_back((static_cast<double>(j) + 0.5) * width);
      wavelength.push_back(begin * core::exp(velocity.back() / core::units::speed_of_light));
    }
    result.add(kind + "velocity", "km/s", "middle of the pixel by the Hubble flow from the beginning of the line",
               {kind + "pixel"}, {pixels}, velocity);
    result.add(kind + "wavelength", "Angstrom",
               "observed, of the middle; the line begins at the redshift of the snapshot", {kind + "pixel"}, {pixels},
               wavelength);
  }

  void add_mock(mesh::Result& result, const Absorbers& gas, const Numbers& flux) const {
    const std::int64_t pixels = gas.geometry.domain.extent()[axis_];
    const double width = width_of_pixel(gas);
    const std::int64_t number = mock_pixels(spectrograph_, pixels, width);
    const double mock_width = static_cast<double>(pixels) * width / static_cast<double>(number);
    add_pixels(result, gas.flow, "mock_", number, mock_width);
    result.add("mock_flux", "1", "flux as a spectrograph sees it", {"line", "mock_pixel"},
               {static_cast<std::int64_t>(flux.size()) / pixels, number},
               mock_flux(spectrograph_, flux, pixels, width, number));
    result.attributes["mock_resolution"] = parameters_.resolution;
    result.attributes["mock_pixel_width"] = mock_width;
    result.attributes["mock_signal_to_noise"] = parameters_.signal_to_noise;
    result.attributes["mock_cell_width"] = width;
    const std::string warning = warning_of(width, mock_width);
    if (warning.empty()) return;
    result.attributes["mock_warning"] = warning;
    result.summary += "; mock spectra: " + warning;
  }

  // Of spectra that are finer than the gas is known.
  std::string warning_of(double cell_width, double pixel_width) const {
    const double resolution = spectrograph_.resolution;
    if (resolution > 0.0 && resolution < cell_width)
      return fmt::format("lines are as wide as the cells, {:.3g} km/s, not as the resolution, {:.3g} km/s", cell_width,
                         resolution);
    if (resolution == 0.0 && pixel_width < 0.999 * cell_width)
      return fmt::format("the flux is one in each cell of {:.3g} km/s, in steps for pixels of {:.3g} km/s", cell_width,
                         pixel_width);
    return "";
  }

  static void add_places(mesh::Result& result, const Absorbers& gas, const LinesThroughPoints& chosen) {
    for (int axis = 0; axis < 3; ++axis) {
      Numbers places;
      for (const mesh::Int3& first : chosen.sample.lines)
        places.push_back((first[axis] + 0.5) * gas.geometry.cell_size(axis));
      result.add(std::string(1, "xyz"[axis]), "Mpc", "centre of the first cell of the line", {"line"},
                 {static_cast<std::int64_t>(chosen.sample.lines.size())}, std::move(places));
    }
    if (!chosen.line_of_point.empty())
      result.add("position_line", "1", "number of the line through the position", {"position"},
                 {static_cast<std::int64_t>(chosen.line_of_point.size())}, chosen.line_of_point);
  }

  Parameters parameters_;
  Absorption absorption_;
  int axis_;
  Spectrograph spectrograph_;
};

}  // namespace

AnalysisEntry flux_skewers_entry() {
  return entry_of<FluxSkewers>("flux_skewers");
}

}  // namespace sidestream::analysis
