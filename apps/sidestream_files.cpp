// Files of any format: convert one into another, verify one, say what is in one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"
#include "sidestream/io/file_mesh.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/owned_content.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/redistribute/migration.hpp"

namespace {

using namespace sidestream;

constexpr int done = 0, failed = 1, used_wrongly = 2;

struct Arguments {
  std::string input, output, format, precision = "double";
  std::vector<std::string> fields;
  io::WriteOptions options;
  std::int32_t block = 0;
};

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
    loaded.emplace(Loaded{{mesh.forest, description.geometry, comm.size()}, {}, {}});
    for (const std::string& name : wanted_fields(description, arguments.fields)) {
      auto& levels = loaded->fields.emplace_back();
      for (int level = 0; level <= mesh.forest.finest_level(); ++level)
        levels.emplace_back(loaded->hierarchy.layout(level), comm.rank());
      io::read_levels(file, name, mesh, levels);
    }
    if (description.has_particles) loaded->particles.push_back(file.read_particles(comm.rank(), comm.size()));
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

io::FileContent content_of(const io::FileDescription& file, const Loaded& loaded, const Arguments& arguments) {
  io::FileContent content;
  content.step = file.step;
  content.time = file.time;
  content.scale_factor = file.scale_factor;
  content.omega_m = file.omega_m;
  content.omega_lambda = file.omega_lambda;
  content.hubble = file.hubble;
  content.gamma = file.gamma;
  content.attributes = file.attributes;
  content.texts = file.texts;
  content.config = file.config;
  content.geometry = file.geometry;
  content.length_unit = file.length_unit;
  for (int level = 0; level <= loaded.hierarchy.finest_level(); ++level)
    content.levels.push_back(loaded.hierarchy.layout(level));
  auto levels = loaded.fields.begin();
  for (const std::string& name : wanted_fields(file, arguments.fields)) {
    io::FileField& field = content.fields.emplace_back(io::FileField{name, unit_of(file, name), {}, 0, 1.0});
    for (const mesh::Field<double>& level : *levels) field.levels.push_back(&level);
    ++levels;
  }
  for (const mesh::Particles& particles : loaded.particles) content.particles.push_back(&particles);
  for (const auto& [name, unit] : file.particle_reals) {
    io::FileParticleReal& real = content.particle_reals.emplace_back(io::FileParticleReal{name, unit, {}, 1.0});
    for (const mesh::Particles& particles : loaded.particles) real.levels.push_back(&particles.attribute(name));
  }
  if (arguments.precision == "single") content.precision = io::Precision::single_precision;
  return content;
}

std::unique_ptr<io::SnapshotFile> open_together(const comm::Communicator& comm, const std::string& path) {
  std::unique_ptr<io::SnapshotFile> file;
  comm.agree_on([&] { file = io::open_snapshot_file(path); });
  return file;
}

void convert(const comm::Communicator& comm, const Arguments& arguments) {
  const io::Format& format = io::format(arguments.format);
  const auto file = open_together(comm, arguments.input);
  Loaded loaded = load(comm, *file, arguments);
  for (mesh::Particles& particles : loaded.particles) particles.mass = file->description().particle_mass;
  const io::FileContent content = content_of(file->description(), loaded, arguments);
  const io::AccessStatistics own = format.write(comm, arguments.output, content, arguments.options);
  const io::AccessStatistics all = io::total(comm, own);
  if (comm.rank() == 0) fmt::print("{}\n", io::to_json(all).dump());
}

void verify(const comm::Communicator& comm, const Arguments& arguments) {
  const auto file = open_together(comm, arguments.input);
  comm.agree_on([&] { file->verify(comm.rank(), comm.size()); });
  if (comm.rank() == 0) fmt::print("{}\n", io::to_json(file->description()).dump());
}

void describe(const comm::Communicator& comm, const Arguments& arguments) {
  const auto file = open_together(comm, arguments.input);
  if (comm.rank() == 0) fmt::print("{}\n", io::to_json(file->description()).dump(2));
}

using Command = void (*)(const comm::Communicator&, const Arguments&);

int execute(Command command, const Arguments& arguments, int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  try {
    command(world, arguments);
    return done;
  } catch (const std::exception& error) {
    if (world.rank() == 0) fmt::print(stderr, "{}\n", error.what());
    return failed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  Command command = nullptr;
  CLI::App app{
      "Files of a simulation's state, of any format, on as many ranks as it was started with.\n"
      "Example: mpirun -n 4 sidestream-files convert plt00010 flash_hdf5_plt_cnt_0010 --format flash"};
  app.require_subcommand(1);
  std::vector<std::string> formats;
  for (const io::Format& format : io::formats()) formats.push_back(format.name);

  CLI::App* convert_app = app.add_subcommand("convert", "write the state in a file again in another format");
  convert_app->add_option("input", arguments.input, "file or folder to read")->required();
  convert_app->add_option("output", arguments.output, "file or folder to write")->required();
  convert_app->add_option("--format", arguments.format, "format to write")->required()->check(CLI::IsMember(formats));
  convert_app->add_option("--fields", arguments.fields, "fields to take over (default: all)");
  convert_app->add_option("--precision", arguments.precision, "of the fields")
      ->check(CLI::IsMember({"double", "single"}));
  convert_app->add_option("--block", arguments.block, "cells a side of the blocks (default: those of the file)");
  convert_app->add_option("--method", arguments.options.method, "how the data reach the disk");
  convert_app->callback([&] { command = convert; });

  CLI::App* verify_app = app.add_subcommand("verify", "read everything and check every checksum");
  verify_app->add_option("input", arguments.input, "file or folder to verify")->required();
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
  return execute(command, arguments, argc, argv);
}
