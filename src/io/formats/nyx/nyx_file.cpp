#include "io/formats/nyx/nyx_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "io/formats/nyx/fab.hpp"
#include "io/formats/nyx/nyx_ids.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

// The cells of a box without its boundary, x fastest, from a component of its data.
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

void check_data(std::span<const std::byte> bytes, std::uint64_t checksum, const std::string& what,
                const std::string& where) {
  if (XXH3_64bits(bytes.data(), bytes.size()) != checksum)
    throw core::Error(fmt::format("the checksum of {} is wrong: the data are damaged", what), where,
                      "use an earlier file");
}

FileDescription described(const std::string& path) {
  if (!fs::is_directory(path))
    throw core::Error("there is no folder of this name", path,
                      "a plot file of this format is a folder: `sidestream info FOLDER` says what is in a run");
  FileDescription description;
  description.format = "nyx";
  description.state.source = path;
  return description;
}

}  // namespace

NyxFile::NyxFile(const std::string& path) : SnapshotFile(described(path)) {
  read_nyx_headers(description_, tables_);
}

const FabHeader& NyxFile::header_of(int level, std::int32_t box, const InputFile& file) const {
  const auto found = headers_.find({level, box});
  if (found != headers_.end()) return found->second;
  const NyxTables::Level& table = tables_.levels[static_cast<std::size_t>(level)];
  const FabHeader header = read_fab_header(file, table.grids[static_cast<std::size_t>(box)].offset);
  return headers_.emplace(std::pair(level, box), header).first->second;
}

std::vector<double> NyxFile::read_box(std::size_t field, int level, std::int32_t box) const {
  const NyxTables::Level& table = tables_.levels[static_cast<std::size_t>(level)];
  const NyxTables::Grid& grid = table.grids[static_cast<std::size_t>(box)];
  const mesh::Box cells = description_.state.levels[static_cast<std::size_t>(level)].box(box);
  const InputFile& file = files_.of(description_.state.source + "/" + grid.file);
  const auto where = [&] { return fmt::format("{}, offset {}", file.path(), grid.offset); };
  const FabHeader& header = header_of(level, box, file);
  if (header.box != cells.grown(table.ghost) || header.components != tables_.components)
    throw core::Error(fmt::format("the data are {} components of {}, not {} of {}", header.components,
                                  to_string(header.box), tables_.components, to_string(cells.grown(table.ghost))),
                      where(), "the file is damaged");
  const std::vector<std::byte> bytes = read_fab_bytes(file, header, static_cast<int>(field));
  if (!table.checksums.empty()) {
    const auto precision = header.is_double ? Precision::double_precision : Precision::single_precision;
    if (header.line != fab_line(cells, tables_.components, precision))
      throw core::Error("the line before the data of a box is not as it was written", where(), "the file is damaged");
    const auto number = static_cast<std::size_t>(box) * static_cast<std::size_t>(tables_.components) + field;
    check_data(bytes, table.checksums[number],
               fmt::format("field `{}`, box {}", description_.fields[field].name, to_string(cells)), where());
  }
  std::vector<double> values(static_cast<std::size_t>(header.box.volume()));
  reals_to_doubles(bytes.data(), header.is_double, header.is_big_endian, header.box.volume(), values.data());
  return without_ghosts(cells, table.ghost, std::move(values));
}

namespace {

// The farthest piece of data of each file.
struct Piece {
  std::int64_t offset = 0, count = 0;  // of cells or particles
};
using LastPieces = std::map<std::string, Piece>;

void note(LastPieces& last, const std::string& path, Piece piece) {
  if (const auto [found, is_new] = last.emplace(path, piece); !is_new && found->second.offset < piece.offset)
    found->second = piece;
}

void check_length(const InputFile& file, std::int64_t end) {
  if (file.size_bytes() < end)
    throw core::Error(fmt::format("the file has {} bytes, its data take {}", file.size_bytes(), end), file.path(),
                      "the file is truncated; use another copy");
}

}  // namespace

void NyxFile::check_data_files(int rank, int ranks) const {
  LastPieces cells, particles;
  for (std::size_t level = 0; level < tables_.levels.size(); ++level)
    for (std::int32_t box = 0; box < description_.state.levels[level].size(); ++box) {
      const NyxTables::Level& table = tables_.levels[level];
      const NyxTables::Grid& grid = table.grids[static_cast<std::size_t>(box)];
      note(cells, description_.state.source + "/" + grid.file,
           {grid.offset, description_.state.levels[level].box(box).grown(table.ghost).volume()});
    }
  for (const NyxTables::ParticleGrid& grid : tables_.particle_grids)
    if (grid.count > 0) note(particles, particle_data_path(grid), {grid.offset, grid.count});

  int number = 0;
  for (const auto& [path, piece] : cells) {
    if (number++ % ranks != rank) continue;
    const InputFile file(path);
    const FabHeader header = read_fab_header(file, piece.offset);
    check_length(file, header.data_offset + piece.count * tables_.components * header.real_bytes());
  }
  const std::int64_t reals = 3 + static_cast<std::int64_t>(tables_.particle_reals);
  const std::int64_t bytes = 4 * tables_.particle_integers + reals * (tables_.has_double_particles ? 8 : 4);
  for (const auto& [path, piece] : particles)
    if (number++ % ranks == rank) check_length(InputFile(path), piece.offset + piece.count * bytes);
}

