// Reads folders of Enzo, of ours with what we keep beside them, and of others from Enzo's own tables.
#include "enzo_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <set>

#include "block_copy.hpp"
#include "commit_record.hpp"
#include "enzo_state.hpp"
#include "hdf5_arrays.hpp"
#include "metadata.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "stored_reals.hpp"
#include "vocabulary.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t most_particles = std::int64_t{1} << 44;

// What we keep beside Enzo's files.
struct OwnTables {
  std::string metadata;
  EnzoTables tables;
  std::vector<std::int64_t> numbers;  // of the blocks' grids, level by level
  std::string format;
};

// Checks the other texts as well.
OwnTables read_own_tables(const std::string& folder) {
  const std::string path = folder + "/" + enzo_metadata_name;
  try {
    const nlohmann::json sealed = nlohmann::json::parse(read_text(path));
    const std::string text = sealed.at("content").get<std::string>();
    if (sealed.at("checksum").get<std::string>() != enzo_checksum(text))
      throw core::Error("the checksum of the file is wrong", path, "the file is damaged; use an earlier one");
    const nlohmann::json all = nlohmann::json::parse(text);
    for (const auto& [name, checksum] : all.at("texts").items())
      if (checksum.get<std::string>() != enzo_checksum(read_text(folder + "/" + name)))
        throw core::Error("the checksum of the file is wrong", folder + "/" + name,
                          "the file is damaged; use an earlier one");
    return {all.at("metadata").get<std::string>(), enzo_tables_of(all.at("tables"), path),
            all.at("grids").get<std::vector<std::int64_t>>(), all.at("format").get<std::string>()};
  } catch (const nlohmann::json::exception& error) {
    throw core::Error(fmt::format("the description of the state is damaged: {}", error.what()), path);
  }
}

// A file of grids opened for reading, with the checksums it keeps.
struct GridFile {
  explicit GridFile(const std::string& path) : hdf5(path) {}
  Hdf5Reader hdf5;
  std::vector<std::int64_t> field_checksums, particle_checksums;
};

// A grid as a box of a level.
struct BoxGrid {
  EnzoGrid text;
  std::int64_t number = 0;    // from 1
  std::int64_t position = 0;  // among the grids of its file, level by level
};

// Files that are in use, opened once.
class GridFiles {
 public:
  GridFiles(std::string folder, bool has_checksums) : folder_(std::move(folder)), has_checksums_(has_checksums) {}

  std::shared_ptr<const GridFile> open(const std::string& name) const {
    constexpr std::size_t most_open = 16;
    const std::lock_guard lock(mutex_);
    if (const auto found = open_.find(name); found != open_.end()) return found->second;
    const std::string path = folder_ + "/" + name;
    if (has_checksums_ && !checked_.contains(name)) {
      if (!check_commit_record(path))
        throw core::Error("the file has no record at its end: it is not complete", path, "use an earlier one");
      checked_.insert(name);
    }
    auto file = std::make_shared<GridFile>(path);
    if (has_checksums_ && file->hdf5.has(enzo_field_checksums))
      file->field_checksums = file->hdf5.integers(enzo_field_checksums);
    if (has_checksums_ && file->hdf5.has(enzo_particle_checksums))
      file->particle_checksums = file->hdf5.integers(enzo_particle_checksums);
    if (open_.size() >= most_open) open_.clear();
    open_[name] = file;
    return file;
  }

 private:
  std::string folder_;
  bool has_checksums_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const GridFile>> open_;
  mutable std::set<std::string> checked_;
};

bool is_particle_dataset(const std::string& name) {
  constexpr std::string_view others[] = {"creation_time", "dynamical_time", "metallicity_fraction", "typeia_fraction"};
  return name.starts_with("particle_") || std::ranges::find(others, name) != std::end(others);
}

std::string name_of_particle_dataset(const std::string& dataset) {
  if (dataset == "particle_mass") return "mass";
  if (dataset.starts_with("particle_velocity_") && dataset.size() == 19) return dataset.substr(18) + "vel";
  return dataset;
}

