#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "io/content/block_copy.hpp"
#include "io/formats/folder_seal.hpp"
#include "io/formats/metadata.hpp"
#include "io/formats/nyx/nyx_file.hpp"
#include "io/formats/nyx/nyx_texts.hpp"
#include "io/text/text_reader.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

constexpr int most_levels = 32;
constexpr int most_fields = 4096;
constexpr std::int64_t most_boxes = std::int64_t{1} << 31;
constexpr std::int64_t most_particles = std::int64_t{1} << 44;
constexpr std::int64_t largest_offset = std::int64_t{1} << 60;

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

// The name of a data file as a header gives it: inside its folder, whatever the header says.
std::string plain_file_name(const TextReader& header, std::string_view name) {
  if (name.empty() || name.find('/') != std::string_view::npos || name.starts_with("."))
    header.fail(fmt::format("`{}` is not the name of a data file", name.substr(0, 80)));
  return std::string(name);
}

// Reads the text files of a folder.
class NyxHeaderReader {
 public:
  NyxHeaderReader(FileDescription& description, NyxTables& tables) : description_(description), tables_(tables) {}

  void read_all() {
    const std::optional<std::string> state = check_sealed_texts(description_.state.source);
    is_ours_ = state.has_value();
    if (is_ours_) description_.seal = Seal::kept;
    // Twice: the layouts want the boundaries, and what the seal says counts more than the rounded texts of the format.
    if (is_ours_) apply_seal(*state);
    periodic_ = is_ours_ ? description_.state.geometry.periodic : mesh::Periodicity{true, true, true};
    description_.fields.clear();
    read_header();
    read_scale_factor();
    read_cosmology();
    if (is_ours_ ? description_.has_particles : fs::exists(description_.state.source + "/DM/Header"))
      read_particle_header();
    if (is_ours_)
      finish_ours(*state);
    else if (description_.state.length_unit == "Mpc")
      name_units();
  }

 private:
  using Level = NyxTables::Level;
  using Grid = NyxTables::Grid;

  void name_units() {
    for (mesh::Quantity& field : description_.fields) field.unit = unit_of(field.name);
    for (mesh::ParticleAttribute& number : description_.no_particles.attributes) number.unit = unit_of(number.name);
  }

