#include "sidestream/io/nyx_plotfile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "block_copy.hpp"
#include "fab.hpp"
#include "nyx_ids.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "text_reader.hpp"

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

}  // namespace

// Reads the text files of a plot file into its tables.
struct NyxPlotfile::Parser {
  NyxPlotfile& out;

  void read_all() {
    read_header();
    read_scale_factor();
    read_cosmology();
    if (fs::exists(out.path_ + "/DM/Header")) read_particle_header();
  }

  void read_header() {
    TextReader header(out.path_ + "/Header");
    const std::string version = trimmed(header.line("the version"));
    if (!version.starts_with("HyperCLaw") && !version.starts_with("NavierStokes"))
      header.fail(fmt::format("`{}` is not the first line of a plot file", version.substr(0, 80)));
    const auto count = header.integer("the number of fields", 1, most_fields);
    for (std::int64_t i = 0; i < count; ++i) out.fields_.push_back(trimmed(header.line("the name of a field")));
    if (header.integer("the number of dimensions", 1, 3) != 3)
      header.fail("only plot files of three dimensions can be read");
    out.time_ = header.number("the time");
    const auto levels = header.integer("the finest level", 0, most_levels - 1) + 1;
    read_geometry(header, static_cast<std::size_t>(levels));
    for (std::int64_t level = 0; level < levels; ++level) read_level(header, static_cast<int>(level));
  }