bool is_dataset(const Hdf5Reader& file, const std::string& name) {
  const QuietHdf5 quiet;
  const ObjectHandle object(H5Oopen(file.file(), name.c_str(), H5P_DEFAULT), "H5Oopen");
  return H5Iget_type(object) == H5I_DATASET;
}

std::string unit_of(const std::string& name, const EnzoUnits& units) {
  if (name == "Temp") return "K";
  if (!units.is_comoving) return "";
  EnzoUnits probe;
  probe.is_comoving = true;
  probe.density = 2.0, probe.velocity = 3.0;
  const double factor = probe.factor_of(name, "");
  if (name == "mass") return "Msun";
  return factor == 2.0    ? "Msun/Mpc^3"
         : factor == 3.0  ? "km/s"
         : factor == 9.0  ? "(km/s)^2"
         : factor == 6.0  ? "Msun/Mpc^3 km/s"
         : factor == 18.0 ? "Msun/Mpc^3 (km/s)^2"
                          : "";
}

}  // namespace

class EnzoFile final : public SnapshotFile {
 public:
  EnzoFile(FileDescription description, const std::string& folder, EnzoTables tables,
           std::vector<std::vector<BoxGrid>> grids, bool is_own)
      : SnapshotFile(std::move(description)),
        tables_(std::move(tables)),
        grids_(std::move(grids)),
        is_own_(is_own),
        files_(folder, is_own) {}

  mesh::Particles read_particles(int rank, int ranks) const override;
  void verify(int rank, int ranks) const override;

 protected:
  std::vector<double> read_box(std::size_t field, int level, std::int32_t box) const override;

 private:
  std::shared_ptr<const GridFile> open(const BoxGrid& grid) const {
    if (grid.text.file.empty())
      throw core::Error(fmt::format("grid {} has no file", grid.number), description_.path, "the file is damaged");
    return files_.open(grid.text.file);
  }
  std::string dataset_of(const GridFile& file, const BoxGrid& grid, const std::string& name) const {
    const std::string group = enzo_group_name(grid.number);
    return file.hdf5.has(group) ? group + "/" + name : name;
  }
  void check_sum(const std::vector<std::byte>& bytes, const std::vector<std::int64_t>& sums, std::int64_t number,
                 const GridFile& file, const std::string& dataset) const;
  std::vector<double> active_cells(std::vector<double> values, const std::vector<std::int64_t>& shape,
                                   const BoxGrid& grid, int level, std::int32_t box, const std::string& where) const;
  std::vector<std::byte> particle_bytes(const GridFile& file, const BoxGrid& grid, std::size_t column) const;
  std::vector<double> particle_values(const GridFile& file, const BoxGrid& grid, const std::string& dataset) const;
  std::vector<std::int64_t> particle_ids(const GridFile& file, const BoxGrid& grid, std::int64_t first) const;
  void add_particles(const BoxGrid& grid, int level, std::int64_t first, std::int64_t begin, std::int64_t end,
                     mesh::Particles& into) const;
  std::size_t column_number(const std::string& dataset) const;

  EnzoTables tables_;
  std::vector<std::vector<BoxGrid>> grids_;  // of each level
  bool is_own_;
  GridFiles files_;
};

void EnzoFile::check_sum(const std::vector<std::byte>& bytes, const std::vector<std::int64_t>& sums,
                         std::int64_t number, const GridFile& file, const std::string& dataset) const {
  const auto sum = static_cast<std::int64_t>(XXH3_64bits(bytes.data(), bytes.size()));
  if (number >= static_cast<std::int64_t>(sums.size()) || sums[static_cast<std::size_t>(number)] != sum)
    throw core::Error("the checksum of the data is wrong", fmt::format("{}, `{}`", file.hdf5.path(), dataset),
                      "the file is damaged; use an earlier one");
}

