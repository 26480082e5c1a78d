// Reads the numbers of Enzo files.
#include "io/formats/enzo/enzo_snapshot.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "io/arrays/stored_reals.hpp"
#include "io/disk/commit_record.hpp"
#include "io/formats/enzo/enzo_species.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::io {

std::shared_ptr<const EnzoGridFile> EnzoGridFiles::open(const std::string& name) const {
  constexpr std::size_t most_open = 16;
  const std::lock_guard lock(mutex_);
  if (const auto found = open_.find(name); found != open_.end()) return found->second;
  const std::string path = folder_ + "/" + name;
  if (has_checksums_ && !checked_.contains(name)) {
    if (!check_commit_record(path))
      throw core::Error("the file has no commit record: it is not complete", path, "use an earlier one");
    checked_.insert(name);
  }
  auto file = std::make_shared<EnzoGridFile>(path);
  if (has_checksums_ && file->hdf5.has(enzo_field_checksums))
    file->field_checksums = file->hdf5.integers(enzo_field_checksums);
  if (has_checksums_ && file->hdf5.has(enzo_particle_checksums))
    file->particle_checksums = file->hdf5.integers(enzo_particle_checksums);
  if (open_.size() >= most_open) open_.clear();
  open_[name] = file;
  return file;
}

void check_rows(const EnzoGridFile& file, const std::string& dataset, std::int64_t particles) {
  const std::vector<std::int64_t> shape = file.hdf5.shape(dataset);
  const std::int64_t rows = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies{});
  if (rows != particles)
    throw core::Error(fmt::format("{} particles instead of {}", rows, particles),
                      fmt::format("{}, `{}`", file.hdf5.path(), dataset), "the file is damaged");
}

std::shared_ptr<const EnzoGridFile> EnzoFile::open(const EnzoBoxGrid& grid) const {
  if (grid.text.file.empty())
    throw core::Error(fmt::format("grid {} has no file", grid.number), description_.state.source,
                      "the file is damaged");
  return files_.open(grid.text.file);
}

// In files of one grid there is no group.
std::string EnzoFile::dataset_of(const EnzoGridFile& file, const EnzoBoxGrid& grid, const std::string& name) {
  const std::string group = enzo_group_name(grid.number);
  return file.hdf5.has(group) ? group + "/" + name : name;
}

void EnzoFile::check_sum(const std::vector<std::byte>& bytes, const std::vector<std::int64_t>& sums,
                         std::int64_t number, const EnzoGridFile& file, const std::string& dataset) const {
  const auto sum = static_cast<std::int64_t>(XXH3_64bits(bytes.data(), bytes.size()));
  if (number >= static_cast<std::int64_t>(sums.size()) || sums[static_cast<std::size_t>(number)] != sum)
    throw core::Error("the checksum of the data is wrong", fmt::format("{}, `{}`", file.hdf5.path(), dataset),
                      "the file is damaged; use an earlier one");
}

namespace {

using Extent = std::array<std::int64_t, 3>;  // x first

// Of a field in a file: the `n` cells of its box, with or without the ghost cells that some files keep.
Extent extent_of(const std::vector<std::int64_t>& shape, const EnzoGrid& grid, mesh::Int3 n, const std::string& where) {
  if (shape.empty() || shape.size() > 3) throw core::Error("the data have no shape of a grid", where);
  Extent in_file{1, 1, 1};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) in_file[axis] = shape[shape.size() - 1 - axis];
  if (in_file != Extent{n.x, n.y, n.z} && in_file != grid.dimension)
    throw core::Error(fmt::format("the data are {} x {} x {} cells, not {} x {} x {}", in_file[0], in_file[1],
                                  in_file[2], n.x, n.y, n.z),
                      where, "the file is damaged");
  return in_file;
}