  void read_geometry(TextReader& header, std::size_t levels) {
    const auto low = header.numbers("the low corner", 3), high = header.numbers("the high corner", 3);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      out.origin_[axis] = low[axis];
      out.geometry_.length[axis] = high[axis] - low[axis];
      if (!std::isfinite(low[axis]) || !std::isfinite(high[axis]) || !(high[axis] > low[axis]))
        header.fail("the high corner is not beyond the low corner");
    }
    header.line("the refinement ratios");
    domains = header.boxes("the index boxes of the levels");
    if (domains.size() != levels) header.fail(fmt::format("{} index boxes for {} levels", domains.size(), levels));
    for (std::size_t level = 1; level < levels; ++level) ratios.push_back(read_ratio(header, level));
    out.geometry_.domain = domains[0];
    const auto steps = header.integers("the steps of the levels");
    if (steps.empty()) header.fail("the steps of the levels expected");
    out.step_ = steps[0];
    for (std::size_t level = 0; level < levels; ++level) header.numbers("the cell sizes of a level", 3);
    header.integer("the coordinate system", 0, 0);
    header.integer("the width of the boundary", 0, 1000);
  }

  // Of the domains of a level and the next coarser one; the line of ratios may be blank.
  mesh::Int3 read_ratio(const TextReader& header, std::size_t level) const {
    const mesh::Box coarse = domains[level - 1], fine = domains[level];
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
    TextReader header(out.path_ + "/" + folder + "/" + stem + "_H");
    Level level;
    level.ratio = ratios[static_cast<std::size_t>(number)];
    if (header.integer("the version", 1, 100) != 1)
      header.fail("data without a header for each box cannot be read; write the file with `vismf.headerversion = 1`");
    header.integer("the way of writing", 0, 100);
    header.integer("the number of components of `Header`", static_cast<int>(out.fields_.size()),
                   static_cast<int>(out.fields_.size()));
    level.ghost = static_cast<std::int32_t>(header.integer("the width of the boundary", 0, 64));
    read_boxes(header, level, number, count);
    for (std::int64_t i = 0; i < count; ++i) level.grids.push_back(read_grid(header, folder));
    read_extremes(header, level.minima, count);
    read_extremes(header, level.maxima, count);
    out.levels_.push_back(std::move(level));
  }

  void read_boxes(TextReader& header, Level& level, int number, std::int64_t count) {
    if (header.integers("the number of boxes", 2)[0] != count) header.fail("another number of boxes than in `Header`");
    std::vector<mesh::Box> boxes;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto found = header.boxes("a box");
      if (found.size() != 1) header.fail("one box a line expected");
      boxes.push_back(found[0]);
    }
    const mesh::Box domain = domains[static_cast<std::size_t>(number)];
    if (const std::string fault = fault_of_boxes(domain, boxes); !fault.empty()) header.fail(fault);
    if (trimmed(header.line("the end of the boxes")) != ")") header.fail("the end of the boxes, `)`, expected");
    header.integer("the number of boxes again", count, count);
    level.layout = mesh::Layout(domain, {true, true, true}, std::move(boxes),
                                std::vector<std::int32_t>(static_cast<std::size_t>(count), 0), number);
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
    if (shape[0] != count || shape[1] != static_cast<std::int64_t>(out.fields_.size()))
      header.fail("other numbers of boxes or fields");
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(header.numbers("the extremes of a box", static_cast<int>(shape[1])));
  }

  void read_scale_factor() {
    if (!fs::exists(out.path_ + "/comoving_a")) return;
    TextReader text(out.path_ + "/comoving_a");
    out.scale_factor_ = text.number("the scale factor");
    if (!(out.scale_factor_ > 0.0) || !std::isfinite(out.scale_factor_)) text.fail("the scale factor is not positive");
  }

  void read_cosmology() {
    if (!fs::exists(out.path_ + "/job_info")) return;
    const std::pair<const char*, const char*> names[] = {
        {"omega_m", "Omega_m (comoving):"}, {"omega_lambda", "Omega_lambda (comoving):"}, {"hubble", "h (comoving):"}};
    TextReader text(out.path_ + "/job_info");
    while (!text.at_end()) {
      const std::string line = trimmed(text.line("a line"));
      for (const auto& [name, label] : names)
        if (line.starts_with(label)) out.cosmology_[name] = value_after(text, line, label);
    }
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
    TextReader header(out.path_ + "/DM/Header");
    ParticleTable& table = out.particles_;
    const std::string version = trimmed(header.line("the version"));
    if (!version.starts_with("Version_Two_Dot_Zero_") && !version.starts_with("Version_Two_Dot_One_"))
      header.fail(fmt::format("particles of the unknown version `{}`", version.substr(0, 80)));
    table.has_packed_ids = version.starts_with("Version_Two_Dot_One_");
    table.is_double = version.ends_with("_double");
    if (!table.is_double && !version.ends_with("_single"))
      header.fail("particles neither of single nor of double precision");
    header.integer("the number of dimensions", 3, 3);
    const auto reals = header.integer("the number of reals", 0, most_fields);
    for (std::int64_t i = 0; i < reals; ++i) table.reals.push_back(trimmed(header.line("the name of a real")));
    const auto integers = header.integer("the number of integers", 0, most_fields);
    for (std::int64_t i = 0; i < integers; ++i) header.line("the name of an integer");
    const bool has_ids = header.integer("whether there are ids", 0, 1) == 1;
    table.has_ids = has_ids;
    table.integers = has_ids ? static_cast<int>(integers) + 2 : 0;
    table.count = header.integer("the number of particles", 0, most_particles);
    header.integer("the next id", 0, std::numeric_limits<std::int64_t>::max());
    read_particle_grids(header);
  }

  void read_particle_grids(TextReader& header) {
    ParticleTable& table = out.particles_;
    const auto levels = header.integer("the finest level", 0, most_levels - 1) + 1;
    std::vector<std::int64_t> grids;
    for (std::int64_t level = 0; level < levels; ++level)
      grids.push_back(header.integer("the number of grids", 0, most_boxes));
    std::int64_t total = 0;
    for (std::size_t level = 0; level < grids.size(); ++level)
      for (std::int64_t i = 0; i < grids[level]; ++i) {
        const auto values = header.integers("the file, number and offset of a grid's particles", 3);
        const bool fits = 0 <= values[0] && values[0] < 100'000'000 && 0 <= values[1] && values[1] <= table.count &&
                          0 <= values[2] && values[2] <= largest_offset;
        if (!fits) header.fail("absurd file, number or offset of a grid's particles");
        total += values[1];
        table.grids.push_back({static_cast<int>(level), static_cast<int>(values[0]), values[1], values[2]});
        if (total > table.count) header.fail(fmt::format("more particles than the {} announced", table.count));
      }
    if (total != table.count) header.fail(fmt::format("{} particles instead of the {} announced", total, table.count));
  }

  std::vector<mesh::Box> domains{};
  std::vector<mesh::Int3> ratios{{1, 1, 1}};
};