std::vector<double> EnzoFile::read_box(std::size_t field, int level, std::int32_t box) const {
  const BoxGrid& grid = grids_[static_cast<std::size_t>(level)][static_cast<std::size_t>(box)];
  const auto file = open(grid);
  const EnzoField& as = tables_.fields[field];
  const std::string dataset = dataset_of(*file, grid, as.dataset);
  const std::vector<std::int64_t> shape = file->hdf5.shape(dataset);
  std::vector<double> values;
  if (is_own_) {
    const std::vector<std::byte> bytes = file->hdf5.row_bytes(dataset, as.type, 0, shape.empty() ? 0 : shape.front());
    check_sum(bytes, file->field_checksums,
              grid.position * static_cast<std::int64_t>(tables_.fields.size()) + static_cast<std::int64_t>(field),
              *file, dataset);
    values = doubles_of(bytes, as.type);
  } else {
    values = file->hdf5.doubles(dataset);
  }
  values =
      active_cells(std::move(values), shape, grid, level, box, fmt::format("{}, `{}`", file->hdf5.path(), dataset));
  if (as.factor != 1.0)
    for (double& value : values) value /= as.factor;
  return values;
}

// Without the ghost cells that some files keep.
std::vector<double> EnzoFile::active_cells(std::vector<double> values, const std::vector<std::int64_t>& shape,
                                           const BoxGrid& grid, int level, std::int32_t box,
                                           const std::string& where) const {
  const mesh::Int3 n = description_.levels[static_cast<std::size_t>(level)].box(box).extent();
  std::array<std::int64_t, 3> in_file{1, 1, 1};
  if (shape.empty() || shape.size() > 3) throw core::Error("the data have no shape of a grid", where);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) in_file[axis] = shape[shape.size() - 1 - axis];
  if (in_file == std::array<std::int64_t, 3>{n.x, n.y, n.z}) return values;
  if (in_file != grid.text.dimension)
    throw core::Error(fmt::format("the data are {} x {} x {} cells, not {} x {} x {}", in_file[0], in_file[1],
                                  in_file[2], n.x, n.y, n.z),
                      where, "the file is damaged");
  const auto& s = grid.text.start;
  std::vector<double> inner;
  inner.reserve(static_cast<std::size_t>(n.product()));
  for (std::int64_t k = s[2]; k < s[2] + n.z; ++k)
    for (std::int64_t j = s[1]; j < s[1] + n.y; ++j) {
      const auto row = values.begin() + (k * in_file[1] + j) * in_file[0] + s[0];
      inner.insert(inner.end(), row, row + n.x);
    }
  return inner;
}

std::size_t EnzoFile::column_number(const std::string& dataset) const {
  const auto found = std::ranges::find(tables_.columns, dataset, &EnzoColumn::dataset);
  if (found == tables_.columns.end())
    throw core::Error(fmt::format("there is no dataset `{}` of particles", dataset), description_.path);
  return static_cast<std::size_t>(found - tables_.columns.begin());
}

std::vector<std::byte> EnzoFile::particle_bytes(const GridFile& file, const BoxGrid& grid, std::size_t column) const {
  const EnzoColumn& of = tables_.columns[column];
  const std::string path = dataset_of(file, grid, of.dataset);
  std::vector<std::byte> bytes = file.hdf5.row_bytes(path, of.type, 0, grid.text.particles);
  check_sum(bytes, file.particle_checksums,
            grid.position * static_cast<std::int64_t>(tables_.columns.size()) + static_cast<std::int64_t>(column), file,
            path);
  return bytes;
}

std::vector<double> EnzoFile::particle_values(const GridFile& file, const BoxGrid& grid,
                                              const std::string& dataset) const {
  const std::string path = dataset_of(file, grid, dataset);
  std::vector<double> values;
  if (is_own_) {
    const std::size_t column = column_number(dataset);
    values = doubles_of(particle_bytes(file, grid, column), tables_.columns[column].type);
  } else {
    values = file.hdf5.doubles(path);
  }
  if (static_cast<std::int64_t>(values.size()) != grid.text.particles)
    throw core::Error(fmt::format("{} particles instead of {}", values.size(), grid.text.particles),
                      fmt::format("{}, `{}`", file.hdf5.path(), path), "the file is damaged");
  return values;
}

