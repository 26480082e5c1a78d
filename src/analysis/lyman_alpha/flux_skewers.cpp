#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/at.hpp"
#include "analysis/entries.hpp"
#include "analysis/lyman_alpha/absorbers.hpp"
#include "analysis/lyman_alpha/lines_of_sight.hpp"
#include "analysis/make.hpp"
#include "sidestream/analysis/covering_grid.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/core/units.hpp"

namespace sidestream::analysis {

namespace {

using Numbers = std::vector<double>;

// The first cells of lines along an axis, in the order of their index.
struct Sample {
  std::vector<mesh::Int3> lines;

  // The largest square lattice of at most so many, spread evenly over the plane across the axis.
  static Sample regular(mesh::Int3 cells, std::int64_t number) {
    const auto side = static_cast<std::int32_t>(std::sqrt(static_cast<double>(number)));
    Sample sample;
    const auto count = [&](int axis) { return std::min(side, cells[axis]); };
    const auto place = [&](int axis, std::int32_t n) {
      return static_cast<std::int32_t>((2 * std::int64_t{n} + 1) * cells[axis] / (2 * std::int64_t{count(axis)}));
    };
    for (std::int32_t k = 0; k < count(2); ++k)
      for (std::int32_t j = 0; j < count(1); ++j)
        for (std::int32_t i = 0; i < count(0); ++i) sample.lines.push_back({place(0, i), place(1, j), place(2, k)});
    return sample;
  }

  // So many different ones, or all if there are no more.
  static Sample random(mesh::Int3 cells, std::int64_t number, std::int64_t seed) {
    constexpr std::uint64_t stream = 0x666c7578;
    const std::int64_t all = cells.product();
    std::set<std::int64_t> chosen;
    for (std::uint64_t draw = 0; static_cast<std::int64_t>(chosen.size()) < std::min(number, all); ++draw)
      chosen.insert(static_cast<std::int64_t>(core::uniform(static_cast<std::uint64_t>(seed), stream, draw) *
                                              static_cast<double>(all)));
    Sample sample;
    for (const std::int64_t index : chosen) sample.lines.push_back(cell_at(mesh::domain_of(cells), index));
    return sample;
  }

  // Each line a box, dealt to the ranks in order.
  mesh::Layout layout(const mesh::Layout& grid, int ranks, int axis) const {
    std::vector<mesh::Box> boxes;
    std::vector<std::int32_t> owners;
    const auto number = static_cast<std::int64_t>(lines.size());
    for (std::int64_t n = 0; n < number; ++n) {
      mesh::Box box{lines[at(n)], lines[at(n)] + mesh::Int3{1, 1, 1}};
      box.hi[axis] = grid.domain().hi[axis];
      boxes.push_back(box);
      owners.push_back(static_cast<std::int32_t>(n * ranks / number));
    }
    return {grid.domain(), grid.periodic(), std::move(boxes), std::move(owners), grid.level()};
  }
};

class FluxSkewers final : public Analysis {
 public:
  struct Parameters : AbsorptionOptions {
    std::string axis, choose;
    std::int64_t number = 0, seed = 0;
  };

  static core::Table<Parameters> table() {
    auto table = task_table<Parameters>("Lines of sight through the Lyman-alpha forest: gas, optical depth and flux");
    table.option("axis", &Parameters::axis, "z").one_of({"x", "y", "z"}).doc("axis of the box to look along");
    table.option("choose", &Parameters::choose, "regular")
        .one_of({"regular", "random"})
        .doc("lines on a square lattice, or at random");
    table.option("number", &Parameters::number, 100)
        .range(1, 1e6)
        .doc("number of lines; of regular ones the largest square number that is not above it");
    table.option("seed", &Parameters::seed, 1).at_least(0).doc("of random lines");
    AbsorptionOptions::add_to(table);
    return table;
  }

  explicit FluxSkewers(Parameters parameters)
      : parameters_(std::move(parameters)),
        absorption_(absorption_of(parameters_, {parameters_.axis})),
        axis_(absorption_.axes.front()) {}

  std::vector<std::string> fields() const override { return absorption_.fields(); }

  void check(const mesh::Box& domain) const override { check_covering_grid(domain, absorption_.level); }

  mesh::Result run(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const override {
    const Absorbers gas = absorbers_of(comm, snapshot, absorption_);
    const mesh::Layout& grid = gas.density.layout();
    const Sample sample = sample_of(grid.domain().extent());
    const mesh::Layout lines = sample.layout(grid, comm.size(), axis_);
    const LineCells cells = gathered(comm, gas, axis_, lines);
    mesh::Field<double> depth(lines, comm.rank());
    if (!comm.all(find_depth(cells, gas, axis_, absorption_.broadening, depth))) refuse_absorbers(comm, gas, axis_);

    // Lines are dealt in order, so what the ranks have in their order is all lines in theirs.
    const auto all_of = [&](const mesh::Field<double>& field) { return comm.gather(field.all()); };
    const Numbers density = all_of(cells.density), temperature = all_of(cells.temperature),
                  velocity = all_of(cells.velocity), depths = all_of(depth);
    mesh::Result result;
    if (comm.rank() != 0) return result;
    add_pixels(result, gas);
    add_places(result, gas, sample);
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
    result.attributes["axis"] = parameters_.axis;
    absorption_.describe(result, gas.flow, snapshot);
    result.summary =
        fmt::format("{} {} along {}", lines.size(), lines.size() == 1 ? "line" : "lines", parameters_.axis);
    return result;
  }

 private:
  Sample sample_of(mesh::Int3 cells) const {
    cells[axis_] = 1;
    return parameters_.choose == "regular" ? Sample::regular(cells, parameters_.number)
                                           : Sample::random(cells, parameters_.number, parameters_.seed);
  }

  void add_pixels(mesh::Result& result, const Absorbers& gas) const {
    const double width = gas.flow.velocity_of(gas.geometry.cell_size(axis_));
    const double begin = absorption_.line.wavelength * (1.0 + gas.flow.redshift);
    const std::int64_t pixels = gas.geometry.domain.extent()[axis_];
    Numbers velocity, wavelength;
    for (std::int64_t j = 0; j < pixels; ++j) {
      velocity.push_back((static_cast<double>(j) + 0.5) * width);
      wavelength.push_back(begin * core::exp(velocity.back() / core::units::speed_of_light));
    }
    result.add("velocity", "km/s", "middle of the pixel by the Hubble flow from the beginning of the line", {"pixel"},
               {pixels}, velocity);
    result.add("wavelength", "Angstrom", "observed, of the middle; the line begins at the redshift of the snapshot",
               {"pixel"}, {pixels}, wavelength);
  }

  static void add_places(mesh::Result& result, const Absorbers& gas, const Sample& sample) {
    for (int axis = 0; axis < 3; ++axis) {
      Numbers places;
      for (const mesh::Int3& first : sample.lines) places.push_back((first[axis] + 0.5) * gas.geometry.cell_size(axis));
      result.add(std::string(1, "xyz"[axis]), "Mpc", "centre of the first cell of the line", {"line"},
                 {static_cast<std::int64_t>(sample.lines.size())}, std::move(places));
    }
  }

  Parameters parameters_;
  Absorption absorption_;
  int axis_;
};

}  // namespace

AnalysisEntry flux_skewers_entry() {
  return entry_of<FluxSkewers>("flux_skewers");
}

}  // namespace sidestream::analysis