NyxPlotfile::NyxPlotfile(std::string path) : path_(std::move(path)) {
  if (!fs::is_directory(path_)) throw core::Error("there is no plot file (a folder) of this name", path_);
  Parser{*this}.read_all();
}

bool NyxPlotfile::has(const std::string& field) const {
  return std::find(fields_.begin(), fields_.end(), field) != fields_.end();
}

namespace {

// The cells of a grid without its boundary, x fastest, from a component of its data.
std::vector<double> without_ghosts(const mesh::Box& box, std::int32_t ghost, std::vector<double> values) {
  if (ghost == 0) return values;
  const mesh::Box grown = box.grown(ghost);
  const mesh::Int3 n = grown.extent();
  const core::View4<const double> from(values.data(), grown.lo.x, grown.lo.y, grown.lo.z, n.x, n.y, n.z, 1);
  std::vector<double> inner;
  inner.reserve(static_cast<std::size_t>(box.volume()));
  core::for_each_cell(box, [&](int k, int j, int i) { inner.push_back(from(k, j, i)); });
  return inner;
}

std::vector<double> read_grid_component(const std::string& path, const NyxPlotfile::Level& level, std::int32_t index,
                                        int component, int components) {
  const NyxPlotfile::Grid& grid = level.grids[static_cast<std::size_t>(index)];
  const mesh::Box box = level.layout.box(index);
  const InputFile file(path + "/" + grid.file);
  const FabHeader header = read_fab_header(file, grid.offset);
  if (header.box != box.grown(level.ghost) || header.components != components)
    throw core::Error(fmt::format("the data are {} components of {}, not {} of {}", header.components,
                                  to_string(header.box), components, to_string(box.grown(level.ghost))),
                      fmt::format("{}, offset {}", file.path(), grid.offset), "the file is damaged");
  return without_ghosts(box, level.ghost, read_fab_component(file, header, component));
}

}  // namespace

int NyxPlotfile::component_of(const std::string& field) const {
  const auto found = std::find(fields_.begin(), fields_.end(), field);
  if (found == fields_.end())
    throw core::Error(fmt::format("there is no field `{}`", field), path_,
                      fmt::format("it has: {}", fmt::join(fields_, ", ")));
  return static_cast<int>(found - fields_.begin());
}

void NyxPlotfile::check_level(int level, const mesh::Box& domain) const {
  if (level < 0 || level >= static_cast<int>(levels_.size()))
    throw core::Error(fmt::format("there is no level {}", level), path_,
                      fmt::format("it has {} of them", levels_.size()));
  check_domain(levels_[static_cast<std::size_t>(level)].layout.domain(), domain, path_);
}

// Copies what `level`, whose cells are `ratio` cells of `into` long, has of `into`. Returns how many cells.
std::int64_t NyxPlotfile::copy_level(int component, int level, mesh::Int3 ratio, mesh::Field<double>& into) const {
  const Level& source = levels_[static_cast<std::size_t>(level)];
  std::int64_t copied = 0;
  for (const std::int32_t index : boxes_needed(source.layout, into, ratio)) {
    const auto values = read_grid_component(path_, source, index, component, static_cast<int>(fields_.size()));
    copied += copy_box(source.layout.box(index), values.data(), into, ratio);
  }
  return copied;
}

mesh::Field<double> NyxPlotfile::read_field(const std::string& name, const mesh::Layout& layout, int rank,
                                            int level) const {
  const int component = component_of(name);
  check_level(level, layout.domain());
  mesh::Field<double> field(layout, rank);
  check_covered(copy_level(component, level, {1, 1, 1}, field), field, path_);
  return field;
}