// Files without ids get the place of each particle in the file.
std::vector<std::int64_t> EnzoFile::particle_ids(const GridFile& file, const BoxGrid& grid, std::int64_t first) const {
  const std::string path = dataset_of(file, grid, "particle_index");
  if (is_own_) {
    const std::vector<std::byte> bytes = particle_bytes(file, grid, column_number("particle_index"));
    std::vector<std::int64_t> ids(bytes.size() / 8);
    std::memcpy(ids.data(), bytes.data(), bytes.size());
    return ids;
  }
  if (file.hdf5.has(path)) return file.hdf5.integers(path);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(grid.text.particles));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// Particles [begin, end) of a grid whose first is number `first` of the file.
void EnzoFile::add_particles(const BoxGrid& grid, int level, std::int64_t first, std::int64_t begin, std::int64_t end,
                             mesh::Particles& into) const {
  const auto file = open(grid);
  const auto append = [&](const auto& from, auto& to) {
    if (static_cast<std::int64_t>(from.size()) != grid.text.particles)
      throw core::Error(fmt::format("{} particles instead of {}", from.size(), grid.text.particles), file->hdf5.path());
    to.insert(to.end(), from.begin() + begin, from.begin() + end);
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string dataset = fmt::format("particle_position_{}", "xyz"[axis]);
    std::vector<double> values;
    if (is_own_ || axis == 0 || file->hdf5.has(dataset_of(*file, grid, dataset)))
      values = particle_values(*file, grid, dataset);
    else
      values.resize(static_cast<std::size_t>(grid.text.particles));
    const double length = description_.geometry.length[axis];
    for (double& x : values) {
      x = (tables_.length_factor == 1.0 ? x : x / tables_.length_factor) - description_.origin[axis];
      if (std::isfinite(x) && description_.geometry.periodic[axis]) x = mesh::wrapped_coordinate(x, length);
    }
    append(values, into.position[axis]);
  }
  append(particle_ids(*file, grid, first), into.id);
  const double volume = description_.geometry.cell_volume() *
                        static_cast<double>(description_.geometry.domain.volume()) /
                        static_cast<double>(description_.levels[static_cast<std::size_t>(level)].domain().volume()) *
                        std::pow(tables_.length_factor, 3);
  for (std::size_t i = 0; i < tables_.reals.size(); ++i) {
    const EnzoReal& real = tables_.reals[i];
    std::vector<double> values(static_cast<std::size_t>(grid.text.particles), real.value);
    if (!real.dataset.empty()) values = particle_values(*file, grid, real.dataset);
    const double factor = real.dataset.empty() ? 1.0 : real.factor / (real.is_mass_density ? volume : 1.0);
    if (factor != 1.0)
      for (double& value : values) value /= factor;
    append(values, into.attributes[i].values);
  }
}

mesh::Particles EnzoFile::read_particles(int rank, int ranks) const {
  mesh::Particles particles;
  particles.mass = description_.particle_mass;
  for (const auto& [name, unit] : description_.particle_reals) particles.attributes.push_back({name, unit, {}});
  const std::int64_t total = description_.particles;
  const std::int64_t begin = total * rank / ranks, end = total * (rank + 1) / ranks;
  std::int64_t first = 0;
  for (std::size_t level = 0; level < grids_.size(); ++level)
    for (const BoxGrid& grid : grids_[level]) {
      const std::int64_t count = grid.text.particles;
      const std::int64_t from = std::max(begin - first, std::int64_t{0}), to = std::min(end - first, count);
      if (from < to) add_particles(grid, static_cast<int>(level), first, from, to, particles);
      first += count;
    }
  return particles;
}

// Beside what is read of the particles, what others read.
void EnzoFile::verify(int rank, int ranks) const {
  SnapshotFile::verify(rank, ranks);
  std::int64_t number = 0;
  for (const auto& level : grids_)
    for (const BoxGrid& grid : level) {
      if (!is_own_ || number++ % ranks != rank) continue;
      const auto file = open(grid);
      for (std::size_t column = 0; column < tables_.columns.size() && grid.text.particles > 0; ++column)
        particle_bytes(*file, grid, column);
    }
}

// --- opening
// -------------------------------------------------------------------------------------------------------------------

