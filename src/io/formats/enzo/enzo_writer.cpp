#include <nlohmann/json.hpp>
// Folders of Enzo (Bryan et al. 2014, ApJS 211, 19): parameters, hierarchy and boundary as text, and the grids in HDF5
// files, one for each rank, one for all, or some.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>

#include "io/arrays/memory_file.hpp"
#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/disk/atomic_folder.hpp"
#include "io/formats/enzo/enzo_file.hpp"
#include "io/formats/enzo/enzo_state.hpp"
#include "io/formats/file_shares.hpp"
#include "io/formats/format_entries.hpp"
#include "io/formats/metadata.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr int ghost_cells = 3;  // that Enzo keeps around a grid; its files leave them out

// The files of grids: each has those of some consecutive ranks.
struct GridFiles {
  int count = 1, ranks = 1;
  bool are_of_one_rank = false;  // each, which write in turns

  int of(int rank) const { return static_cast<int>(std::int64_t{rank} * count / ranks); }
  const char* format() const { return are_of_one_rank ? "enzo" : "enzo-hdf5"; }
};

// Of a mesh with flat axes: Enzo has no axis behind the last one that has cells.
int rank_of(const mesh::Box& domain) {
  return domain.extent().z > 1 ? 3 : domain.extent().y > 1 ? 2 : 1;
}

// "1 2 3" of the first `rank` axes.
template <typename F>
std::string on_axes(int rank, F value) {
  std::string text;
  for (int axis = 0; axis < rank; ++axis) text += fmt::format("{}{}", axis == 0 ? "" : " ", value(axis));
  return text;
}

std::string grid_file_name(const std::string& stem, int file) {
  return fmt::format("{}.cpu{:04}", stem, file);
}

// Enzo's number of a field by its name, in the texts that Enzo itself reads.
int field_type(const std::string& name) {
  constexpr std::pair<std::string_view, int> types[] = {{"Density", 0},   {"TotalEnergy", 1}, {"GasEnergy", 2},
                                                        {"Pressure", 3},  {"x-velocity", 4},  {"y-velocity", 5},
                                                        {"z-velocity", 6}};
  constexpr int extra = 21;
  for (const auto& [known, type] : types)
    if (known == name) return type;
  return extra;
}

std::string field_types(const EnzoState& state) {
  std::string text;
  for (const EnzoField& field : state.tables.fields)
    text += fmt::format("{}{}", text.empty() ? "" : " ", field_type(field.dataset));
  return text;
}

std::int64_t total_particles(const EnzoState& state) {
  return std::accumulate(state.particles.begin(), state.particles.end(), std::int64_t{0});
}

bool has_dataset(const EnzoState& state, std::string_view name) {
  return std::ranges::any_of(state.tables.fields, [&](const EnzoField& field) { return field.dataset == name; });
}

// --- the parameter file
// ---------------------------------------------------------------------------------------------------------------

std::string mesh_parameters(const EnzoState& state) {
  const mesh::Geometry& geometry = state.content.state.geometry;
  const int rank = rank_of(geometry.domain);
  const auto face = [&](int axis) { return geometry.periodic[static_cast<std::size_t>(axis)] ? 3 : 1; };
  return fmt::format(
      "TopGridRank            = {}\nTopGridDimensions      = {}\nDomainLeftEdge         = {}\n"
      "DomainRightEdge        = {}\nLeftFaceBoundaryCondition  = {}\nRightFaceBoundaryCondition = {}\n"
      "RefineBy               = 2\nMaximumRefinementLevel = {}\nStaticHierarchy        = {}\n",
      rank, on_axes(rank, [&](int axis) { return geometry.domain.extent()[axis]; }),
      on_axes(rank, [](int) { return "0.0"; }),
      on_axes(rank,
              [&](int axis) {
                return fmt::format("{:#}", geometry.length[static_cast<std::size_t>(axis)] * state.units.length);
              }),
      on_axes(rank, face), on_axes(rank, face), state.content.state.levels.size() - 1,
      state.content.state.levels.size() > 1 ? 0 : 1);
}

std::string cosmology_parameters(const EnzoCosmology& cosmology) {
  return fmt::format(
      "ComovingCoordinates    = 1\nCosmologyOmegaMatterNow    = {:#}\nCosmologyOmegaLambdaNow    = {:#}\n"
      "CosmologyHubbleConstantNow = {:#}\nCosmologyComovingBoxSize   = {:#}\nCosmologyInitialRedshift   = {:#}\n"
      "CosmologyFinalRedshift     = 0.0\nCosmologyCurrentRedshift   = {:#}\n",
      cosmology.omega_m, cosmology.omega_lambda, cosmology.hubble, cosmology.box_size, cosmology.initial_redshift,
      cosmology.redshift);
}