std::vector<double> without_ghosts(std::vector<double> values, const Extent& in_file, const EnzoGrid& grid,
                                   mesh::Int3 n) {
  if (in_file == Extent{n.x, n.y, n.z}) return values;
  const auto& s = grid.start;
  std::vector<double> inner;
  inner.reserve(static_cast<std::size_t>(n.product()));
  for (std::int64_t k = s[2]; k < s[2] + n.z; ++k)
    for (std::int64_t j = s[1]; j < s[1] + n.y; ++j) {
      const auto row = values.begin() + (k * in_file[1] + j) * in_file[0] + s[0];
      inner.insert(inner.end(), row, row + n.x);
    }
  return inner;
}

}  // namespace

std::vector<double> EnzoFile::read_box(std::size_t field, int level, std::int32_t box) const {
  const EnzoBoxGrid& grid = grids_[static_cast<std::size_t>(level)][static_cast<std::size_t>(box)];
  const auto file = open(grid);
  const EnzoField& as = tables_.fields[field];
  const std::string dataset = dataset_of(*file, grid, as.dataset);
  const std::vector<std::int64_t> shape = file->hdf5.shape(dataset);
  const mesh::Int3 n = description_.state.levels[static_cast<std::size_t>(level)].box(box).extent();
  const Extent in_file = extent_of(shape, grid.text, n, fmt::format("{}, `{}`", file->hdf5.path(), dataset));
  std::vector<double> values;
  if (is_own_) {
    const std::vector<std::byte> bytes = file->hdf5.row_bytes(dataset, as.type, 0, shape.front());
    check_sum(bytes, file->field_checksums,
              grid.position * static_cast<std::int64_t>(tables_.fields.size()) + static_cast<std::int64_t>(field),
              *file, dataset);
    values = doubles_of(bytes, as.type);
  } else {
    values = file->hdf5.doubles(dataset);
  }
  values = without_ghosts(std::move(values), in_file, grid.text, n);
  if (as.factor != 1.0)
    for (double& value : values) value /= as.factor;
  return values;
}

std::size_t EnzoFile::column_number(const std::string& dataset) const {
  const auto found = std::ranges::find(tables_.columns, dataset, &EnzoColumn::dataset);
  if (found == tables_.columns.end())
    throw core::Error(fmt::format("there is no dataset `{}` of particles", dataset), description_.state.source);
  return static_cast<std::size_t>(found - tables_.columns.begin());
}

std::vector<std::byte> EnzoFile::particle_bytes(const EnzoGridFile& file, const EnzoBoxGrid& grid,
                                                std::size_t column) const {
  const EnzoColumn& of = tables_.columns[column];
  const std::string path = dataset_of(file, grid, of.dataset);
  check_rows(file, path, grid.text.particles);
  std::vector<std::byte> bytes = file.hdf5.row_bytes(path, of.type, 0, grid.text.particles);
  check_sum(bytes, file.particle_checksums,
            grid.position * static_cast<std::int64_t>(tables_.columns.size()) + static_cast<std::int64_t>(column), file,
            path);
  return bytes;
}

std::vector<double> EnzoFile::particle_values(const EnzoGridFile& file, const EnzoBoxGrid& grid,
                                              const std::string& dataset) const {
  if (is_own_) {
    const std::size_t column = column_number(dataset);
    return doubles_of(particle_bytes(file, grid, column), tables_.columns[column].type);
  }
  const std::string path = dataset_of(file, grid, dataset);
  check_rows(file, path, grid.text.particles);
  return file.hdf5.doubles(path);
}