namespace {

// Reads Enzo's texts into boxes and a description.
class EnzoOpener {
 public:
  EnzoOpener(const std::string& path, const std::string& stem)
      : path_(path), stem_(stem), folder_(fs::path(stem).parent_path().string()), parameters_(stem) {
    if (folder_.empty()) folder_ = ".";
    if (parameters_.has(enzo_own_parameter) || fs::exists(folder_ + "/" + enzo_metadata_name))
      own_ = read_own_tables(folder_);
    rank_ = static_cast<int>(parameters_.integer("TopGridRank", 1, 3));
  }

  std::unique_ptr<SnapshotFile> operator()() {
    description_.format = own_ ? own_->format : "enzo";
    description_.path = path_;
    read_geometry();
    read_grids();
    if (own_) {
      apply_metadata(own_->metadata, folder_ + "/" + enzo_metadata_name, description_);
      tables_ = own_->tables;
      check_own_tables();
    } else {
      read_time_and_units();
      find_datasets();
    }
    return std::make_unique<EnzoFile>(std::move(description_), folder_, std::move(tables_), std::move(grids_),
                                      own_.has_value());
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& suffix) const {
    throw core::Error(what, stem_ + suffix, "the file is damaged or of another kind");
  }

  void read_geometry() {
    const auto cells = parameters_.numbers("TopGridDimensions", rank_);
    const auto left = parameters_.numbers("DomainLeftEdge", rank_),
               right = parameters_.numbers("DomainRightEdge", rank_);
    refine_by_ = static_cast<std::int32_t>(parameters_.integer("RefineBy", 1, 64));
    mesh::Int3 n{1, 1, 1};
    description_.geometry.length = {1.0, 1.0, 1.0};
    for (int axis = 0; axis < rank_; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (cells[a] != std::floor(cells[a]) || cells[a] < 1 || cells[a] > most_cells_an_axis)
        fail("`TopGridDimensions` are absurd", "");
      if (!(right[a] > left[a])) fail("`DomainRightEdge` is not beyond `DomainLeftEdge`", "");
      n[axis] = static_cast<std::int32_t>(cells[a]);
      left_[a] = left[a];
      description_.origin[a] = left[a];
      description_.geometry.length[a] = right[a] - left[a];
    }
    description_.geometry.domain = mesh::domain_of(n);
    if (parameters_.has("LeftFaceBoundaryCondition")) {
      constexpr double periodic = 3.0;
      const auto faces = parameters_.numbers("LeftFaceBoundaryCondition", rank_);
      for (std::size_t axis = 0; axis < faces.size(); ++axis)
        description_.geometry.periodic[axis] = faces[axis] == periodic;
    }
  }

  mesh::Int3 ratio() const {
    mesh::Int3 ratio{1, 1, 1};
    for (int axis = 0; axis < rank_; ++axis)
      if (!own_ || description_.geometry.domain.extent()[axis] > 1) ratio[axis] = refine_by_;
    return ratio;
  }

  void read_grids() {
    std::vector<EnzoGrid> all = read_enzo_hierarchy(stem_ + ".hierarchy", rank_);
    int finest = 0;
    for (const EnzoGrid& grid : all) finest = std::max(finest, grid.level);
    grids_.resize(static_cast<std::size_t>(finest) + 1);
    for (const std::int64_t number : order_of(all.size())) {
      EnzoGrid& grid = all[static_cast<std::size_t>(number - 1)];
      description_.particles += grid.particles;
      if (description_.particles > most_particles) fail("the number of particles is absurd", ".hierarchy");
      auto& level = grids_[static_cast<std::size_t>(grid.level)];
      level.push_back({std::move(grid), number, 0});
    }
    mesh::Int3 cells = description_.geometry.domain.extent(), refinement{1, 1, 1};
    for (std::size_t level = 0; level < grids_.size(); ++level) {
      if (level > 0) refinement = ratio();
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t finer = std::int64_t{cells[axis]} * refinement[axis];
        if (finer > most_cells_an_axis) fail(fmt::format("level {} has too many cells an axis", level), ".hierarchy");
        cells[axis] = static_cast<std::int32_t>(finer);
      }
      description_.ratios.push_back(refinement);
      description_.levels.push_back(layout_of(static_cast<int>(level), mesh::domain_of(cells)));
    }
    std::map<std::string, std::int64_t> in_file;
    for (auto& level : grids_)
      for (BoxGrid& grid : level) grid.position = in_file[grid.text.file]++;
  }