// The numbers are ours; where they have units, these are told: proper lengths, so that comoving Mpc take the scale
// factor.
std::string own_unit_parameters(const FileContent& content) {
  constexpr double cm_a_km = 1e5;
  double length = 1.0, density = 1.0, time = 1.0;
  if (content.state.length_unit == "Mpc") {
    length = cm_a_mpc * content.state.moment.scale_factor.value_or(1.0);
    density = grams_a_sun / core::pow(length, 3);
    time = length / cm_a_km;
  }
  return fmt::format(
      "ComovingCoordinates    = 0\nLengthUnits            = {:#}\nDensityUnits           = {:#}\n"
      "TimeUnits              = {:#}\n",
      length, density, time);
}

// Enzo counts a universe's time from the beginning.
double time_of(const EnzoState& state) {
  if (!state.units.is_comoving) return state.content.state.moment.time;
  const EnzoCosmology cosmology = enzo_cosmology(state.content);
  return cosmology.age() / cosmology.time_unit();
}

std::string parameter_text(const EnzoState& state) {
  const FileContent& content = state.content;
  std::string text = fmt::format("InitialCycleNumber     = {}\nInitialTime            = {:#}\n",
                                 content.state.moment.step, time_of(state));
  text += mesh_parameters(state);
  text += state.units.is_comoving ? cosmology_parameters(enzo_cosmology(content)) : own_unit_parameters(content);
  text += fmt::format(
      "Gamma                  = {:#}\nHydroMethod            = 0\nDualEnergyFormalism    = {}\n"
      "MultiSpecies           = 0\nNumberOfGhostZones     = {}\nNumberOfParticles      = {}\n"
      "ParticleTypeInFile     = 1\n",
      content.state.gamma, has_dataset(state, "GasEnergy") && has_dataset(state, "TotalEnergy") ? 1 : 0, ghost_cells,
      total_particles(state));
  for (std::size_t f = 0; f < state.tables.fields.size(); ++f)
    text += fmt::format("DataLabel[{}]           = {}\n", f, state.tables.fields[f].dataset);
  return text + fmt::format("VersionNumber          = 2.6\n{} = 1\n", enzo_own_parameter);
}

// --- hierarchy and boundary
// -----------------------------------------------------------------------------------------------------------------

std::string edges(const EnzoState& state, int level, mesh::Int3 cell, int rank) {
  const mesh::Geometry geometry = state.content.state.geometry.refined(level);
  return on_axes(rank, [&](int axis) {
    const double whole = geometry.length[static_cast<std::size_t>(axis)] * state.units.length;
    return fmt::format("{:#}", whole * cell[axis] / geometry.domain.extent()[axis]);
  });
}

std::string block_text(const EnzoState& state, std::int64_t block, const std::string& stem, const GridFiles& files,
                       double time) {
  const EnzoPlace place = enzo_place(state.content.state.levels, block);
  const mesh::Layout& layout = state.content.state.levels[static_cast<std::size_t>(place.level)];
  const mesh::Box box = layout.box(place.box);
  const mesh::Int3 n = box.extent();
  const int rank = rank_of(state.content.state.geometry.domain), task = files.of(layout.owner(place.box));
  const std::string file = grid_file_name(stem, task);
  const std::int64_t particles = state.particles[static_cast<std::size_t>(block)];
  std::string text = fmt::format(
      "Task              = {}\nGridRank          = {}\nGridDimension     = {}\nGridStartIndex    = {}\n"
      "GridEndIndex      = {}\nGridLeftEdge      = {}\nGridRightEdge     = {}\nTime              = {:#}\n"
      "SubgridsAreStatic = 0\nNumberOfBaryonFields = {}\n",
      task, rank, on_axes(rank, [&](int axis) { return n[axis] + 2 * ghost_cells; }),
      on_axes(rank, [](int) { return ghost_cells; }),
      on_axes(rank, [&](int axis) { return n[axis] + ghost_cells - 1; }), edges(state, place.level, box.lo, rank),
      edges(state, place.level, box.hi, rank), time, state.tables.fields.size());
  if (!state.tables.fields.empty()) text += fmt::format("FieldType = {}\n", field_types(state));
  text += fmt::format("BaryonFileName = {}\nNumberOfParticles   = {}\n", file, particles);
  if (particles > 0) text += fmt::format("ParticleFileName = {}\n", file);
  return text + fmt::format("GravityBoundaryType = {}\n", place.level == 0 ? 0 : 2);
}

