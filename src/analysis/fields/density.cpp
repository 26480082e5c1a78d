#include "sidestream/analysis/density.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "analysis/fields/levels.hpp"
#include "sidestream/core/compact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::analysis {

namespace {

constexpr const char* total_name = "total_density";
constexpr const char* gas_name = "gas_density";
constexpr const char* dark_name = "dark_matter_density";
constexpr std::array<std::string_view, 4> known_densities{"Msun/Mpc^3", "Msun/kpc^3", "g/cm^3", "kg/m^3"};

bool has_density_name(const std::string& name) {
  return name == total_name || name == gas_name || name == dark_name;
}

// A field that the snapshot keeps.
LeafField borrowed(const mesh::Snapshot& snapshot, const std::string& name) {
  LeafField levels;
  for (int level = 0; level <= snapshot.finest_level(); ++level) levels.push_back(snapshot.field(name, level));
  return levels;
}

ScalarView sum_of(const ScalarView& a, const ScalarView& b) {
  auto sum = std::make_shared<mesh::Field<double>>(a.layout(), a.rank());
  for (int block = 0; block < a.blocks(); ++block)
    core::for_each_cell(a.box(block), [to = sum->view(block), one = a.view(block), other = b.view(block)](
                                          int k, int j, int i) { to(k, j, i) = one(k, j, i) + other(k, j, i); });
  return sum;
}

// Adds what `of` makes of the cells of this rank, each 2^`power` times.
template <class Of>
void add_cells(const ScalarView& field, int power, const Of& of, core::ExactSum& sum) {
  core::CompactSum own;
  for (int b = 0; b < field.blocks(); ++b) {
    const mesh::Box& box = field.box(b);
    const auto view = field.view(b);
    const auto length = static_cast<std::size_t>(box.extent().x);
    core::for_each_row(box, [&](int k, int j) {
      for (const double value : std::span(&view(k, j, box.lo.x), length)) own.add(of(value), power);
    });
  }
  own.add_to(sum);
}

std::int64_t cells_of(const ScalarView& field) {
  std::int64_t cells = 0;
  for (int b = 0; b < field.blocks(); ++b) cells += field.box(b).volume();
  return cells;
}

}  // namespace

bool has_own_total(const mesh::Snapshot& snapshot) {
  return snapshot.has(total_name) && !snapshot.quantity(total_name).is_of_parts;
}

LeafField total_density(const mesh::Snapshot& snapshot) {
  const bool has_gas = snapshot.has(gas_name), has_dark = snapshot.has(dark_name);
  if (has_own_total(snapshot) || (has_gas && has_dark && snapshot.has(total_name)))
    return borrowed(snapshot, total_name);
  if (!has_gas || !has_dark) return borrowed(snapshot, has_gas ? gas_name : dark_name);
  LeafField levels;
  for (int level = 0; level <= snapshot.finest_level(); ++level)
    levels.push_back(sum_of(snapshot.field(gas_name, level), snapshot.field(dark_name, level)));
  return levels;
}

LeafField field_or_total(const mesh::Snapshot& snapshot, const std::string& name) {
  return name == total_name ? total_density(snapshot) : borrowed(snapshot, name);
}

std::vector<std::string> names_for(const std::string& name) {
  if (name != total_name) return {name};
  return {std::string(total_name) + "?", std::string(gas_name) + "?", std::string(dark_name) + "?"};
}

std::string unit_of(const mesh::Snapshot& snapshot, const std::string& name) {
  if (name != total_name || snapshot.has(name)) return snapshot.unit(name);
  return snapshot.unit(snapshot.has(gas_name) ? gas_name : dark_name);
}

std::string first_bad_cell(const LeafField& field, const std::string& name) {
  std::string found;
  for (std::size_t level = 0; level < field.size(); ++level)
    for (int b = 0; b < field[level].blocks() && found.empty(); ++b) {
      const auto view = field[level].view(b);
      core::for_each_cell(field[level].box(b), [&](int k, int j, int i) {
        if (!found.empty() || std::isfinite(view(k, j, i))) return;
        found = "the field `" + name + "` holds " + std::to_string(view(k, j, i)) + " at the cell (z, y, x) = (" +
                std::to_string(k) + ", " + std::to_string(j) + ", " + std::to_string(i) + ")" +
                (field.size() > 1 ? " of level " + std::to_string(level) : "");
      });
    }
  return found;
}