  // Grids in the order of our blocks, or of their numbers.
  std::vector<std::int64_t> order_of(std::size_t count) const {
    std::vector<std::int64_t> order(count);
    std::iota(order.begin(), order.end(), 1);
    if (!own_) return order;
    std::vector<std::int64_t> sorted = own_->numbers;
    std::ranges::sort(sorted);
    if (sorted != order) fail("other grids than were written", ".hierarchy");
    return own_->numbers;
  }

  mesh::Layout layout_of(int level, const mesh::Box& domain) const {
    std::vector<mesh::Box> boxes;
    for (const BoxGrid& grid : grids_[static_cast<std::size_t>(level)]) boxes.push_back(box_of(grid, domain));
    if (const std::string fault = fault_of_boxes(domain, boxes); !fault.empty())
      fail(fmt::format("level {}: {}", level, fault), ".hierarchy");
    std::vector<std::int32_t> owners(boxes.size(), 0);
    return {domain, description_.geometry.periodic, std::move(boxes), std::move(owners), level};
  }

  // Edges need not be exact; the number of cells is.
  mesh::Box box_of(const BoxGrid& grid, const mesh::Box& domain) const {
    constexpr double tolerance_cells = 0.25;
    mesh::Box box = mesh::domain_of({1, 1, 1});
    for (int axis = 0; axis < rank_; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const double size = description_.geometry.length[a] / domain.extent()[axis];
      const double lo = (grid.text.left[a] - left_[a]) / size, hi = (grid.text.right[a] - left_[a]) / size;
      const auto count = static_cast<double>(grid.text.end[a] - grid.text.start[a] + 1);
      if (!(std::fabs(lo - std::round(lo)) < tolerance_cells) || !(std::fabs(hi - lo - count) < tolerance_cells) ||
          !(lo > -1.0) || !(hi < domain.extent()[axis] + 1.0) || grid.text.end[a] >= grid.text.dimension[a])
        fail(fmt::format("the edges and cells of grid {} do not fit together", grid.number), ".hierarchy");
      box.lo[axis] = static_cast<std::int32_t>(std::lround(lo));
      box.hi[axis] = box.lo[axis] + static_cast<std::int32_t>(count);
    }
    return box;
  }

  void check_own_tables() const {
    const bool fits = tables_.fields.size() == description_.fields.size() &&
                      tables_.reals.size() == description_.particle_reals.size() && tables_.length_factor > 0.0 &&
                      std::ranges::all_of(tables_.fields, [](const EnzoField& field) { return field.factor > 0.0; });
    if (!fits)
      throw core::Error("the tables do not fit together", folder_ + "/" + enzo_metadata_name, "the file is damaged");
  }

  // Of others: numbers are brought to our units where the run is comoving, else left as they are.
  void read_time_and_units() {
    description_.step = static_cast<std::int64_t>(parameters_.number("InitialCycleNumber", 0.0));
    description_.time = parameters_.number("InitialTime", 0.0);
    description_.gamma = parameters_.number("Gamma", 5.0 / 3.0);
    if (parameters_.number("ComovingCoordinates", 0.0) != 1.0) return;
    EnzoCosmology cosmology;
    cosmology.omega_m = description_.omega_m = parameters_.number("CosmologyOmegaMatterNow");
    cosmology.omega_lambda = description_.omega_lambda = parameters_.number("CosmologyOmegaLambdaNow");
    cosmology.hubble = description_.hubble = parameters_.number("CosmologyHubbleConstantNow");
    cosmology.box_size = parameters_.number("CosmologyComovingBoxSize");
    cosmology.initial_redshift = parameters_.number("CosmologyInitialRedshift");
    cosmology.redshift = parameters_.number("CosmologyCurrentRedshift");
    if (!(cosmology.omega_m > 0.0) || !(cosmology.hubble > 0.0) || !(cosmology.box_size > 0.0) ||
        !(cosmology.redshift > -1.0) || !(cosmology.initial_redshift > -1.0))
      fail("the parameters of the cosmology are absurd", "");
    units_ = cosmology.units();
    tables_.length_factor = units_.length;
    description_.scale_factor = 1.0 / (1.0 + cosmology.redshift);
    description_.length_unit = "Mpc";
    for (std::size_t axis = 0; axis < 3; ++axis) {
      description_.geometry.length[axis] /= units_.length;
      description_.origin[axis] /= units_.length;
    }
  }

