#include "io/content/possible_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "io/content/block_copy.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/sparse.hpp"

namespace sidestream::io {

namespace {

constexpr double smallest_side = 1e-60, largest_side = 1e60;  // the square and the cube of it are numbers, too
constexpr double largest_scale_factor = 1e6, largest_time = 1e100;
constexpr double largest_omega = 10.0, largest_hubble = 10.0;  // h, not km/s/Mpc
constexpr double smallest_gamma = 1.0, largest_gamma = 100.0;
constexpr std::size_t longest_name = 256;
constexpr const char* hint =
    "nothing of it was used: mend the file, which is damaged, of another kind, or in units that are not those of its "
    "format";

// What formats call what they tell.
struct Entry {
  std::string_view number, nyx, enzo, flash;
};
constexpr std::array entries{
    Entry{"time", "Header", "InitialTime", "real scalars: time"},
    Entry{"step", "Header", "InitialCycleNumber", "integer scalars: nstep"},
    Entry{"length", "Header", "DomainRightEdge", "real runtime parameters: xmax"},
    Entry{"origin", "Header", "DomainLeftEdge", "real runtime parameters: xmin"},
    Entry{"scale_factor", "comoving_a", "CosmologyCurrentRedshift", "real scalars: scalefactor"},
    Entry{"omega_m", "job_info: Omega_m (comoving)", "CosmologyOmegaMatterNow", "real runtime parameters: omegamatter"},
    Entry{"omega_lambda", "job_info: Omega_lambda (comoving)", "CosmologyOmegaLambdaNow",
          "real runtime parameters: cosmologicalconstant"},
    Entry{"hubble", "job_info: h (comoving)", "CosmologyHubbleConstantNow", "real runtime parameters: hubbleconstant"},
    Entry{"gamma", "", "Gamma", "real runtime parameters: gamma"},
    Entry{"boxes", "Level_*/Cell_H", ".hierarchy", "bounding box"},
};

std::string place_of(const FileDescription& file, std::string_view number) {
  const auto found = std::ranges::find(entries, number, &Entry::number);
  std::string_view entry = number;
  if (found != entries.end()) {
    const bool is_flash = file.format.starts_with("flash") || file.format == "sidestream";
    const std::string_view named = file.format == "nyx"              ? found->nyx
                                   : file.format.starts_with("enzo") ? found->enzo
                                   : is_flash                        ? found->flash
                                                                     : std::string_view{};
    if (!named.empty()) entry = named;
  }
  return fmt::format("{}, `{}`", file.state.source, entry);
}

std::optional<ImpossibleNumber> beyond(std::string_view number, const std::string& what, double value, double lowest,
                                       double highest) {
  if (value >= lowest && value <= highest) return std::nullopt;
  return ImpossibleNumber{std::string(number),
                          fmt::format("{} is {}, not from {} to {}", what, value, lowest, highest)};
}

void require(const FileDescription& file, const std::optional<ImpossibleNumber>& bad) {
  if (bad) throw core::Error(bad->what, place_of(file, bad->number), hint);
}

void require_geometry(const FileDescription& file) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const char name = "xyz"[axis];
    require(file, beyond("length", fmt::format("the side of the domain along {}", name),
                         file.state.geometry.length[axis], smallest_side, largest_side));
    require(file, beyond("origin", fmt::format("the lower corner of the domain along {}", name), file.origin[axis],
                         -largest_side, largest_side));
  }
}

bool is_printable(std::string_view name) {
  return !name.empty() && name.size() <= longest_name &&
         std::ranges::all_of(name, [](char c) { return ' ' <= c && c <= '~'; });
}

void require_names(const FileDescription& file) {
  const auto require_name = [&](const std::string& name, const char* what) {
    if (is_printable(name)) return;
    std::string shown = name.substr(0, 40);
    std::ranges::replace_if(
        shown, [](char c) { return c < ' ' || c > '~'; }, '?');
    throw core::Error(fmt::format("the name of {} has {} bytes, `{}`, and cannot be one", what, name.size(), shown),
                      file.state.source, fmt::format("a name has 1 to {} letters, digits and signs", longest_name));
  };
  const auto require_unit = [&](const std::string& unit, const char* what) {
    if (!unit.empty()) require_name(unit, what);
  };
  for (const mesh::Quantity& field : file.fields) {
    require_name(field.name, "a field");
    require_unit(field.unit, "the unit of a field");
  }
  for (const mesh::ParticleAttribute& number : file.no_particles.attributes) {
    require_name(number.name, "a number of particles");
    require_unit(number.unit, "the unit of a number of particles");
  }
}

void require_whole_domain(const FileDescription& file) {
  if (file.state.levels.empty()) throw core::Error("there is no level", place_of(file, "boxes"), hint);
  const mesh::Layout& coarsest = file.state.levels.front();
  std::int64_t cells = 0;
  for (const mesh::Box& box : coarsest.boxes()) cells += box.volume();
  if (const std::int64_t all = coarsest.domain().volume(); cells != all)
    throw core::Error(fmt::format("the boxes of level 0 leave holes: they have {} of its {} cells", cells, all),
                      place_of(file, "boxes"), hint);
}