// Files without ids get the place of each particle in the file.
std::vector<std::int64_t> EnzoFile::particle_ids(const EnzoGridFile& file, const EnzoBoxGrid& grid,
                                                 std::int64_t first) const {
  const std::string path = dataset_of(file, grid, "particle_index");
  if (is_own_) {
    const std::vector<std::byte> bytes = particle_bytes(file, grid, column_number("particle_index"));
    std::vector<std::int64_t> ids(bytes.size() / 8);
    std::memcpy(ids.data(), bytes.data(), ids.size() * 8);
    return ids;
  }
  if (file.hdf5.has(path)) {
    check_rows(file, path, grid.text.particles);
    return file.hdf5.integers(path);
  }
  std::vector<std::int64_t> ids(static_cast<std::size_t>(grid.text.particles));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// Particles [begin, end) of a grid whose first is number `first` of the file.
void EnzoFile::add_particles(const EnzoBoxGrid& grid, int level, std::int64_t first, std::int64_t begin,
                             std::int64_t end, mesh::Particles& into) const {
  const auto file = open(grid);
  const auto append = [&](const auto& from, auto& to) {
    to.insert(to.end(), from.begin() + begin, from.begin() + end);
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string dataset = fmt::format("particle_position_{}", "xyz"[axis]);
    std::vector<double> values;
    if (is_own_ || axis == 0 || file->hdf5.has(dataset_of(*file, grid, dataset)))
      values = particle_values(*file, grid, dataset);
    else
      values.resize(static_cast<std::size_t>(grid.text.particles));
    const double length = description_.state.geometry.length[axis];
    for (double& x : values) {
      x = (tables_.length_factor == 1.0 ? x : x / tables_.length_factor) - description_.origin[axis];
      if (std::isfinite(x) && description_.state.geometry.periodic[axis]) x = mesh::wrapped_coordinate(x, length);
    }
    append(values, into.position[axis]);
  }
  append(particle_ids(*file, grid, first), into.id);
  const double volume =
      description_.state.geometry.cell_volume() * static_cast<double>(description_.state.geometry.domain.volume()) /
      static_cast<double>(description_.state.levels[static_cast<std::size_t>(level)].domain().volume()) *
      core::pow(tables_.length_factor, 3);
  for (std::size_t i = 0; i < tables_.reals.size(); ++i) {
    const EnzoReal& real = tables_.reals[i];
    std::vector<double> values(static_cast<std::size_t>(grid.text.particles), real.value);
    if (!real.dataset.empty()) values = particle_values(*file, grid, real.dataset);
    const double factor = real.dataset.empty() ? 1.0 : real.factor / (real.is_mass_density ? volume : 1.0);
    if (factor != 1.0)
      for (double& value : values) value /= factor;
    if (into.attributes[i].name == species_column && !is_own_)
      for (double& type : values) type = static_cast<double>(species_number_of_enzo(static_cast<std::int64_t>(type)));
    append(values, into.attributes[i].values);
  }
}

mesh::Particles EnzoFile::read_table(int rank, int ranks) const {
  mesh::Particles particles = description_.no_particles;
  const std::int64_t total = description_.particles;
  const std::int64_t begin = total * rank / ranks, end = total * (rank + 1) / ranks;
  std::int64_t first = 0;
  for (std::size_t level = 0; level < grids_.size(); ++level)
    for (const EnzoBoxGrid& grid : grids_[level]) {
      const std::int64_t count = grid.text.particles;
      const std::int64_t from = std::max(begin - first, std::int64_t{0}), to = std::min(end - first, count);
      if (from < to) add_particles(grid, static_cast<int>(level), first, from, to, particles);
      first += count;
    }
  return particles;
}

// Beside what is read of the particles, what others read.
void EnzoFile::check_data_files(int rank, int ranks) const {
  std::int64_t number = 0;
  for (const auto& level : grids_)
    for (const EnzoBoxGrid& grid : level)
      if (number++ % ranks == rank) open(grid);
}

void EnzoFile::verify(int rank, int ranks) const {
  SnapshotFile::verify(rank, ranks);
  std::int64_t number = 0;
  for (const auto& level : grids_)
    for (const EnzoBoxGrid& grid : level) {
      if (!is_own_ || number++ % ranks != rank) continue;
      const auto file = open(grid);
      for (std::size_t column = 0; column < tables_.columns.size() && grid.text.particles > 0; ++column)
        particle_bytes(*file, grid, column);
    }
}

}  // namespace sidestream::io
