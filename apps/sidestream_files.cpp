// Files of any format: convert one into another, verify one, say what is in one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "in_parallel.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/file_mesh.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/redistribute/migration.hpp"

namespace {

using namespace sidestream;

constexpr int done = 0, failed = 1, used_wrongly = 2;

struct Arguments {
  std::string input;
  std::vector<std::string> inputs;  // to verify
  std::string output, format, precision = "double";
  std::vector<std::string> fields;
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

// --- units

constexpr double cm_per_mpc = 3.085677580962325e24, grams_per_msun = 1.98841586e33, cm_per_km = 1e5;

// How to turn a number of a file into Mpc, Msun, km/s and K.
struct Unit {
  std::string name;
  double factor = 1.0;
};

// Files of a cosmology in cm are comoving and hold velocities v/a, energies e/a^2 and temperatures T/a^2 (FLASH).
bool is_comoving_in_cm(const io::FileDescription& file) {
  return file.length_unit == "cm" && (file.hubble > 0.0 || file.moment.scale_factor.value_or(1.0) != 1.0);
}

// `unit` of a file; units of other kinds stay as they are.
Unit common_unit(const io::FileDescription& file, const std::string& unit) {
  struct Row {
    const char *from, *to;
    int densities, velocities, masses, lengths, temperatures;
  };
  static constexpr std::array rows{
      Row{"g/cm^3", "Msun/Mpc^3", 1, 0, 0, 0, 0},
      Row{"cm/s", "km/s", 0, 1, 0, 0, 0},
      Row{"(cm/s)^2", "(km/s)^2", 0, 2, 0, 0, 0},
      Row{"cm^2/s^2", "(km/s)^2", 0, 2, 0, 0, 0},
      Row{"erg/g", "(km/s)^2", 0, 2, 0, 0, 0},
      Row{"g/cm^3 cm/s", "Msun/Mpc^3 km/s", 1, 1, 0, 0, 0},
      Row{"g/cm^2/s", "Msun/Mpc^3 km/s", 1, 1, 0, 0, 0},
      Row{"g/cm^3 (cm/s)^2", "Msun/Mpc^3 (km/s)^2", 1, 2, 0, 0, 0},
      Row{"erg/cm^3", "Msun/Mpc^3 (km/s)^2", 1, 2, 0, 0, 0},
      Row{"g", "Msun", 0, 0, 1, 0, 0},
      Row{"cm", "Mpc", 0, 0, 0, 1, 0},
      Row{"K", "K", 0, 0, 0, 0, 1},
  };
  const auto row = std::ranges::find_if(rows, [&](const Row& candidate) { return unit == candidate.from; });
  if (!is_comoving_in_cm(file) || row == rows.end()) return {unit, 1.0};
  const double a = file.moment.scale_factor.value_or(1.0), density = core::pow(cm_per_mpc, 3) / grams_per_msun;
  return {row->to, core::pow(density, row->densities) * core::pow(a / cm_per_km, row->velocities) *
                       core::pow(1.0 / grams_per_msun, row->masses) * core::pow(1.0 / cm_per_mpc, row->lengths) *
                       core::pow(a * a, row->temperatures)};
}

double length_factor(const io::FileDescription& file) {
  return is_comoving_in_cm(file) ? 1.0 / cm_per_mpc : 1.0;
}

mesh::Geometry common_geometry(const io::FileDescription& file) {
  mesh::Geometry geometry = file.geometry;
  for (double& length : geometry.length) length *= length_factor(file);
  return geometry;
}

// In the units of `common_geometry`, inside it however a product rounds.
mesh::Particles common_positions(const io::FileDescription& file, mesh::Particles particles) {
  if (!is_comoving_in_cm(file)) return particles;
  const mesh::Geometry geometry = common_geometry(file);
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (double& x : particles.position[axis])
      x = std::min(x * length_factor(file), std::nextafter(geometry.length[axis], 0.0));
  return particles;
}

// --- convert

// Fields and particles of a file, dealt to all ranks.
struct Loaded {
  mesh::Hierarchy hierarchy;
  std::deque<std::vector<mesh::Field<double>>> fields;
  std::vector<mesh::Particles> particles;
};

std::vector<std::string> wanted_fields(const io::FileDescription& file, const std::vector<std::string>& asked) {
  if (!asked.empty()) return asked;
  std::vector<std::string> all;
  for (const auto& [name, unit] : file.fields) all.push_back(name);
  return all;
}

std::int32_t block_for(const io::FileDescription& file, std::int32_t asked) {
  const std::optional<std::int32_t> found = io::block_of(file);
  if (asked > 0) return asked;
  if (!found)
    throw core::Error("the boxes of the file do not begin at multiples of two cells", file.path,
                      "name the size of blocks to cut the mesh into with --block");
  return *found;
}

Loaded load(const comm::Communicator& comm, const io::SnapshotFile& file, const Arguments& arguments) {
  const io::FileDescription& description = file.description();
  std::optional<Loaded> loaded;
  comm.agree_on([&] {
    const io::FileMesh mesh = io::mesh_of(description, block_for(description, arguments.block));
    loaded.emplace(Loaded{{mesh.forest, common_geometry(description), comm.size()}, {}, {}});
    for (const std::string& name : wanted_fields(description, arguments.fields)) {
      say(comm, fmt::format("reading {}", name));
      auto& levels = loaded->fields.emplace_back();
      for (int level = 0; level <= mesh.forest.finest_level(); ++level)
        levels.emplace_back(loaded->hierarchy.layout(level), comm.rank());
      io::read_levels(file, name, mesh, levels);
    }
    if (!description.has_particles) return;
    say(comm, "reading particles");
    loaded->particles.push_back(common_positions(description, file.read_particles(comm.rank(), comm.size())));
  });
  if (!description.has_particles) return std::move(*loaded);
  mesh::Particles none = loaded->particles.front();
  none.resize(0);
  loaded->particles.resize(static_cast<std::size_t>(loaded->hierarchy.finest_level()) + 1, none);
  redistribute::migrate_levels(comm, loaded->hierarchy, loaded->particles);
  return std::move(*loaded);
}

std::string unit_of(const io::FileDescription& file, const std::string& name) {
  for (const auto& [field, unit] : file.fields)
    if (field == name) return unit;
  return "";
}

// A checkpoint that was taken over in part or rounded is none any more.
bool stays_checkpoint(const io::FileDescription& file, const Arguments& arguments) {
  return file.is_checkpoint && arguments.precision == "double" &&
         std::ranges::all_of(file.fields, [&](const auto& field) {
           return arguments.fields.empty() ||
                  std::ranges::find(arguments.fields, field.first) != arguments.fields.end();
         });
}

void describe_moment(const io::FileDescription& file, const Arguments& arguments, io::FileContent& content) {
  content.moment.step = file.moment.step;
  content.moment.time = file.moment.time * (is_comoving_in_cm(file) ? cm_per_km / cm_per_mpc : 1.0);
  content.moment.scale_factor = file.moment.scale_factor;
  content.omega_m = file.omega_m;
  content.omega_lambda = file.omega_lambda;
  content.hubble = file.hubble;
  content.gamma = file.gamma;
  content.config = file.config;
  content.geometry = common_geometry(file);
  content.length_unit = is_comoving_in_cm(file) ? "Mpc" : file.length_unit;
  if (arguments.precision == "single") content.precision = io::Precision::single_precision;
  if (!stays_checkpoint(file, arguments)) return;
  content.moment.attributes = file.moment.attributes;
  content.texts = file.texts;
}

io::FileContent content_of(const io::FileDescription& file, const Loaded& loaded, const Arguments& arguments) {
  io::FileContent content;
  describe_moment(file, arguments, content);
  for (int level = 0; level <= loaded.hierarchy.finest_level(); ++level)
    content.levels.push_back(loaded.hierarchy.layout(level));
  auto levels = loaded.fields.begin();
  for (const std::string& name : wanted_fields(file, arguments.fields)) {
    const Unit unit = common_unit(file, unit_of(file, name));
    io::FileField& field = content.fields.emplace_back(io::FileField{name, unit.name, {}, 0, unit.factor});
    for (const mesh::Field<double>& level : *levels) field.levels.emplace_back(level);
    ++levels;
  }
  for (const mesh::Particles& particles : loaded.particles) content.particles.push_back(&particles);
  for (const auto& [name, unit] : file.particle_reals) {
    const Unit common = common_unit(file, unit);
    io::FileParticleReal& real =
        content.particle_reals.emplace_back(io::FileParticleReal{name, common.name, {}, common.factor});
    for (const mesh::Particles& particles : loaded.particles) real.levels.push_back(&particles.attribute(name));
  }
  return content;
}

std::unique_ptr<io::SnapshotFile> open_together(const comm::Communicator& comm, const std::string& path) {
  std::unique_ptr<io::SnapshotFile> file;
  comm.agree_on([&] { file = io::open_snapshot_file(path); });
  return file;
}

void check_output(const Arguments& arguments) {
  if (arguments.overwrite || !std::filesystem::exists(arguments.output)) return;
  throw core::Error("there is something of this name already", arguments.output, "--overwrite replaces it");
}

int convert(const comm::Communicator& comm, const Arguments& arguments) {
  const io::Format& format = io::formats().named(arguments.format);
  comm.agree_on([&] { check_output(arguments); });
  const core::Stopwatch read_watch;
  const auto file = open_together(comm, arguments.input);
  Loaded loaded = load(comm, *file, arguments);
  const double mass_factor = common_unit(file->description(), "g").factor;
  for (mesh::Particles& particles : loaded.particles) particles.mass = mass_factor * file->description().particle_mass;
  const io::FileContent content = content_of(file->description(), loaded, arguments);
  const double read_s = read_watch.seconds();
  say(comm, fmt::format("writing {}", arguments.output));
  const core::Stopwatch write_watch;
  const io::AccessStatistics own = format.write(comm, arguments.output, content, arguments.options);
  const double write_s = write_watch.seconds();
  const io::AccessStatistics all = io::total(comm, own);
  if (comm.rank() != 0) return done;
  const nlohmann::json report{
      {"path", arguments.output},
      {"format", format.name},
      {"kind", content.moment.attributes.empty() ? "plot file" : "checkpoint"},
      {"fields", content.fields.size()},
      {"levels", content.levels.size()},
      {"particles",
       file->description().has_particles ? nlohmann::json(file->description().particles) : nlohmann::json()},
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
    const auto file = open_together(comm, path);
    line["format"] = file->description().format;
    line["kind"] = io::kind_of(file->description());
    comm.agree_on([&] { file->verify(comm.rank(), comm.size()); });
  } catch (const core::Error& error) {
    line["is_good"] = false;
    line["message"] = error.what();
  }
  line["seconds"] = watch.seconds();
  if (comm.rank() == 0) {
    fmt::print("{}\n", line.dump());
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
  const auto file = open_together(comm, arguments.input);
  if (comm.rank() == 0) fmt::print("{}\n", io::to_json(file->description()).dump(2));
  return done;
}

using Command = int (*)(const comm::Communicator&, const Arguments&);

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  Command command = nullptr;
  CLI::App app{
      "Files of a simulation's state, of any format, on as many ranks as it was started with.\n"
      "Example: mpirun -n 4 sidestream-files convert plt00010 flash_hdf5_plt_cnt_0010 --format flash"};
  app.require_subcommand(1);

  CLI::App* convert_app = app.add_subcommand("convert", "write the state in a file again in another format");
  convert_app->add_option("input", arguments.input, "file or folder to read")->required();
  convert_app->add_option("output", arguments.output, "file or folder to write")->required();
  convert_app->add_option("--format", arguments.format, "format to write")
      ->required()
      ->check(CLI::IsMember(io::formats().names()));
  convert_app->add_option("--fields", arguments.fields, "fields to take over (default: all)");
  convert_app->add_option("--precision", arguments.precision, "of the fields")
      ->check(CLI::IsMember({"double", "single"}));
  convert_app->add_option("--block", arguments.block, "cells a side of the blocks (default: those of the file)");
  convert_app->add_option("--method", arguments.options.method, "how the data reach the disk");
  convert_app->add_flag("--overwrite", arguments.overwrite, "replace what has the name of the output");
  convert_app->callback([&] { command = convert; });

  CLI::App* verify_app = app.add_subcommand("verify", "read everything and check every checksum");
  verify_app->add_option("inputs", arguments.inputs, "files or folders to verify")->required();
  verify_app->callback([&] { command = verify; });

  CLI::App* info_app = app.add_subcommand("info", "say in JSON what is in a file");
  info_app->add_option("input", arguments.input, "file or folder to describe")->required();
  info_app->callback([&] { command = describe; });

  app.set_version_flag("--version", SIDESTREAM_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? done : used_wrongly;
  }
  return apps::in_parallel(argc, argv, failed,
                           [&](const comm::Communicator& world) { return command(world, arguments); });
}