// The cells of the next coarser level that meet `box`.

void require_nested_levels(const FileDescription& file) {
  for (std::size_t level = 1; level < file.state.levels.size(); ++level) {
    const mesh::Layout& coarser = file.state.levels[level - 1];
    for (const mesh::Box& box : file.state.levels[level].boxes()) {
      const mesh::Box below = coarsened(box, file.ratios.at(level));
      std::int64_t cells = 0;
      coarser.for_each_meeting(below, [&](std::int32_t b) { cells += intersection(coarser.box(b), below).volume(); });
      if (cells != below.volume())
        throw core::Error(fmt::format("box {} of level {} does not lie within the boxes of level {}",
                                      mesh::to_string(box), level, level - 1),
                          place_of(file, "boxes"), hint);
    }
  }
}

// By the words of files.
bool is_never_negative(std::string_view field) {
  constexpr std::array names{
      "density",  "total_density", "particle_mass_density", "gas_density", "dark_matter_density", "Temp", "temperature",
      "pressure", "mass",          "particle_mass"};
  return std::ranges::find(names, field) != names.end();
}

}  // namespace

std::optional<ImpossibleNumber> impossible_number(const mesh::Moment& moment) {
  const auto attribute = [&](const char* name, const char* what, double lowest, double highest) {
    const auto found = moment.attributes.find(name);
    return found != moment.attributes.end() ? beyond(name, what, found->second, lowest, highest) : std::nullopt;
  };
  if (auto bad = beyond("time", "the time", moment.time, -largest_time, largest_time)) return bad;
  if (moment.step < 0) return ImpossibleNumber{"step", fmt::format("the step is {}, which is negative", moment.step)};
  if (moment.scale_factor)
    if (auto bad = beyond("scale_factor", "the scale factor", *moment.scale_factor, 1.0 / largest_scale_factor,
                          largest_scale_factor))
      return bad;
  if (auto bad = attribute("omega_m", "Omega of matter", 0.0, largest_omega)) return bad;
  if (auto bad = attribute("omega_lambda", "Omega of the cosmological constant", -largest_omega, largest_omega))
    return bad;
  return attribute("hubble", "the Hubble constant, in 100 km/s/Mpc,", 0.0, largest_hubble);
}

void require_possible(const FileDescription& file) {
  require_names(file);
  require_geometry(file);
  require(file, impossible_number(file.state.moment));
  require(file, beyond("gamma", "the adiabatic index", file.state.gamma, smallest_gamma, largest_gamma));
  if (is_sparse(file)) return;
  require_whole_domain(file);
  require_nested_levels(file);
}

void require_possible_cells(const FileDescription& file, std::size_t field, int level, std::int32_t box,
                            std::span<const double> cells) {
  const std::string& name = file.fields[field].name;
  const double lowest = is_never_negative(name) ? 0.0 : -std::numeric_limits<double>::max();
  const auto bad = std::ranges::find_if(
      cells, [&](double value) { return !(value >= lowest && value <= std::numeric_limits<double>::max()); });
  if (bad == cells.end()) return;
  const mesh::Box& place = file.state.levels[static_cast<std::size_t>(level)].box(box);
  const mesh::Int3 n = place.extent();
  const std::int64_t index = bad - cells.begin();
  const mesh::Int3 cell{place.lo.x + static_cast<std::int32_t>(index % n.x),
                        place.lo.y + static_cast<std::int32_t>(index / n.x % n.y),
                        place.lo.z + static_cast<std::int32_t>(index / n.x / n.y)};
  throw core::Error(
      fmt::format("`{}` is {} in a cell, which it cannot be", name, *bad),
      fmt::format("{}, `{}`, level {}, cell ({}, {}, {})", file.state.source, name, level, cell.x, cell.y, cell.z),
      hint);
}

void require_possible_particles(const FileDescription& file, const mesh::Particles& particles) {
  const auto fail = [&](std::size_t particle, const std::string& what, double value) {
    throw core::Error(fmt::format("{} of a particle is {}, which it cannot be", what, value),
                      fmt::format("{}, particle with the id {}", file.state.source, particles.id[particle]), hint);
  };
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t p = 0; p < particles.size(); ++p)
      if (!(std::abs(particles.position[axis][p]) <= largest_side))
        fail(p, fmt::format("the place along {}", "xyz"[axis]), particles.position[axis][p]);
  for (const mesh::ParticleAttribute& number : particles.attributes) {
    if (!is_never_negative(number.name)) continue;
    for (std::size_t p = 0; p < number.values.size(); ++p)
      if (!(number.values[p] >= 0.0 && std::isfinite(number.values[p])))
        fail(p, fmt::format("`{}`", number.name), number.values[p]);
  }
}

std::int64_t whole_number(double value, const std::string& entry, const std::string& path) {
  constexpr double largest = 9.0e18;
  if (!(std::abs(value) <= largest))
    throw core::Error(fmt::format("{} is no whole number that can be", value), fmt::format("{}, `{}`", path, entry),
                      hint);
  return static_cast<std::int64_t>(value);
}

}  // namespace sidestream::io