namespace {

// Mean over the volume of what `of` makes of the cells; `what` says what is too large where it is no finite number.
template <class Of>
double mean_of(const comm::Communicator& comm, const LeafField& field, const std::string& name, const Of& of,
               const char* what) {
  const int bits = bits_a_level(root_domain(field)), finest = finest_level(field);
  core::ExactSum sum;
  std::vector<std::int64_t> cells;
  for (int level = 0; level <= finest; ++level) {
    const ScalarView& here = field[static_cast<std::size_t>(level)];
    add_cells(here, bits * (finest - level), of, sum);
    cells.push_back(cells_of(here));
  }
  comm.sum(std::span(&sum, 1));
  comm.sum(std::span(cells));
  const double total = sum.value(-bits * finest), weight = volume_weighted(cells, bits);  // in cells of level 0
  if (weight == 0) throw core::Error("the field `" + name + "` has no cells");
  if (!std::isfinite(total)) {
    comm.agree(first_bad_cell(field, name));
    throw core::Error(what + (" of the field `" + name) + "` is too large for a double");
  }
  return total / weight;
}

}  // namespace

double mean(const comm::Communicator& comm, const LeafField& field, const std::string& name) {
  return mean_of(
      comm, field, name, [](double value) { return value; }, "the sum");
}

double deviation(const comm::Communicator& comm, const LeafField& field, const std::string& name, double mean) {
  const auto square = [mean](double value) { return (value - mean) * (value - mean); };
  return std::sqrt(mean_of(comm, field, name, square, "the variance"));
}

bool is_overdensity(const mesh::Snapshot& snapshot, const std::string& name) {
  const std::string unit = unit_of(snapshot, name);
  return unit == "Msun/Mpc^3" ||
         (snapshot.moment.redshift() && (unit == "g/cm^3" || (unit.empty() && has_density_name(name))));
}

void check_unit_of_density(const mesh::Snapshot& snapshot, const std::string& name) {
  const std::string unit = unit_of(snapshot, name);
  if (snapshot.length_unit != "Mpc" || !has_density_name(name) || unit.empty() || unit == "1") return;
  if (std::ranges::find(known_densities, unit) == known_densities.end())
    throw core::Error(
        fmt::format("`{}` is in `{}`, which is no unit of a density that is known: the usual thresholds "
                    "do not follow from it",
                    name, unit),
        "", fmt::format("write it as {}, or give `t_boundary` and `t_halo`", fmt::join(known_densities, ", ")));
}

double mean(const comm::Communicator& comm, const ScalarView& field, const std::string& name) {
  return mean(comm, LeafField{field}, name);
}

double Threshold::in(double mean, std::optional<double> deviation) const {
  if (of == Of::value) return value;
  if (of == Of::mean) return value * mean;
  if (!deviation)
    throw core::Error("what is stored of the field does not say its standard deviation", "",
                      "give the threshold as a multiple of the mean (\"60 mean\") or as a value");
  return mean + value * *deviation;
}

Threshold parse_threshold(const std::string& text, const std::string& where) {
  const char* const hint =
      "write \"81.66 mean\" for a multiple of the mean, \"3 sigma\" for standard deviations above the mean, or a value "
      "of the field such as \"4e12\"";
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  std::string unit(end);
  std::erase(unit, ' ');
  if (end == text.c_str())
    throw core::Error("the threshold \"" + text + "\" does not start with a number", where, hint);
  if (!std::isfinite(value)) throw core::Error("the threshold \"" + text + "\" is not a finite number", where, hint);
  if (unit == "mean") return {value, Threshold::Of::mean};
  if (unit == "sigma") return {value, Threshold::Of::sigma};
  if (unit != "" && unit != "Msun/Mpc^3")
    throw core::Error("the threshold \"" + text + "\" has the unknown unit `" + unit + "`", where, hint);
  return {value, Threshold::Of::value};
}

}  // namespace sidestream::analysis
