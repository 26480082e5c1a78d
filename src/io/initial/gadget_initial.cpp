#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>

#include "gadget_header.hpp"
#include "initial_entries.hpp"
#include "initial_particles.hpp"
#include "paths.hpp"
#include "share.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

constexpr std::int64_t chunk_rows = 1 << 18;

// The particles of one type in one file.
struct Piece {
  std::string path, group;
  std::int64_t count = 0;
  double mass = 0.0;  ///< of each, in the units of the file; 0: each has its own
};

// The names of all files of a set, from that of any of them.
std::vector<std::string> paths_of(const std::string& path, std::int64_t files) {
  if (files == 1) return {path};
  static const std::regex numbered(R"((.*\.)([0-9]+)(\.[^./]+))");
  std::smatch parts;
  if (!std::regex_match(path, parts, numbered))
    throw core::Error(fmt::format("the initial conditions are in {} files, but this name has no number", files), path,
                      "files of a set are called NAME.0.hdf5, NAME.1.hdf5 and so on");
  std::vector<std::string> paths;
  for (std::int64_t n = 0; n < files; ++n) {
    paths.push_back(fmt::format("{}{}{}", parts[1].str(), n, parts[3].str()));
    if (!has_entry(paths.back()))
      throw core::Error(fmt::format("file {} of the {} files of the initial conditions is missing", n, files),
                        paths.back(), "all files of a set lie in one folder");
  }
  return paths;
}

void check_rows(const Hdf5Reader& file, const std::string& dataset, std::int64_t rows, std::int64_t width) {
  if (!file.has(dataset))
    throw core::Error(fmt::format("there is no dataset `{}`", dataset), file.path(),
                      "the file is damaged, or of another program");
  const std::vector<std::int64_t> shape = file.shape(dataset);
  const std::int64_t columns = shape.size() == 1 ? 1 : shape.size() == 2 ? shape[1] : 0;
  if (shape.empty() || shape[0] != rows || columns != width)
    throw core::Error(
        fmt::format("the dataset `{}` does not hold {} numbers for each of {} particles", dataset, width, rows),
        file.path(), "the file is damaged, or its header is not its own");
}

std::string energy_dataset(const Hdf5Reader& file, const std::string& group) {
  for (const char* const name : {"/InternalEnergy", "/InternalEnergies"})
    if (file.has(group + name)) return group + name;
  return "";
}

void check_piece(const Hdf5Reader& file, const Piece& piece) {
  check_rows(file, piece.group + "/Coordinates", piece.count, 3);
  check_rows(file, piece.group + "/Velocities", piece.count, 3);
  const std::string ids = piece.group + "/ParticleIDs";
  check_rows(file, ids, piece.count, 1);
  if (!file.holds_integers(ids))
    throw core::Error(fmt::format("the ids in `{}` are no integers", ids), file.path(),
                      "particles are told apart by their ids: write them as integers of 32 or 64 bits");
  if (piece.mass == 0.0) check_rows(file, piece.group + "/Masses", piece.count, 1);
  const std::string energies = energy_dataset(file, piece.group);
  if (!energies.empty()) check_rows(file, energies, piece.count, 1);
}

struct Set {
  GadgetHeader header;
  std::vector<Piece> gas, others;
};

std::int64_t count_of(const std::vector<Piece>& pieces) {
  std::int64_t count = 0;
  for (const Piece& piece : pieces) count += piece.count;
  return count;
}

void add_pieces(const Hdf5Reader& file, const GadgetHeader& header, Set& set) {
  for (std::size_t type = 0; type < header.particles_here.size(); ++type) {
    if (header.particles_here[type] == 0) continue;
    const Piece piece{file.path(), fmt::format("PartType{}", type), header.particles_here[type],
                      header.mass_table[type]};
    check_piece(file, piece);
    (type == 0 ? set.gas : set.others).push_back(piece);
  }
}

Set open_set(const std::string& path, const InitialAssumptions& assumptions) {
  Set set;
  set.header = read_gadget_header(Hdf5Reader(path), assumptions);
  std::vector<std::int64_t> found(set.header.particles.size(), 0);
  for (const std::string& name : paths_of(path, set.header.files)) {
    const Hdf5Reader file(name);
    const GadgetHeader header = read_gadget_header(file, assumptions);
    if (header.files != set.header.files || header.particles != set.header.particles)
      throw core::Error("the file is not of the same set as the others", name, "look at its header");
    add_pieces(file, header, set);
    for (std::size_t type = 0; type < found.size(); ++type) found[type] += header.particles_here[type];
  }
  for (std::size_t type = 0; type < found.size(); ++type)
    if (found[type] != set.header.particles[type])
      throw core::Error(fmt::format("the files hold {} particles of type {}, their headers speak of {}", found[type],
                                    type, set.header.particles[type]),
                        path, "the set is not complete");
  if (count_of(set.others) == 0)
    throw core::Error("there are no particles of dark matter", path, "particles of the types 1 to 5 are taken for it");
  return set;
}