mesh::Field<double> NyxPlotfile::read_covering(const std::string& name, const mesh::Layout& layout, int rank,
                                               int level) const {
  const int component = component_of(name);
  check_level(level, layout.domain());
  mesh::Field<double> field(layout, rank);
  for (int source = 0; source <= level; ++source) {
    mesh::Int3 ratio{1, 1, 1};
    for (int finer = source + 1; finer <= level; ++finer)
      for (int axis = 0; axis < 3; ++axis) ratio[axis] *= levels_[static_cast<std::size_t>(finer)].ratio[axis];
    const std::int64_t copied = copy_level(component, source, ratio, field);
    if (source == 0) check_covered(copied, field, path_);
  }
  return field;
}

// --- particles
// ------------------------------------------------------------------------------------------------------------------

namespace {

std::int64_t id_of(const std::byte* integers, bool is_packed) {
  NyxId two;
  std::memcpy(&two, integers, sizeof two);
  if (!is_packed) return particle_id(two);
  // One word: the sign bit says that the particle is valid, 39 bits are its number, 24 the rank that made it.
  std::uint64_t word = 0;
  std::memcpy(&word, integers, sizeof word);
  const auto id = static_cast<std::int64_t>((word >> 24) & ((std::uint64_t{1} << 39) - 1)),
             cpu = static_cast<std::int64_t>(word & 0xffffff);
  return (cpu << 39) + id - 1;
}

}  // namespace

// Appends the particles [first, last) of a grid.
void NyxPlotfile::append_particles(const ParticleGrid& grid, std::int64_t first, std::int64_t last,
                                   mesh::Particles& out) const {
  const ParticleTable& table = particles_;
  const std::string folder = fmt::format("{}/DM/Level_{}/", path_, grid.level);
  const std::string name = fmt::format("{}DATA_{:05}", folder, grid.file),
                    old_name = fmt::format("{}DATA_{:04}", folder, grid.file);
  const InputFile file(fs::exists(name) || !fs::exists(old_name) ? name : old_name);
  const std::int64_t count = last - first, width = 3 + static_cast<std::int64_t>(table.reals.size());
  const std::int64_t real_bytes = table.is_double ? 8 : 4, integer_bytes = 4 * table.integers;
  const std::int64_t reals_offset = grid.offset + grid.count * integer_bytes;
  const auto integers = file.bytes(grid.offset + first * integer_bytes, count * integer_bytes);
  const auto reals = file.bytes(reals_offset + first * width * real_bytes, count * width * real_bytes);
  std::vector<double> values(static_cast<std::size_t>(count * width));
  reals_to_doubles(reals.data(), table.is_double, false, count * width, values.data());
  for (std::int64_t p = 0; p < count; ++p) {
    out.id.push_back(table.has_ids ? id_of(integers.data() + p * integer_bytes, table.has_packed_ids)
                                   : static_cast<std::int64_t>(out.size()));
    const double* numbers = values.data() + p * width;
    for (std::size_t axis = 0; axis < 3; ++axis) out.position[axis].push_back(numbers[axis] - origin_[axis]);
    for (std::size_t a = 0; a < table.reals.size(); ++a) out.attributes[a].values.push_back(numbers[3 + a]);
  }
}

mesh::Particles NyxPlotfile::read_particles(int rank, int ranks) const {
  mesh::Particles out;
  for (const std::string& name : particles_.reals) out.attributes.push_back({name, "", {}});
  const std::int64_t begin = particles_.count / ranks * rank + std::min<std::int64_t>(particles_.count % ranks, rank);
  const std::int64_t end = begin + particles_.count / ranks + (rank < particles_.count % ranks ? 1 : 0);
  std::int64_t start = 0;  // of the grid among all particles of the file
  for (const ParticleGrid& grid : particles_.grids) {
    const std::int64_t first = std::max(begin, start), last = std::min(end, start + grid.count);
    if (first < last) append_particles(grid, first - start, last - start, out);
    start += grid.count;
  }
  return out;
}

}  // namespace sidestream::io
