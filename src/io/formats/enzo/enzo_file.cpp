// Opens folders of Enzo, of ours with what we keep beside them, and of others from Enzo's own tables.
#include "io/formats/enzo/enzo_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ranges>

#include "io/containers/hdf5/hdf5_inside.hpp"
#include "io/content/block_copy.hpp"
#include "io/content/possible_numbers.hpp"
#include "io/formats/enzo/enzo_snapshot.hpp"
#include "io/formats/enzo/enzo_species.hpp"
#include "io/formats/metadata.hpp"
#include "io/formats/vocabulary.hpp"
#include "io/text/json_text.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

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
    const nlohmann::json sealed = parse_json(read_text(path), path);
    const std::string text = sealed.at("content").get<std::string>();
    if (sealed.at("checksum").get<std::string>() != enzo_checksum(text))
      throw core::Error("the checksum of the file is wrong", path, "the file is damaged; use an earlier one");
    const nlohmann::json all = parse_json(text, path);
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

bool is_particle_dataset(const std::string& name) {
  return name.starts_with("particle_") || is_enzo_star_attribute(name);
}

std::string name_of_particle_dataset(const std::string& dataset) {
  if (dataset == "particle_mass") return "mass";
  if (dataset.starts_with("particle_velocity_") && dataset.size() == 19) return dataset.substr(18) + "vel";
  return dataset;
}

bool is_other_than_dark_matter(std::int64_t type) {
  return species_of_enzo(species_number_of_enzo(type)) != mesh::dark_matter;
}

std::vector<std::int64_t> types_of(const EnzoGridFile& file, const std::string& dataset, std::int64_t particles) {
  check_rows(file, dataset, particles);
  return file.hdf5.integers(dataset);
}

bool is_dataset(const Hdf5Reader& file, const std::string& name) {
  const QuietHdf5 quiet;
  const ObjectHandle object = open_object(file.file(), name);
  return H5Iget_type(object) == H5I_DATASET;
}

std::string unit_of(const std::string& name, const EnzoUnits& units) {
  if (name == "Temp") return "K";
  if (!units.is_comoving) return "";
  EnzoUnits probe;
  probe.is_comoving = true;
  probe.density = 2.0, probe.velocity = 3.0, probe.time = 5.0;
  const double factor = probe.factor_of(name, "");
  if (name == "mass") return "Msun";
  return factor == 2.0    ? "Msun/Mpc^3"
         : factor == 3.0  ? "km/s"
         : factor == 5.0  ? "Gyr"
         : factor == 9.0  ? "(km/s)^2"
         : factor == 6.0  ? "Msun/Mpc^3 km/s"
         : factor == 18.0 ? "Msun/Mpc^3 (km/s)^2"
                          : "";
}

// Reads Enzo's texts into boxes and a description.
class EnzoOpener {
 public:
  EnzoOpener(const std::string& path, const std::string& stem)
      : path_(path), stem_(stem), folder_(fs::path(stem).parent_path().string()), parameters_(stem) {
    if (folder_.empty()) folder_ = ".";
    const bool has_own = fs::exists(folder_ + "/" + enzo_metadata_name);
    if (parameters_.has(enzo_own_parameter) && !has_own)
      throw core::Error(
          fmt::format("there is no `{}` beside it, so not all that was written", enzo_metadata_name), path,
          fmt::format("without the line `{} = 1` in {} it is read as a file of Enzo", enzo_own_parameter, stem));
    if (has_own) own_ = read_own_tables(folder_);
    rank_ = static_cast<int>(parameters_.integer("TopGridRank", 1, 3));
  }