InitialDescription describe(const std::string& path, const Set& set) {
  InitialDescription description = set.header.universe;
  description.path = path;
  description.format = "gadget";
  description.particles = count_of(set.others);
  description.gas_parcels = count_of(set.gas);
  if (set.gas.empty()) description.omega_b.reset();
  return description;
}

// HDF5 gives the largest of our integers for all that are larger.
std::vector<std::int64_t> ids_of(const Hdf5Reader& file, const Piece& piece, std::int64_t row, std::int64_t count) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> ids = file.integer_rows(piece.group + "/ParticleIDs", row, count);
  const auto beyond = std::ranges::find(ids, largest);
  if (beyond != ids.end())
    throw core::Error(fmt::format("the id of the particle in row {} of `{}` is 2^63 - 1 or above",
                                  row + (beyond - ids.begin()), piece.group),
                      file.path(), "ids are signed integers of 64 bits here: number the particles from 0 or 1 on");
  return ids;
}

class GadgetInitialFile : public InitialFile {
 public:
  GadgetInitialFile(const std::string& path, Set set) : InitialFile(describe(path, set)), set_(std::move(set)) {}

  mesh::Particles particles(int rank, int ranks) const override { return read(set_.others, rank, ranks, false); }
  mesh::Particles gas(int rank, int ranks) const override { return read(set_.gas, rank, ranks, true); }

 private:
  mesh::Particles read(const std::vector<Piece>& pieces, int rank, int ranks, bool is_gas) const {
    const Share share = share_of(count_of(pieces), rank, ranks);
    mesh::Particles particles = empty_initial_particles(static_cast<std::size_t>(share.count), is_gas);
    std::int64_t first_of_piece = 0;
    std::size_t at = 0;
    for (const Piece& piece : pieces) {
      const std::int64_t from = std::max<std::int64_t>(share.first - first_of_piece, 0);
      const std::int64_t to = std::min(share.first + share.count - first_of_piece, piece.count);
      first_of_piece += piece.count;
      if (from >= to) continue;
      const Hdf5Reader file(piece.path);
      for (std::int64_t row = from; row < to; row += chunk_rows) {
        const std::int64_t count = std::min(chunk_rows, to - row);
        read_rows(file, piece, row, count, at, particles);
        at += static_cast<std::size_t>(count);
      }
    }
    check_initial_particles(particles, description().path);
    return particles;
  }

  void read_rows(const Hdf5Reader& file, const Piece& piece, std::int64_t row, std::int64_t count, std::size_t at,
                 mesh::Particles& particles) const {
    const GadgetUnits& units = set_.header.units;
    const auto vectors = [&](const char* name) { return file.double_rows(piece.group + name, row, count); };
    const std::vector<double> position = vectors("/Coordinates"), velocity = vectors("/Velocities");
    const std::vector<std::int64_t> id = ids_of(file, piece, row, count);
    std::vector<double> mass(id.size(), piece.mass);
    if (piece.mass == 0.0) mass = vectors("/Masses");
    for (std::size_t n = 0; n < id.size(); ++n) {
      particles.id[at + n] = id[n];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        particles.position[axis][at + n] = units.length * position[3 * n + axis];
        particles.attributes[axis].values[at + n] = units.velocity * velocity[3 * n + axis];
      }
      particles.attributes[3].values[at + n] = units.mass * mass[n];
    }
    const std::string energies = piece.group == "PartType0" ? energy_dataset(file, piece.group) : "";
    if (energies.empty()) return;
    const double unit = units.energy * comoving_energy_factor(file, energies, set_.header.scale_factor);
    const std::vector<double> energy = file.double_rows(energies, row, count);
    for (std::size_t n = 0; n < energy.size(); ++n) particles.attributes[4].values[at + n] = unit * energy[n];
  }

  Set set_;
};

bool recognizes(const std::string& path) {
  return is_hdf5(path) && numbers_of_attribute(Hdf5Reader(path), "Header", "NumPart_ThisFile").has_value();
}

}  // namespace

InitialFormat gadget_initial_format() {
  return {"gadget", "HDF5 files of Gadget-4, Arepo and SWIFT", recognizes,
          [](const std::string& path, const InitialAssumptions& assumptions) -> std::unique_ptr<InitialFile> {
            return std::make_unique<GadgetInitialFile>(path, open_set(path, assumptions));
          }};
}

}  // namespace sidestream::io
