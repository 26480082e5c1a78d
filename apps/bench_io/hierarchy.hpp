#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/mesh/box.hpp"

namespace sidestream::bench {

/// A size of the study of ENZO: bytes of an initial read and of a dump as published, and how they are made up here: a
/// cubic root grid, and subgrids of at most `largest` cells along an axis.
struct HierarchySize {
  std::string name;
  std::int64_t read_bytes = 0, dump_bytes = 0;
  std::int32_t root_cells = 0, largest = 0;
};

/// AMR64, AMR128 and AMR256.
std::span<const HierarchySize> hierarchy_sizes();

/// Baryon fields of every cell, in single precision.
inline constexpr std::array<const char*, 10> baryon_fields{
    "Density",    "TotalEnergy", "GasEnergy",   "x-velocity",       "y-velocity",
    "z-velocity", "HI_Density",  "HII_Density", "Electron_Density", "HeI_Density"};
inline constexpr std::int64_t cell_bytes = 4 * baryon_fields.size();

struct Particle {
  std::array<double, 3> position{};  ///< in [0, 1)
  std::array<float, 3> velocity{};
  float mass = 0.0F;
  std::int32_t id = 0;
  friend bool operator==(const Particle&, const Particle&) = default;
};

/// An attribute of particles as it stands in a file: an array of its own.
struct Column {
  const char* name;
  io::ElementType type;
  std::size_t place;  ///< first byte within a Particle
};

inline constexpr std::array<Column, 8> particle_columns{
    {{"particle_position_x", io::ElementType::float64, offsetof(Particle, position)},
     {"particle_position_y", io::ElementType::float64, offsetof(Particle, position) + 8},
     {"particle_position_z", io::ElementType::float64, offsetof(Particle, position) + 16},
     {"particle_velocity_x", io::ElementType::float32, offsetof(Particle, velocity)},
     {"particle_velocity_y", io::ElementType::float32, offsetof(Particle, velocity) + 4},
     {"particle_velocity_z", io::ElementType::float32, offsetof(Particle, velocity) + 8},
     {"particle_mass", io::ElementType::float32, offsetof(Particle, mass)},
     {"particle_index", io::ElementType::int32, offsetof(Particle, id)}}};
inline constexpr std::int64_t particle_bytes = 3 * 8 + 5 * 4;

/// The bytes of a column, and particles given theirs.
std::vector<std::byte> column_of(std::span<const Particle> particles, const Column& column);
void set_column(std::span<Particle> particles, const Column& column, std::span<const std::byte> bytes);

/// The root grid, which all ranks share, or a subgrid, which one rank owns.
struct Grid {
  mesh::Int3 cells;
  std::int64_t particles = 0, first_id = 0;
  int owner = 0;
};

/// The grids of a size, the root first, not yet dealt to ranks; initial: the root with all particles.
std::vector<Grid> grids_of(const HierarchySize& size, bool is_initial);

/// What a rank holds of a grid.
struct Piece {
  std::size_t grid = 0;
  mesh::Box box;             ///< within the grid
  std::vector<float> cells;  ///< field after field
  std::vector<Particle> particles;

  std::span<const float> field(std::size_t number) const;
  std::span<float> field(std::size_t number);
};

/// Numbers [first, first + count).
struct Share {
  std::int64_t first = 0, count = 0;
};

/// The share of `rank` in `total` things that are dealt evenly and in order, and whose share a thing is in.
Share share_of(int rank, int ranks, std::int64_t total);
int sharer_of(std::int64_t thing, int ranks, std::int64_t total);

/// A refined state like one of ENZO, the same at every time: a root grid dealt (Block, Block, Block), many subgrids of
/// unequal size, particles at irregular places, which in the root grid are those of a rank's box in no order. Initial:
/// the root grid with all particles. Any ranks have the same together.
class Hierarchy {
 public:
  Hierarchy(const comm::Communicator& comm, const HierarchySize& size, bool is_initial);
  Hierarchy(const Hierarchy&) = delete;

  const comm::Communicator& comm() const { return comm_; }
  const std::vector<Grid>& grids() const { return grids_; }  ///< the root first
  mesh::Box root() const { return domain_of(grids_.front().cells); }
  mesh::Box root_box(int rank) const;
  /// How often the root is cut along x.
  int cuts_x() const { return ranks_.x; }
  /// The rank whose box of the root a particle is in.
  int root_owner(const Particle& particle) const;
  /// Of this rank: that of the root, then its subgrids in order.
  const std::vector<Piece>& pieces() const { return pieces_; }
  /// The same pieces, their cells zeros and without particles, to be read into.
  std::vector<Piece> empty_pieces() const;
  /// Of all grids.
  std::int64_t bytes() const;
  /// Throws a core::Error unless these are the pieces of this rank, bit by bit; particles in any order. Local.
  void compare(std::vector<Piece> found, const std::string& path) const;

 private:
  void fill();

  const comm::Communicator& comm_;
  std::vector<Grid> grids_;
  mesh::Int3 ranks_;
  std::vector<Piece> pieces_;
};

}  // namespace sidestream::bench