  std::unique_ptr<SnapshotFile> operator()() {
    description_.format = own_ ? own_->format : "enzo";
    description_.seal = own_ ? Seal::kept : Seal::none;
    description_.state.source = path_;
    read_geometry();
    read_grids();
    if (own_) {
      apply_metadata(own_->metadata, folder_ + "/" + enzo_metadata_name, description_);
      tables_ = own_->tables;
      check_own_tables();
    } else {
      read_time_and_units();
      find_datasets();
      find_species();
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
    description_.state.geometry.length = {1.0, 1.0, 1.0};
    for (int axis = 0; axis < rank_; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (cells[a] != std::floor(cells[a]) || cells[a] < 1 || cells[a] > most_cells_an_axis)
        fail("`TopGridDimensions` are absurd", "");
      if (!(right[a] > left[a])) fail("`DomainRightEdge` is not beyond `DomainLeftEdge`", "");
      n[axis] = static_cast<std::int32_t>(cells[a]);
      left_[a] = left[a];
      description_.origin[a] = left[a];
      description_.state.geometry.length[a] = right[a] - left[a];
    }
    description_.state.geometry.domain = mesh::domain_of(n);
    if (parameters_.has("LeftFaceBoundaryCondition")) {
      constexpr double periodic = 3.0;
      const auto faces = parameters_.numbers("LeftFaceBoundaryCondition", rank_);
      for (std::size_t axis = 0; axis < faces.size(); ++axis)
        description_.state.geometry.periodic[axis] = faces[axis] == periodic;
    }
  }

  mesh::Int3 ratio() const {
    mesh::Int3 ratio{1, 1, 1};
    for (int axis = 0; axis < rank_; ++axis)
      if (!own_ || description_.state.geometry.domain.extent()[axis] > 1) ratio[axis] = refine_by_;
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
    mesh::Int3 cells = description_.state.geometry.domain.extent(), refinement{1, 1, 1};
    for (std::size_t level = 0; level < grids_.size(); ++level) {
      if (level > 0) refinement = ratio();
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t finer = std::int64_t{cells[axis]} * refinement[axis];
        if (finer > most_cells_an_axis) fail(fmt::format("level {} has too many cells an axis", level), ".hierarchy");
        cells[axis] = static_cast<std::int32_t>(finer);
      }
      description_.ratios.push_back(refinement);
      description_.state.levels.push_back(layout_of(static_cast<int>(level), mesh::domain_of(cells)));
    }
    std::map<std::string, std::int64_t> in_file;
    for (auto& level : grids_)
      for (EnzoBoxGrid& grid : level) grid.position = in_file[grid.text.file]++;
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
    for (const EnzoBoxGrid& grid : grids_[static_cast<std::size_t>(level)]) boxes.push_back(box_of(grid, domain));
    if (const std::string fault = fault_of_boxes(domain, boxes); !fault.empty())
      fail(fmt::format("level {}: {}", level, fault), ".hierarchy");
    std::vector<std::int32_t> owners(boxes.size(), 0);
    return {domain, description_.state.geometry.periodic, std::move(boxes), std::move(owners), level};
  }