std::string hierarchy_text(const EnzoState& state, const std::string& stem, const GridFiles& files) {
  std::vector<std::string> texts;
  const double time = time_of(state);
  for (std::size_t block = 0; block < state.tree.number.size(); ++block)
    texts.push_back(block_text(state, static_cast<std::int64_t>(block), stem, files, time));
  return enzo_hierarchy_text(state.tree, texts);
}

std::string boundary_text(const EnzoState& state, const std::string& stem) {
  const mesh::Box domain = state.content.state.geometry.domain;
  const int rank = rank_of(domain);
  std::string text = fmt::format(
      "BoundaryRank         = {}\nBoundaryDimension    = {}\nNumberOfBaryonFields = {}\nParticleBoundaryType = 0\n",
      rank, on_axes(rank, [&](int axis) { return domain.extent()[axis] + 2 * ghost_cells; }),
      state.tables.fields.size());
  if (!state.tables.fields.empty())
    text +=
        fmt::format("BoundaryFieldType    = {}\nBaryonFileName       = {}.boundary.hdf\nBoundaryValuePresent = {}\n",
                    field_types(state), stem, on_axes(2 * rank, [](int) { return 0; }));
  return text;
}

// A dataset of one value, which takes no room.
void put_constant(hid_t file, const std::string& name, std::int64_t count, float value) {
  const PropertiesHandle creation(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_fill_value(creation, H5T_NATIVE_FLOAT, &value), "H5Pset_fill_value");
  check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");
  const auto length = static_cast<hsize_t>(count);
  const SpaceHandle space(H5Screate_simple(1, &length, nullptr), "H5Screate_simple");
  const DatasetHandle dataset(H5Dcreate2(file, name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                              "H5Dcreate2");
}

// The kind of boundary of each field at each cell of each face: Enzo opens it even when all are periodic.
void write_boundary_hdf(const EnzoState& state, const std::string& path) {
  constexpr float outflow = 1.0F, periodic = 3.0F;
  const mesh::Box domain = state.content.state.geometry.domain;
  const int rank = rank_of(domain);
  const QuietHdf5 quiet;
  const MemoryFile memory;
  FileHandle file = create_hdf5_file(memory.path());
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t face = 1;
    for (int other = 0; other < rank; ++other)
      if (other != axis) face *= domain.extent()[other] + 2 * ghost_cells;
    const std::int64_t count = face * 2 * static_cast<std::int64_t>(state.tables.fields.size());
    const bool is_periodic = state.content.state.geometry.periodic[static_cast<std::size_t>(axis)];
    put_constant(file, fmt::format("BoundaryDimensionType.{}", axis), count, is_periodic ? periodic : outflow);
    put_constant(file, fmt::format("BoundaryDimensionValue.{}", axis), count, 0.0F);
  }
  file.close("H5Fclose");
  OutputFile out(path, OutputFile::Open::create);
  memory.copy_to(out);
  out.sync_and_close();
}

// --- all of it
// ------------------------------------------------------------------------------------------------------------------------

// Writes the texts; their checksums go into the last of them, which also has one of its own.
void write_texts(const EnzoState& state, const std::string& folder, const std::string& stem, const GridFiles& files) {
  nlohmann::json checksums;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file_atomically(folder + "/" + name, text);
    checksums[name] = enzo_checksum(text);
  };
  write(stem, parameter_text(state));
  write(stem + ".hierarchy", hierarchy_text(state, stem, files));
  write(stem + ".boundary", boundary_text(state, stem));
  if (!state.tables.fields.empty()) {
    const std::string name = stem + ".boundary.hdf", file = folder + "/" + name;
    write_boundary_hdf(state, file);
    checksums[name] = enzo_checksum(read_text(file));
  }
  const nlohmann::json all{{"metadata", metadata_text(state.content)},
                           {"tables", to_json(state.tables)},
                           {"grids", state.tree.number},
                           {"texts", checksums},
                           {"format", files.format()}};
  const std::string text = all.dump();
  write_file_atomically(folder + "/" + enzo_metadata_name,
                        nlohmann::json{{"checksum", enzo_checksum(text)}, {"content", text}}.dump());
}