  // The datasets of the first grid that has fields, and of the first that has particles.
  void find_datasets() {
    const GridFiles files(folder_, false);
    bool has_fields = false, has_particles = false;
    for (const auto& level : grids_)
      for (const BoxGrid& grid : level) {
        const bool wants_fields = !has_fields && grid.text.fields > 0;
        const bool wants_particles = !has_particles && grid.text.particles > 0;
        if ((!wants_fields && !wants_particles) || grid.text.file.empty()) continue;
        const auto file = files.open(grid.text.file);
        const std::string group = enzo_group_name(grid.number);
        const std::string where = file->hdf5.has(group) ? group : "/";
        for (const std::string& name : file->hdf5.names(where))
          add_dataset(*file, where, name, wants_fields, wants_particles);
        has_fields = has_fields || wants_fields;
        has_particles = has_particles || wants_particles;
      }
    description_.has_particles = has_particles;
  }

  void add_dataset(const GridFile& file, const std::string& group, const std::string& name, bool wants_fields,
                   bool wants_particles) {
    if (is_particle_dataset(name)) {
      const bool is_real =
          !name.starts_with("particle_position_") && name != "particle_index" && name != "particle_type";
      if (wants_particles && is_real) add_real(name);
      return;
    }
    const std::string path = group == "/" ? name : group + "/" + name;
    if (!wants_fields || !is_dataset(file.hdf5, path)) return;
    if (static_cast<int>(file.hdf5.shape(path).size()) != rank_) return;
    const std::string known = name_of_enzo(name);
    tables_.fields.push_back({name, ElementType::float64, units_.factor_of(known, "")});
    description_.fields.emplace_back(known, unit_of(known, units_));
  }

  void add_real(const std::string& dataset) {
    const std::string name = name_of_particle_dataset(dataset);
    const double factor = units_.factor_of(name, "");
    tables_.reals.push_back({dataset, factor, name == "mass", 0.0});
    description_.particle_reals.emplace_back(name, unit_of(name, units_));
  }

  std::string path_, stem_, folder_;
  EnzoParameters parameters_;
  std::optional<OwnTables> own_;
  int rank_ = 3;
  std::int32_t refine_by_ = 2;
  std::array<double, 3> left_{};
  EnzoUnits units_;
  EnzoTables tables_;
  FileDescription description_;
  std::vector<std::vector<BoxGrid>> grids_;
};

}  // namespace

std::optional<std::string> enzo_stem(const std::string& path) {
  constexpr std::string_view suffix = ".hierarchy";
  std::error_code ignored;
  const auto is_file = [&](const std::string& name) { return fs::is_regular_file(name, ignored); };
  if (path.ends_with(suffix) && is_file(path)) return path.substr(0, path.size() - suffix.size());
  if (is_file(path + std::string(suffix))) return path;
  if (!fs::is_directory(path, ignored)) return std::nullopt;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = entry.path().string();
    if (name.ends_with(suffix) && !entry.path().filename().string().starts_with("."))
      return name.substr(0, name.size() - suffix.size());
  }
  return std::nullopt;
}

bool is_shared_enzo_file(const std::string& path) {
  try {
    const auto stem = enzo_stem(path);
    if (!stem) return false;
    const std::string metadata = (fs::path(*stem).parent_path() / enzo_metadata_name).string();
    return fs::exists(metadata) && read_text(metadata).find(R"(\"format\":\"enzo-hdf5\")") != std::string::npos;
  } catch (const std::exception&) {
    return false;
  }
}

std::unique_ptr<SnapshotFile> open_enzo_file(const std::string& path) {
  const auto stem = enzo_stem(path);
  if (!stem) throw core::Error("there is no Enzo file of this name", path);
  return EnzoOpener(path, *stem)();
}

}  // namespace sidestream::io