  // Edges need not be exact; the number of cells is.
  mesh::Box box_of(const EnzoBoxGrid& grid, const mesh::Box& domain) const {
    constexpr double tolerance_cells = 0.25;
    mesh::Box box = mesh::domain_of({1, 1, 1});
    for (int axis = 0; axis < rank_; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const double size = description_.state.geometry.length[a] / domain.extent()[axis];
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
                      tables_.reals.size() == description_.no_particles.attributes.size() &&
                      tables_.length_factor > 0.0 &&
                      std::ranges::all_of(tables_.fields, [](const EnzoField& field) { return field.factor > 0.0; });
    if (!fits)
      throw core::Error("the tables do not fit together", folder_ + "/" + enzo_metadata_name, "the file is damaged");
  }

  // Of others: numbers are brought to our units where the run is comoving, else left as they are.
  void read_time_and_units() {
    description_.state.moment.step =
        whole_number(parameters_.number("InitialCycleNumber", 0.0), "InitialCycleNumber", stem_);
    description_.state.moment.time = parameters_.number("InitialTime", 0.0);
    description_.state.gamma = parameters_.number("Gamma", 5.0 / 3.0);
    if (parameters_.number("ComovingCoordinates", 0.0) != 1.0) return;
    EnzoCosmology cosmology;
    cosmology.omega_m = parameters_.number("CosmologyOmegaMatterNow");
    cosmology.omega_lambda = parameters_.number("CosmologyOmegaLambdaNow");
    cosmology.hubble = parameters_.number("CosmologyHubbleConstantNow");
    cosmology.box_size = parameters_.number("CosmologyComovingBoxSize");
    cosmology.initial_redshift = parameters_.number("CosmologyInitialRedshift");
    cosmology.redshift = parameters_.number("CosmologyCurrentRedshift");
    if (!(cosmology.omega_m > 0.0) || !(cosmology.hubble > 0.0) || !(cosmology.box_size > 0.0) ||
        !(cosmology.redshift > -1.0) || !(cosmology.initial_redshift > -1.0))
      fail("the parameters of the cosmology are absurd", "");
    set_cosmology(description_.state.moment, cosmology.omega_m, cosmology.omega_lambda, cosmology.hubble);
    units_ = cosmology.units();
    tables_.length_factor = units_.length;
    description_.state.moment.scale_factor = 1.0 / (1.0 + cosmology.redshift);
    description_.state.length_unit = "Mpc";
    for (std::size_t axis = 0; axis < 3; ++axis) {
      description_.state.geometry.length[axis] /= units_.length;
      description_.origin[axis] /= units_.length;
    }
  }

  // The datasets of the first grid that has fields, and of the first that has particles.
  void find_datasets() {
    const EnzoGridFiles files(folder_, false);
    bool has_fields = false, has_particles = false;
    for (const auto& level : grids_)
      for (const EnzoBoxGrid& grid : level) {
        const bool wants_fields = !has_fields && grid.text.fields > 0;
        const bool wants_particles = !has_particles && grid.text.particles > 0;
        if ((!wants_fields && !wants_particles) || grid.text.file.empty()) continue;
        const auto file = files.open(grid.text.file);
        const std::string group = enzo_group_name(grid.number);
        const std::string where = file->hdf5.has(group) ? group : "/";
        for (const std::string& name : file->hdf5.names(where))
          add_dataset(*file, where, name, wants_fields, wants_particles ? grid.text.particles : 0);
        has_fields = has_fields || wants_fields;
        has_particles = has_particles || wants_particles;
      }
    description_.has_particles = has_particles;
  }

  // `particles`: those of the grid, or none where their datasets are not wanted.
  void add_dataset(const EnzoGridFile& file, const std::string& group, const std::string& name, bool wants_fields,
                   std::int64_t particles) {
    const std::string path = group == "/" ? name : group + "/" + name;
    if (is_particle_dataset(name)) {
      if (particles == 0) return;
      const bool tells_species = name == enzo_particle_name(species_column);
      has_types_ = has_types_ || tells_species || is_enzo_star_attribute(name);
      if (name == "particle_type")
        has_types_ = has_types_ || std::ranges::any_of(types_of(file, path, particles), is_other_than_dark_matter);
      else if (!tells_species && !name.starts_with("particle_position_") && name != "particle_index")
        add_real(name);
      return;
    }
    if (!wants_fields || !is_dataset(file.hdf5, path)) return;
    if (static_cast<int>(file.hdf5.shape(path).size()) != rank_) return;
    const std::string known = name_of_enzo(name);
    tables_.fields.push_back({name, ElementType::float64, units_.factor_of(known, "")});
    description_.fields.push_back({known, unit_of(known, units_)});
  }

  void add_real(const std::string& dataset) {
    const std::string name = name_of_particle_dataset(dataset);
    const double factor = units_.factor_of(name, "");
    tables_.reals.push_back({dataset, factor, name == "mass", 0.0});
    description_.no_particles.attributes.push_back({name, unit_of(name, units_), {}});
  }

  // Where there may be several species, the types of the particles are looked through: the hierarchy does not tell.
  void find_species() {
    if (!has_types_) return;
    const std::map<std::int64_t, std::int64_t> types = count_types();
    if (std::ranges::none_of(std::views::keys(types), is_other_than_dark_matter)) return;
    std::vector<std::string> numbers;
    for (const mesh::ParticleAttribute& attribute : description_.no_particles.attributes)
      numbers.push_back(attribute.name);
    for (const auto& [type, count] : types)
      description_.species.push_back({species_of_enzo(type), static_cast<double>(type), count, 0.0, numbers});
    if (types.size() == 1) return;
    tables_.reals.push_back({"particle_type", 1.0, false, 0.0});
    description_.no_particles.attributes.push_back({species_column, "", {}});
  }

  // Particles by type; none where the file does not tell of all.
  std::map<std::int64_t, std::int64_t> count_types() const {
    const EnzoGridFiles files(folder_, false);
    std::map<std::int64_t, std::int64_t> counts;
    for (const auto& level : grids_)
      for (const EnzoBoxGrid& grid : level) {
        if (grid.text.particles == 0) continue;
        const auto file = files.open(grid.text.file);
        const std::string group = enzo_group_name(grid.number);
        const std::string path = file->hdf5.has(group) ? group + "/particle_type" : "particle_type";
        if (!file->hdf5.has(path)) return {};
        for (const std::int64_t type : types_of(*file, path, grid.text.particles))
          ++counts[species_number_of_enzo(type)];
      }
    return counts;
  }

  std::string path_, stem_, folder_;
  EnzoParameters parameters_;
  std::optional<OwnTables> own_;
  int rank_ = 3;
  bool has_types_ = false;  // of particles, that may differ
  std::int32_t refine_by_ = 2;
  std::array<double, 3> left_{};
  EnzoUnits units_;
  EnzoTables tables_;
  FileDescription description_;
  std::vector<std::vector<EnzoBoxGrid>> grids_;
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
  if (!stem)
    throw core::Error("there is no Enzo file of this name", path, "give the parameter file, such as DD0007/DD0007");
  return EnzoOpener(path, *stem)();
}

}  // namespace sidestream::io