// Ascending.
std::vector<std::int64_t> blocks_in(const EnzoState& state, const GridFiles& files, int file) {
  std::vector<std::int64_t> blocks;
  std::int64_t block = 0;
  for (const mesh::Layout& level : state.content.state.levels)
    for (std::int32_t box = 0; box < level.size(); ++box, ++block)
      if (files.of(level.owner(box)) == file) blocks.push_back(block);
  return blocks;
}

AccessStatistics write_grids(const comm::Communicator& comm, const EnzoState& state, const GridFiles& files,
                             const std::string& folder, const std::string& stem, const WriteOptions& options) {
  const int file = files.of(comm.rank());
  const comm::Communicator ranks = comm.split(file);
  AccessStatistics statistics;
  const auto write = [&] {
    const std::vector<std::int64_t> blocks = blocks_in(state, files, file);
    if (blocks.empty()) return;
    statistics = write_array_file_in_place(ranks, folder + "/" + grid_file_name(stem, file),
                                           enzo_grid_file(state, blocks, state.own), options);
  };
  if (files.are_of_one_rank)
    take_turns(comm, options.files_at_once(), [&](const Turn&) { write(); });
  else
    comm.agree_on(write);
  return statistics;
}

// The datasets of a grid are parts of one array to the method: only those that write by position can.
const std::vector<std::string> methods{"engine", "aggregated"};

void check_method(const std::string& method) {
  if (!method.empty() && std::ranges::find(methods, method) == methods.end())
    throw core::Error(fmt::format("the method `{}` cannot write Enzo files", method), "",
                      "choose the method `engine` or `aggregated`, or leave it out");
}

AccessStatistics write_enzo(const comm::Communicator& comm, const std::string& path, const FileContent& content,
                            const WriteOptions& options, const GridFiles& files) {
  check_method(options.method);
  const EnzoState state = enzo_state(comm, content);
  const std::string stem = std::filesystem::path(path).filename().string();
  AccessStatistics statistics;
  write_folder_atomically(comm, path, [&](const std::string& folder) {
    statistics = write_grids(comm, state, files, folder, stem, options);
    comm.agree_on([&] {
      if (comm.rank() == 0) write_texts(state, folder, stem, files);  // its last one brings the names to the disk
    });
  });
  return statistics;
}

Format enzo_format_of(const std::function<GridFiles(int ranks, const WriteOptions& options)>& files_of) {
  Format format;
  format.methods = methods;
  format.variables = {"density",
                      "x_velocity",
                      "y_velocity",
                      "z_velocity",
                      "specific_total_energy",
                      "specific_internal_energy",
                      "Temp",
                      "particle_mass_density",
                      "phi_grav"};
  format.write = [files_of](const comm::Communicator& comm, const std::string& path, const FileContent& content,
                            const WriteOptions& options) {
    return write_enzo(comm, path, content, options, files_of(comm.size(), options));
  };
  format.write_keys = {"files"};
  format.open = [](const std::string& path) { return open_enzo_file(path); };
  return format;
}

}  // namespace

std::string enzo_checksum(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

Format enzo_format() {
  Format format = enzo_format_of([](int ranks, const WriteOptions&) { return GridFiles{ranks, ranks, true}; });
  format.data_files = [](double ranks, const WriteOptions&) { return ranks; };
  format.name = "enzo";
  format.documentation = "Enzo's folder: hierarchy, boundary, and an HDF5 file of grids for each rank";
  format.checkpoint = StepName{"DD", "", 5};
  format.plotfile = StepName{"RD", "", 5};
  format.recognizes = [](const std::string& path) { return enzo_stem(path) && !is_shared_enzo_file(path); };
  return format;
}

Format enzo_hdf5_format() {
  Format format = enzo_format_of([](int ranks, const WriteOptions& options) {
    return GridFiles{std::clamp(options.files, 1, ranks), ranks, false};
  });
  format.data_files = [](double ranks, const WriteOptions& options) {
    return std::clamp(static_cast<double>(options.files), 1.0, ranks);
  };
  format.name = "enzo-hdf5";
  format.documentation =
      "Enzo's folder with the grids of all ranks in one HDF5 file, or in `files` of them; checkpoints only";
  format.checkpoint = StepName{"DDS", "", 5};
  format.recognizes = [](const std::string& path) { return is_shared_enzo_file(path); };
  return format;
}

}  // namespace sidestream::io