// Older codes number with four digits.
std::string NyxFile::particle_data_path(const NyxTables::ParticleGrid& grid) const {
  const std::string folder = fmt::format("{}/DM/Level_{}/", description_.state.source, grid.level);
  const std::string name = fmt::format("{}DATA_{:05}", folder, grid.file),
                    old_name = fmt::format("{}DATA_{:04}", folder, grid.file);
  return fs::exists(name) || !fs::exists(old_name) ? name : old_name;
}

// Appends the particles [first, last) of a grid, which begins with particle `start` of the file.
void NyxFile::append_particles(std::size_t grid, std::int64_t start, std::int64_t first, std::int64_t last,
                               mesh::Particles& out) const {
  const NyxTables::ParticleGrid& place = tables_.particle_grids[grid];
  const InputFile& file = files_.of(particle_data_path(place));
  const std::int64_t count = last - first, width = 3 + static_cast<std::int64_t>(tables_.particle_reals);
  const std::int64_t real_bytes = tables_.has_double_particles ? 8 : 4, integer_bytes = 4 * tables_.particle_integers;
  const std::int64_t reals_offset = place.offset + place.count * integer_bytes;
  std::vector<std::byte> integers, reals;
  if (tables_.particle_checksums.empty()) {
    integers = file.bytes(place.offset + first * integer_bytes, count * integer_bytes);
    reals = file.bytes(reals_offset + first * width * real_bytes, count * width * real_bytes);
  } else {  // a whole grid
    integers = file.bytes(place.offset, count * (integer_bytes + width * real_bytes));
    check_data(integers, tables_.particle_checksums[grid], "the particles of a box",
               fmt::format("{}, offset {}", file.path(), place.offset));
    reals.assign(integers.begin() + count * integer_bytes, integers.end());
  }
  std::vector<double> values(static_cast<std::size_t>(count * width));
  reals_to_doubles(reals.data(), tables_.has_double_particles, false, count * width, values.data());
  for (std::int64_t p = 0; p < count; ++p) {
    out.id.push_back(tables_.has_ids ? id_of(integers.data() + p * integer_bytes, tables_.has_packed_ids)
                                     : start + first + p);
    const double* numbers = values.data() + p * width;
    for (std::size_t axis = 0; axis < 3; ++axis)
      out.position[axis].push_back(numbers[axis] - description_.origin[axis]);
    for (std::size_t a = 0; a < tables_.particle_reals; ++a) out.attributes[a].values.push_back(numbers[3 + a]);
  }
}

mesh::Particles NyxFile::read_table(int rank, int ranks) const {
  mesh::Particles out = description_.no_particles;
  const std::int64_t total = tables_.particle_count;
  const auto begin_of = [&](int r) { return total / ranks * r + std::min<std::int64_t>(total % ranks, r); };
  const std::int64_t begin = begin_of(rank), end = begin_of(rank + 1);
  std::int64_t start = 0;  // of the grid among all particles of the file
  for (std::size_t grid = 0; grid < tables_.particle_grids.size(); ++grid) {
    const std::int64_t next = start + tables_.particle_grids[grid].count;
    if (!tables_.particle_checksums.empty()) {
      // Whole grids, so that their checksums can be verified.
      if (begin <= start && start < end && start < next) append_particles(grid, start, 0, next - start, out);
    } else if (const std::int64_t first = std::max(begin, start), last = std::min(end, next); first < last) {
      append_particles(grid, start, first - start, last - start, out);
    }
    start = next;
  }
  return out;
}

bool is_nyx_folder(const std::string& path) {
  try {
    const InputFile header(path + "/Header");
    std::string begin(static_cast<std::size_t>(std::min<std::int64_t>(header.size_bytes(), 12)), '\0');
    header.read(0, std::as_writable_bytes(std::span(begin)));
    return begin.starts_with("HyperCLaw") || begin.starts_with("NavierStokes");
  } catch (const std::exception&) {
    return false;
  }
}

std::unique_ptr<SnapshotFile> open_nyx_folder(const std::string& path) {
  return std::make_unique<NyxFile>(path);
}

}  // namespace sidestream::io
