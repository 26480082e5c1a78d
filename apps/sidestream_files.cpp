// Files of any format: convert one into another, verify one, say what is in one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command_line.hpp"
#include "in_parallel.hpp"
#include "sidestream/core/compression.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/common_units.hpp"
#include "sidestream/io/file_mesh.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/io/quantity_names.hpp"
#include "sidestream/io/write_snapshot.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/redistribute/migration.hpp"

namespace {

using namespace sidestream;

constexpr int done = 0, failed = 1;

struct Arguments {
  std::string input;
  std::vector<std::string> inputs;  // to verify
  std::string output, format, precision = "double";
  std::vector<std::string> fields, species, compress;
  io::WriteOptions options;
  std::int32_t block = 0;
  bool overwrite = false;
};

// What goes on, for whoever waits for it.
void say(const comm::Communicator& comm, const std::string& line) {
  if (comm.rank() != 0) return;
  fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

// --- convert

std::int32_t block_for(const mesh::Snapshot& file, std::int32_t asked) {
  if (asked > 0) return asked;
  if (const std::optional<std::int32_t> found = io::block_of(file)) return *found;
  throw core::Error("the boxes of the file do not begin at multiples of two cells", file.source,
                    "name the size of blocks to cut the mesh into with --block");
}

// Quantities by the names that the user gives them, which are those of files.
std::vector<std::string> wanted_quantities(const mesh::Snapshot& file, const std::vector<std::string>& asked) {
  if (asked.empty()) return mesh::names_of(file.quantities());
  std::vector<std::string> all;
  for (const std::string& name : asked) all.push_back(file.has(name) ? name : io::quantity_of(name));
  return all;
}

std::vector<std::string> wanted_species(const mesh::Snapshot& file, const std::vector<std::string>& asked) {
  for (const std::string& name : asked) file.species(name);  // says which there are
  return asked.empty() ? mesh::names_of(file.species()) : asked;
}

// What a checkpoint has of the state goes into another as it is.
void add_in_common_unit(const mesh::Snapshot& file, const std::string& name, mesh::Snapshot& state) {
  std::vector<mesh::FieldView<const double>> levels;
  for (int level = 0; level <= file.finest_level(); ++level) {
    const auto cells = std::make_shared<mesh::Field<double>>(file.blocks()[static_cast<std::size_t>(level)], file.rank);
    file.read(name, level, *cells);
    levels.emplace_back(cells);
  }
  const io::CommonUnit unit = io::common_unit(file, file.unit(name));
  state.add_stored({name, unit.name}, std::move(levels), 0, unit.factor);
}

void add_species(const comm::Communicator& comm, const mesh::Snapshot& file, const mesh::Species& from,
                 const mesh::Hierarchy& hierarchy, mesh::Snapshot& state) {
  say(comm, fmt::format("reading {}", from.name()));
  std::vector<mesh::Particles> levels{io::positions_in_common_units(file, from.take())};
  mesh::Species species(from.name(), nullptr);
  levels.front().mass *= io::common_unit(file, "g").factor;
  for (const auto& [name, unit, values] : levels.front().attributes) {
    const io::CommonUnit common = io::common_unit(file, unit);
    species.numbers.push_back({name, common.name, name, common.factor});
  }
  mesh::Particles none = levels.front();
  none.resize(0);
  levels.resize(state.levels.size(), none);
  redistribute::migrate_levels(comm, hierarchy, levels);
  for (mesh::Particles& level : levels)
    species.stored.push_back(std::make_shared<const mesh::Particles>(std::move(level)));
  state.add_species(std::move(species));
}

// What `choice` names of `file`, on the blocks of `hierarchy`, which it was opened on.
mesh::Snapshot in_common_units(const comm::Communicator& comm, const mesh::Snapshot& file,
                               const mesh::Hierarchy& hierarchy, const io::FileChoice& choice) {
  mesh::Snapshot state = io::frame_in_common_units(file);
  for (const std::string& name : choice.quantities) {
    say(comm, fmt::format("reading {}", name));
    add_in_common_unit(file, name, state);
  }
  for (const std::string& name : choice.species) add_species(comm, file, file.species(name), hierarchy, state);
  return state;
}

// "zstd" for all, or "density=zfp 1e-3" for one: as in a configuration, by the names of files.
core::Compression compression_of(const mesh::Snapshot& file, const std::vector<std::string>& asked,
                                 const std::vector<std::string>& quantities) {
  constexpr const char* option = "--compress";
  core::Node table(core::Node::Members{}, "", option);
  for (const std::string& one : asked) {
    const std::size_t equals = one.find('=');
    const std::string name = equals == std::string::npos ? "*" : one.substr(0, equals);
    table.set(name == "*" || file.has(name) ? name : io::quantity_of(name),
              core::Node(one.substr(equals == std::string::npos ? 0 : equals + 1), "", option));
  }
  const core::Compression compression = core::read_compression(table);
  compression.check_names(quantities);
  return compression;
}

// A checkpoint that is taken over in part or rounded is none any more.
io::FileChoice choice_of(const mesh::Snapshot& file, const Arguments& arguments) {
  io::FileChoice choice{.format = &io::formats().named(arguments.format),
                        .quantities = wanted_quantities(file, arguments.fields),
                        .species = wanted_species(file, arguments.species)};
  choice.options = arguments.options;
  if (arguments.precision == "single") choice.precision = io::Precision::single_precision;
  choice.compression = compression_of(file, arguments.compress, choice.quantities);
  const auto has_all = [](const std::vector<std::string>& chosen, const std::vector<std::string>& known) {
    return std::ranges::all_of(
        known, [&](const std::string& name) { return std::ranges::find(chosen, name) != chosen.end(); });
  };
  const bool is_checkpoint =
      !file.state_numbers.empty() || std::ranges::any_of(file.quantities(), &mesh::Quantity::is_state);
  const bool stays_checkpoint = is_checkpoint && arguments.precision == "double" &&
                                has_all(choice.quantities, mesh::names_of(file.quantities())) &&
                                has_all(choice.species, mesh::names_of(file.species())) &&
                                !choice.compression.is_lossy();
  if (stays_checkpoint) choice.kind = io::FileKind::checkpoint;
  io::check_compression(choice);
  for (const auto& [name, text] : file.texts)
    if (stays_checkpoint || name == io::config_text || name == io::grid_text) choice.texts[name] = text;
  return choice;
}

void check_output(const Arguments& arguments) {
  if (arguments.overwrite || !std::filesystem::exists(arguments.output)) return;
  throw core::Error("there is something of this name already", arguments.output, "--overwrite replaces it");
}

int convert(const comm::Communicator& comm, const Arguments& arguments) {
  comm.agree_on([&] { check_output(arguments); });
  const core::Stopwatch read_watch;
  std::optional<mesh::Hierarchy> hierarchy;
  const mesh::Snapshot file = io::open_snapshot(comm, arguments.input, [&](const mesh::Snapshot& opened) {
    const mesh::Forest forest = io::forest_of(opened, block_for(opened, arguments.block));
    return hierarchy.emplace(forest, io::frame_in_common_units(opened).geometry, comm.size());
  });
  io::FileChoice choice;
  comm.agree_on([&] {
    choice = choice_of(file, arguments);
    for (const std::string& name : choice.quantities) file.quantity(name);
  });
  const mesh::Snapshot state = in_common_units(comm, file, *hierarchy, choice);
  std::int64_t particles = 0;
  for (const mesh::Species& species : state.species())
    for (const auto& level : species.stored) particles += static_cast<std::int64_t>(level->size());
  particles = comm.sum(particles);
  const double read_s = read_watch.seconds();
  say(comm, fmt::format("writing {}", arguments.output));
  const core::Stopwatch write_watch;
  const io::AccessStatistics own = io::write_snapshot(comm, state, choice, arguments.output);
  const double write_s = write_watch.seconds();
  const io::AccessStatistics all = io::total(comm, own);
  if (comm.rank() != 0) return done;
  const nlohmann::json report{{"path", arguments.output},
                              {"format", choice.format->name},
                              {"kind", to_string(choice.kind)},
                              {"fields", choice.quantities.size()},
                              {"levels", state.levels.size()},
                              {"particles", state.has_particles() ? nlohmann::json(particles) : nlohmann::json()},
                              {"read_s", read_s},
                              {"write_s", write_s},
                              {"io", io::to_json(all)}};
  fmt::print("{}\n", report.dump());
  return done;
}

// --- verify

// One line about a file: whether all of it can be read and every checksum is right.
bool verify_one(const comm::Communicator& comm, const std::string& path) {
  const core::Stopwatch watch;
  nlohmann::json line{{"path", path}, {"is_good", true}};
  try {
    const auto file = io::open_snapshot_file(comm, path);
    line["format"] = file->description().format;
    line["kind"] = to_string(file->description().kind);
    line["seal"] = to_string(file->description().seal);
    comm.agree_on([&] { file->verify(comm.rank(), comm.size()); });
  } catch (const core::Error& error) {
    line["is_good"] = false;
    line["message"] = error.what();
  }
  line["seconds"] = watch.seconds();
  if (comm.rank() == 0) {
    fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::fflush(stdout);
  }
  return line["is_good"];
}

int verify(const comm::Communicator& comm, const Arguments& arguments) {
  bool is_good = true;
  for (const std::string& path : arguments.inputs) {
    say(comm, fmt::format("verifying {}", path));
    is_good = verify_one(comm, path) && is_good;
  }
  return is_good ? done : failed;
}

int describe(const comm::Communicator& comm, const Arguments& arguments) {
  const auto file = io::open_snapshot_file(comm, arguments.input);
  if (comm.rank() == 0) fmt::print("{}\n", io::to_json(file->description()).dump(2));
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  apps::CommandLine line(
      "Files of a simulation's state, of any format, on as many ranks as it was started with.\n"
      "Example: mpirun -n 4 sidestream-files convert plt00010 flash_hdf5_plt_cnt_0010 --format flash",
      SIDESTREAM_VERSION);

  apps::CommandLine& converts = line.command("convert", "write the state in a file again in another format");
  converts.word("input", arguments.input, "file or folder to read", {.is_required = true});
  converts.word("output", arguments.output, "file or folder to write", {.is_required = true});
  converts.word("--format", arguments.format, "format to write",
                {.is_required = true, .one_of = io::formats().names()});
  converts.words("--fields", arguments.fields, "fields to take over (default: all)");
  converts.words("--species", arguments.species, "species of particles to take over (default: all)");
  converts.word("--precision", arguments.precision, "of the fields", {.one_of = {"double", "single"}});
  converts.words("--compress", arguments.compress,
                 "how the fields are compressed: zstd, or FIELD=\"zfp 1e-3\" for one (default: not at all)");
  converts.number("--block", arguments.block, "cells a side of the blocks (default: those of the file)", 0);
  converts.word("--method", arguments.options.method, "how the data reach the disk");
  converts.number("--files", arguments.options.files,
                  "in formats of one HDF5 file: into so many parts of it; of many: so many at the same time", 0);
  converts.flag("--overwrite", arguments.overwrite, "replace what has the name of the output");

  apps::CommandLine& verifies = line.command("verify", "read everything and check every checksum");
  verifies.words("inputs", arguments.inputs, "files or folders to verify", {.is_required = true});

  apps::CommandLine& describes = line.command("info", "say in JSON what is in a file");
  describes.word("input", arguments.input, "file or folder to describe", {.is_required = true});

  if (const std::optional<int> code = line.parse(argc, argv)) return *code;
  const auto command = converts.is_given() ? convert : verifies.is_given() ? verify : describe;
  return apps::in_parallel(argc, argv, failed,
                           [&](const comm::Communicator& world) { return command(world, arguments); });
}