  // Nyx's own quantities.
  static std::string unit_of(std::string_view name) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 19> units{
        {{"density", "Msun/Mpc^3"},
         {"particle_mass_density", "Msun/Mpc^3"},
         {"total_density", "Msun/Mpc^3"},
         {"xmom", "Msun/Mpc^3 km/s"},
         {"ymom", "Msun/Mpc^3 km/s"},
         {"zmom", "Msun/Mpc^3 km/s"},
         {"rho_E", "Msun/Mpc^3 (km/s)^2"},
         {"rho_e", "Msun/Mpc^3 (km/s)^2"},
         {"pressure", "Msun/Mpc^3 (km/s)^2"},
         {"x_velocity", "km/s"},
         {"y_velocity", "km/s"},
         {"z_velocity", "km/s"},
         {"Temp", "K"},
         {"phi_grav", "(km/s)^2"},
         {"mass", "Msun"},
         {"particle_mass", "Msun"},
         {"xvel", "km/s"},
         {"yvel", "km/s"},
         {"zvel", "km/s"}}};
    const auto found = std::ranges::find(units, name, [](const auto& entry) { return entry.first; });
    return found == units.end() ? "" : std::string(found->second);
  }

  void apply_seal(const std::string& state) {
    apply_metadata(state, description_.state.source + "/sidestream.json", description_);
  }

  void finish_ours(const std::string& state) {
    const std::size_t reals = description_.no_particles.attributes.size();
    const bool has_particles = description_.has_particles;
    apply_seal(state);
    if (static_cast<int>(description_.fields.size()) != tables_.components ||
        description_.has_particles != has_particles ||
        (has_particles && description_.no_particles.attributes.size() != reals))
      throw core::Error("this and `sidestream.json` do not fit together", description_.state.source + "/Header",
                        "the file is damaged");
    if (has_particles && tables_.particle_checksums.size() != tables_.particle_grids.size())
      throw core::Error("another number of grids than there are boxes", description_.state.source + "/DM/Header",
                        "the file is damaged");
  }

  void read_header() {
    TextReader header(description_.state.source + "/Header");
    const std::string version = trimmed(header.line("the version"));
    if (!version.starts_with("HyperCLaw") && !version.starts_with("NavierStokes"))
      header.fail(fmt::format("`{}` is not the first line of a plot file", version.substr(0, 80)));
    const auto count = header.integer("the number of fields", 1, most_fields);
    for (std::int64_t i = 0; i < count; ++i)
      description_.fields.push_back({trimmed(header.line("the name of a field")), ""});
    if (header.integer("the number of dimensions", 1, 3) != 3)
      header.fail("only plot files of three dimensions can be read");
    description_.state.moment.time = header.number("the time");
    const auto levels = header.integer("the finest level", 0, most_levels - 1) + 1;
    read_geometry(header, static_cast<std::size_t>(levels));
    tables_.components = static_cast<int>(field_count());
    for (std::int64_t level = 0; level < levels; ++level) read_level(header, static_cast<int>(level));
  }

  void read_geometry(TextReader& header, std::size_t levels) {
    const auto low = header.numbers("the low corner", 3), high = header.numbers("the high corner", 3);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      description_.origin[axis] = low[axis];
      description_.state.geometry.length[axis] = high[axis] - low[axis];
      if (!std::isfinite(low[axis]) || !std::isfinite(high[axis]) || !(high[axis] > low[axis]))
        header.fail("the high corner is not beyond the low corner");
    }
    header.line("the refinement ratios");
    domains_ = header.boxes("the index boxes of the levels");
    if (domains_.size() != levels) header.fail(fmt::format("{} index boxes for {} levels", domains_.size(), levels));
    for (std::size_t level = 1; level < levels; ++level) ratios_.push_back(read_ratio(header, level));
    description_.state.geometry.domain = domains_[0];
    const auto steps = header.integers("the steps of the levels");
    if (steps.empty()) header.fail("the steps of the levels expected");
    description_.state.moment.step = steps[0];
    for (std::size_t level = 0; level < levels; ++level) header.numbers("the cell sizes of a level", 3);
    header.integer("the coordinate system", 0, 0);
    header.integer("the width of the boundary", 0, 1000);
  }

  // Of the domains of a level and the next coarser one; the line of ratios may be blank.
  mesh::Int3 read_ratio(const TextReader& header, std::size_t level) const {
    const mesh::Box coarse = domains_[level - 1], fine = domains_[level];
    mesh::Int3 ratio;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t n = coarse.extent()[axis], m = fine.extent()[axis];
      if (n < 1 || m < n || m % n != 0 || fine.lo[axis] != coarse.lo[axis] * (m / n))
        header.fail(fmt::format("the index box of level {} is no multiple of that of the next coarser one", level));
      ratio[axis] = static_cast<std::int32_t>(m / n);
    }
    return ratio;
  }

  void read_level(TextReader& header, int level) {
    const auto numbers = header.numbers("a level, its number of boxes and its time", 3);
    header.integers("the step of a level", 1);
    if (numbers[0] != level || !(numbers[1] >= 1) || numbers[1] > static_cast<double>(most_boxes))
      header.fail(fmt::format("level {} and its number of boxes expected", level));
    const auto boxes = static_cast<std::int64_t>(numbers[1]);
    for (std::int64_t i = 0; i < 3 * boxes; ++i) header.numbers("the edges of a box", 2);
    const std::string stem = trimmed(header.line("the path of the level's data"));
    const auto slash = stem.find('/');
    if (slash == std::string::npos) header.fail("the path of the level's data expected, such as `Level_0/Cell`");
    const std::string folder = plain_file_name(header, stem.substr(0, slash));
    read_cell_header(folder, plain_file_name(header, stem.substr(slash + 1)), level, boxes);
  }

  void read_cell_header(const std::string& folder, const std::string& stem, int number, std::int64_t count) {
    TextReader header(description_.state.source + "/" + folder + "/" + stem + "_H");
    Level level;
    if (header.integer("the version", 1, 100) != 1)
      header.fail("data without a header for each box cannot be read; write the file with `vismf.headerversion = 1`");
    header.integer("the way of writing", 0, 100);
    header.integer("the number of components of `Header`", tables_.components, tables_.components);
    level.ghost = static_cast<std::int32_t>(header.integer("the width of the boundary", 0, 64));
    read_boxes(header, number, count);
    for (std::int64_t i = 0; i < count; ++i) level.grids.push_back(read_grid(header, folder));
    read_extremes(header, level.minima, count);
    read_extremes(header, level.maxima, count);
    if (is_ours_) read_checksums(description_.state.source + "/" + folder + "/checksums", level, count);
    tables_.levels.push_back(std::move(level));
  }

  void read_boxes(TextReader& header, int number, std::int64_t count) {
    if (header.integers("the number of boxes", 2)[0] != count) header.fail("another number of boxes than in `Header`");
    std::vector<mesh::Box> boxes;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto found = header.boxes("a box");
      if (found.size() != 1) header.fail("one box a line expected");
      boxes.push_back(found[0]);
    }
    const mesh::Box domain = domains_[static_cast<std::size_t>(number)];
    if (const std::string fault = fault_of_boxes(domain, boxes); !fault.empty()) header.fail(fault);
    if (trimmed(header.line("the end of the boxes")) != ")") header.fail("the end of the boxes, `)`, expected");
    header.integer("the number of boxes again", count, count);
    description_.state.levels.emplace_back(domain, periodic_, std::move(boxes),
                                           std::vector<std::int32_t>(static_cast<std::size_t>(count), 0), number);
    description_.ratios.push_back(ratios_[static_cast<std::size_t>(number)]);
  }

  // For each box the checksum of each field, then, with particles, for each box that of its particles.
  void read_checksums(const std::string& path, Level& level, std::int64_t count) {
    const InputFile file(path);
    const std::int64_t own = count * field_count(), particles = description_.has_particles ? count : 0;
    if (file.size_bytes() != (own + particles) * 8)
      throw core::Error(fmt::format("{} bytes of checksums instead of {}", file.size_bytes(), (own + particles) * 8),
                        path, "the file is damaged");
    level.checksums.resize(static_cast<std::size_t>(own));
    file.read(0, std::as_writable_bytes(std::span(level.checksums)));
    const std::size_t before = tables_.particle_checksums.size();
    tables_.particle_checksums.resize(before + static_cast<std::size_t>(particles));
    file.read(own * 8, std::as_writable_bytes(std::span(tables_.particle_checksums).subspan(before)));
  }

  static Grid read_grid(TextReader& header, const std::string& folder) {
    const std::string line = trimmed(header.line("the place of a box's data"));
    const auto name = line.find(' '), offset = line.rfind(' ');
    if (!line.starts_with("FabOnDisk:") || name == offset) header.fail("`FabOnDisk: FILE OFFSET` expected");
    Grid grid{folder + "/" + plain_file_name(header, line.substr(name + 1, offset - name - 1)), 0};
    try {
      const auto values = integers_in(line.substr(offset));
      if (values.size() != 1 || values[0] < 0) throw std::invalid_argument("an offset is one number, not negative");
      grid.offset = values[0];
    } catch (const std::invalid_argument& problem) {
      header.fail(fmt::format("`FabOnDisk: FILE OFFSET` expected: {}", problem.what()));
    }
    return grid;
  }

  // "boxes,fields" and a line for each box; files may end before it.
  void read_extremes(TextReader& header, std::vector<std::vector<double>>& values, std::int64_t count) const {
    if (header.at_end()) return;
    if (!trimmed(header.line("an empty line")).empty()) header.fail("an empty line before the extremes expected");
    if (header.at_end()) return;
    const auto shape = header.integers("the numbers of boxes and fields", 2);
    if (shape[0] != count || shape[1] != field_count()) header.fail("other numbers of boxes or fields");
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(header.numbers("the extremes of a box", static_cast<int>(shape[1])));
  }

  void read_scale_factor() {
    if (!fs::exists(description_.state.source + "/comoving_a")) return;
    TextReader text(description_.state.source + "/comoving_a");
    description_.state.length_unit = "Mpc";
    description_.state.moment.scale_factor = text.number("the scale factor");
    if (!(*description_.state.moment.scale_factor > 0.0) || !std::isfinite(*description_.state.moment.scale_factor))
      text.fail("the scale factor is not positive");
  }

  void read_cosmology() {
    if (!fs::exists(description_.state.source + "/job_info")) return;
    double omega_m = 0.0, omega_lambda = 0.0, hubble = 0.0;
    const std::pair<double*, const char*> numbers[] = {
        {&omega_m, "Omega_m (comoving):"}, {&omega_lambda, "Omega_lambda (comoving):"}, {&hubble, "h (comoving):"}};
    TextReader text(description_.state.source + "/job_info");
    while (!text.at_end()) {
      const std::string line = trimmed(text.line("a line"));
      if (line == nyx_of_ours && !is_ours_) description_.seal = Seal::lost;
      for (const auto& [number, label] : numbers)
        if (line.starts_with(label)) *number = value_after(text, line, label);
    }
    set_cosmology(description_.state.moment, omega_m, omega_lambda, hubble);
  }

  static double value_after(const TextReader& text, const std::string& line, std::string_view label) {
    try {
      const auto values = numbers_in(std::string_view(line).substr(label.size()));
      if (values.size() == 1) return values[0];
    } catch (const std::invalid_argument&) {
    }
    text.fail(fmt::format("a number after `{}` expected", label));
  }

  void read_particle_header() {
    TextReader header(description_.state.source + "/DM/Header");
    const std::string version = trimmed(header.line("the version"));
    if (!version.starts_with("Version_Two_Dot_Zero_") && !version.starts_with("Version_Two_Dot_One_"))
      header.fail(fmt::format("particles of the unknown version `{}`", version.substr(0, 80)));
    tables_.has_packed_ids = version.starts_with("Version_Two_Dot_One_");
    tables_.has_double_particles = version.ends_with("_double");
    if (!tables_.has_double_particles && !version.ends_with("_single"))
      header.fail("particles neither of single nor of double precision");
    header.integer("the number of dimensions", 3, 3);
    const auto reals = header.integer("the number of reals", 0, most_fields);
    description_.no_particles.attributes.clear();
    for (std::int64_t i = 0; i < reals; ++i)
      description_.no_particles.attributes.push_back({trimmed(header.line("the name of a real")), "", {}});
    const auto integers = header.integer("the number of integers", 0, most_fields);
    for (std::int64_t i = 0; i < integers; ++i) header.line("the name of an integer");
    const bool has_ids = header.integer("whether there are ids", 0, 1) == 1;
    tables_.has_ids = has_ids;
    tables_.particle_integers = has_ids ? static_cast<int>(integers) + 2 : 0;
    tables_.particle_count = header.integer("the number of particles", 0, most_particles);
    header.integer("the next id", 0, std::numeric_limits<std::int64_t>::max());
    read_particle_grids(header);
    tables_.particle_reals = static_cast<std::size_t>(reals);
    description_.particles = tables_.particle_count;
    description_.has_particles = is_ours_ || tables_.particle_count > 0;
  }

  void read_particle_grids(TextReader& header) {
    const auto levels = header.integer("the finest level", 0, most_levels - 1) + 1;
    std::vector<std::int64_t> grids;
    for (std::int64_t level = 0; level < levels; ++level)
      grids.push_back(header.integer("the number of grids", 0, most_boxes));
    std::int64_t total = 0;
    for (std::size_t level = 0; level < grids.size(); ++level)
      for (std::int64_t i = 0; i < grids[level]; ++i) {
        const auto values = header.integers("the file, number and offset of a grid's particles", 3);
        const bool fits = 0 <= values[0] && values[0] < 100'000'000 && 0 <= values[1] &&
                          values[1] <= tables_.particle_count && 0 <= values[2] && values[2] <= largest_offset;
        if (!fits) header.fail("absurd file, number or offset of a grid's particles");
        total += values[1];
        tables_.particle_grids.push_back({static_cast<int>(level), static_cast<int>(values[0]), values[1], values[2]});
        if (total > tables_.particle_count)
          header.fail(fmt::format("more particles than the {} announced", tables_.particle_count));
      }
    if (total != tables_.particle_count)
      header.fail(fmt::format("{} particles instead of the {} announced", total, tables_.particle_count));
  }

  std::int64_t field_count() const { return static_cast<std::int64_t>(description_.fields.size()); }

  FileDescription& description_;
  NyxTables& tables_;
  bool is_ours_ = false;
  mesh::Periodicity periodic_{};
  std::vector<mesh::Box> domains_;
  std::vector<mesh::Int3> ratios_{{1, 1, 1}};
};

}  // namespace

void read_nyx_headers(FileDescription& description, NyxTables& tables) {
  NyxHeaderReader(description, tables).read_all();
}

}  // namespace sidestream::io
