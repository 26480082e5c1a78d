#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/arrays/stored_reals.hpp"
#include "io/disk/byte_order.hpp"
#include "io/initial/gadget_header.hpp"
#include "io/initial/initial_entries.hpp"
#include "io/initial/initial_particles.hpp"
#include "io/initial/paths.hpp"
#include "io/initial/share.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

// Nyx's binary particle file (its `ParticleContainer::InitFromBinaryFile`), little endian: the number of particles (64
// bits), the dimension and the number of further reals (32 bits each), then for each particle x, y, z [comoving Mpc],
// the mass [Msun] of its share of all matter, and the proper peculiar velocity [km/s]. Particles have no ids: they are
// counted.
constexpr std::int64_t nyx_header_bytes = 16;
constexpr std::int64_t reals = 7;
constexpr std::int64_t chunk_particles = 1 << 16;

struct Header {
  std::int64_t particles = 0;
  ElementType type = ElementType::float32;
};

std::int64_t size_with(std::int64_t particles, std::int64_t real_bytes) {
  return nyx_header_bytes + particles * reals * real_bytes;
}

Header read_header(const InputFile& file) {
  if (file.size_bytes() < nyx_header_bytes)
    throw core::Error(
        fmt::format("the file has {} bytes, less than the header of a particle file of Nyx", file.size_bytes()),
        file.path(), "the file is of no known format of initial conditions");
  const std::vector<std::byte> bytes = file.bytes(0, nyx_header_bytes);
  const std::int64_t particles = numbers_in<std::int64_t>(std::span(bytes).first(8), ByteOrder::little).front();
  const auto numbers = numbers_in<std::int32_t>(std::span(bytes).subspan(8), ByteOrder::little);
  if (numbers[0] != 3 || numbers[1] != 4)
    throw core::Error(fmt::format("read as a particle file of Nyx, the header has dimension {} and {} further reals",
                                  numbers[0], numbers[1]),
                      file.path(), "it must have dimension 3 and 4 further reals: mass and velocity");
  constexpr std::int64_t most = std::int64_t{1} << 56;
  if (particles < 1 || particles > most)
    throw core::Error(fmt::format("read as a particle file of Nyx, the header has {} particles", particles),
                      file.path(), "the file is damaged, or of no known format of initial conditions");
  const std::int64_t single = size_with(particles, 4), twice = size_with(particles, 8);
  if (file.size_bytes() != single && file.size_bytes() != twice)
    throw core::Error(fmt::format("the file has {} bytes; {} particles take {} bytes in single precision, {} in double",
                                  file.size_bytes(), particles, single, twice),
                      file.path(), "the file is damaged, or was not written completely");
  return {particles, file.size_bytes() == single ? ElementType::float32 : ElementType::float64};
}

InitialDescription describe(const std::string& path) {
  InitialDescription description;
  description.path = path;
  description.format = "nyx";
  description.particles = read_header(InputFile(path)).particles;
  return description;
}

class NyxInitialFile : public InitialFile {
 public:
  explicit NyxInitialFile(const std::string& path) : InitialFile(describe(path)) {}

  mesh::Particles particles(int rank, int ranks) const override {
    const InputFile file(description().path);
    const Header header = read_header(file);
    const Share share = share_of(header.particles, rank, ranks);
    const std::int64_t row_bytes = reals * size_of(header.type);
    mesh::Particles particles = empty_initial_particles(static_cast<std::size_t>(share.count), false);
    for (std::int64_t done = 0; done < share.count; done += chunk_particles) {
      const std::int64_t count = std::min(chunk_particles, share.count - done), first = share.first + done;
      const auto rows = doubles_of(file.bytes(nyx_header_bytes + first * row_bytes, count * row_bytes), header.type);
      for (std::int64_t n = 0; n < count; ++n)
        put(rows.data() + n * reals, first + n, static_cast<std::size_t>(done + n), particles);
    }
    check_initial_particles(particles, description().path);
    return particles;
  }

  mesh::Particles gas(int, int) const override { return empty_initial_particles(0, true); }

 private:
  static void put(const double* row, std::int64_t id, std::size_t at, mesh::Particles& particles) {
    particles.id[at] = id;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      particles.position[axis][at] = row[axis];
      particles.attributes[axis].values[at] = row[4 + axis];
    }
    particles.attributes[3].values[at] = row[3];
  }
};

}  // namespace

// The file has no mark of its own: every file that is of no other format is taken for one, and its header and size then
// show whether it is.
InitialFormat nyx_initial_format() {
  return {"nyx", "binary particle file of Nyx", [](const std::string& path) { return is_file(path) && !is_hdf5(path); },
          [](const std::string& path, const InitialAssumptions&) -> std::unique_ptr<InitialFile> {
            return std::make_unique<NyxInitialFile>(path);
          }};
}

}  // namespace sidestream::io
