#include "hierarchy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sidestream/core/error.hpp"

namespace sidestream::bench {

namespace {

constexpr std::int32_t smallest_side = 6;
constexpr std::int64_t stride = 2'654'435'761;  // a prime: its multiples meet every remainder

std::uint64_t mixed(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15U;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31);
}

std::uint64_t mixed(std::size_t first, std::size_t second, std::int64_t third) {
  return mixed(mixed(first * 64 + second) ^ static_cast<std::uint64_t>(third));
}

// In [0, 1).
double fraction(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

float cell_value(std::size_t grid, std::size_t field, std::int64_t cell) {
  return 1.0F + static_cast<float>(mixed(grid, field, cell) >> 40);
}

// More of them at low x, so that ranks have unequally many.
Particle particle_of(std::int64_t id) {
  Particle made;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made.position[axis] = fraction(mixed(1, axis, id));
    made.velocity[axis] = static_cast<float>(fraction(mixed(2, axis, id)) - 0.5);
  }
  made.position[0] *= made.position[0];
  made.mass = static_cast<float>(1.0 + fraction(mixed(3, 0, id)));
  made.id = static_cast<std::int32_t>(id);
  return made;
}

mesh::Int3 subgrid_cells(std::size_t number, std::int32_t largest, std::int64_t cells_left) {
  mesh::Int3 cells;
  for (int axis = 0; axis < 3; ++axis) {
    const auto choices = static_cast<std::uint64_t>((largest - smallest_side) / 2 + 1);
    cells[axis] =
        smallest_side + 2 * static_cast<std::int32_t>(
                                mixed(4, static_cast<std::size_t>(axis), static_cast<std::int64_t>(number)) % choices);
  }
  if (cells.product() <= cells_left) return cells;
  return {8, 8, static_cast<std::int32_t>(std::min<std::int64_t>(largest, cells_left / 64))};
}

// Each subgrid goes to the rank that has fewest cells of them.
void deal(std::vector<Grid>& grids, int ranks) {
  std::vector<std::int64_t> loads(static_cast<std::size_t>(ranks));
  for (std::size_t g = 1; g < grids.size(); ++g) {
    const auto least = std::ranges::min_element(loads);
    grids[g].owner = static_cast<int>(least - loads.begin());
    *least += grids[g].cells.product();
  }
}

mesh::Int3 cut(int ranks) {
  std::array<int, 3> parts{};
  comm::check(MPI_Dims_create(ranks, 3, parts.data()), "MPI_Dims_create");
  return {parts[2], parts[1], parts[0]};
}

}  // namespace

std::span<const HierarchySize> hierarchy_sizes() {
  static const std::array<HierarchySize, 3> sizes{{{"AMR64", 2'780'000, 13'120'000, 32, 16},
                                                   {"AMR128", 22'150'000, 66'420'000, 64, 24},
                                                   {"AMR256", 177'210'000, 525'270'000, 128, 32}}};
  return sizes;
}

// A subgrid has 0.3 to 0.9 times as many particles for its cells as the whole has for all of them.
std::vector<Grid> grids_of(const HierarchySize& size, bool is_initial) {
  const mesh::Int3 root{size.root_cells, size.root_cells, size.root_cells};
  const std::int64_t particles = (size.read_bytes - root.product() * cell_bytes) / particle_bytes;
  std::vector<Grid> grids{{root, particles, 0, 0}};
  if (is_initial) return grids;
  const std::int64_t all_cells = (size.dump_bytes - size.read_bytes) / cell_bytes;
  for (std::int64_t left = all_cells; left >= 64; left -= grids.back().cells.product()) {
    const std::size_t number = grids.size();
    const mesh::Int3 cells = subgrid_cells(number, size.largest, left);
    const double share = 0.3 + 0.6 * fraction(mixed(5, number, 0));
    const double wanted = share * static_cast<double>(particles) * static_cast<double>(cells.product());
    const auto own = static_cast<std::int64_t>(wanted / static_cast<double>(all_cells));
    grids.push_back({cells, own, 0, 0});
    grids.front().particles -= own;
  }
  std::int64_t next = 0;
  for (Grid& grid : grids) {
    grid.first_id = next;
    next += grid.particles;
  }
  return grids;
}

std::vector<std::byte> column_of(std::span<const Particle> particles, const Column& column) {
  const auto width = static_cast<std::size_t>(size_of(column.type));
  std::vector<std::byte> bytes(particles.size() * width);
  for (std::size_t p = 0; p < particles.size(); ++p)
    std::memcpy(bytes.data() + p * width, reinterpret_cast<const std::byte*>(&particles[p]) + column.place, width);
  return bytes;
}

void set_column(std::span<Particle> particles, const Column& column, std::span<const std::byte> bytes) {
  const auto width = static_cast<std::size_t>(size_of(column.type));
  for (std::size_t p = 0; p < particles.size(); ++p)
    std::memcpy(reinterpret_cast<std::byte*>(&particles[p]) + column.place, bytes.data() + p * width, width);
}

std::span<const float> Piece::field(std::size_t number) const {
  const auto count = static_cast<std::size_t>(box.volume());
  return std::span(cells).subspan(number * count, count);
}

std::span<float> Piece::field(std::size_t number) {
  const auto count = static_cast<std::size_t>(box.volume());
  return std::span(cells).subspan(number * count, count);
}

Share share_of(int rank, int ranks, std::int64_t total) {
  const std::int64_t first = rank * total / ranks;
  return {first, (rank + 1) * total / ranks - first};
}

int sharer_of(std::int64_t thing, int ranks, std::int64_t total) {
  return static_cast<int>(((thing + 1) * ranks - 1) / total);
}

Hierarchy::Hierarchy(const comm::Communicator& comm, const HierarchySize& size, bool is_initial)
    : comm_(comm), grids_(grids_of(size, is_initial)), ranks_(cut(comm.size())) {
  deal(grids_, comm.size());
  pieces_.push_back({0, root_box(comm.rank()), {}, {}});
  for (std::size_t g = 1; g < grids_.size(); ++g)
    if (grids_[g].owner == comm.rank()) pieces_.push_back({g, mesh::domain_of(grids_[g].cells), {}, {}});
  fill();
}

void Hierarchy::fill() {
  for (Piece& piece : pieces_) {
    const Grid& grid = grids_[piece.grid];
    const mesh::Box whole = mesh::domain_of(grid.cells);
    for (std::size_t f = 0; f < baryon_fields.size(); ++f)
      for (std::int32_t k = piece.box.lo.z; k < piece.box.hi.z; ++k)
        for (std::int32_t j = piece.box.lo.y; j < piece.box.hi.y; ++j)
          for (std::int32_t i = piece.box.lo.x; i < piece.box.hi.x; ++i)
            piece.cells.push_back(cell_value(piece.grid, f, linear_index(whole, {i, j, k})));
    for (std::int64_t p = 0; p < grid.particles; ++p) {
      const Particle particle = particle_of(grid.first_id + p * (stride % grid.particles) % grid.particles);
      if (piece.grid > 0 || root_owner(particle) == comm_.rank()) piece.particles.push_back(particle);
    }
  }
}

mesh::Box Hierarchy::root_box(int rank) const {
  const mesh::Int3 place{rank % ranks_.x, rank / ranks_.x % ranks_.y, rank / (ranks_.x * ranks_.y)};
  mesh::Box box;
  for (int axis = 0; axis < 3; ++axis) {
    const Share share = share_of(place[axis], ranks_[axis], grids_.front().cells[axis]);
    box.lo[axis] = static_cast<std::int32_t>(share.first);
    box.hi[axis] = static_cast<std::int32_t>(share.first + share.count);
  }
  return box;
}

int Hierarchy::root_owner(const Particle& particle) const {
  mesh::Int3 place;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int32_t cells = grids_.front().cells[axis];
    const auto cell = static_cast<std::int64_t>(particle.position[static_cast<std::size_t>(axis)] * cells);
    place[axis] = sharer_of(cell, ranks_[axis], cells);
  }
  return (place.z * ranks_.y + place.y) * ranks_.x + place.x;
}

std::vector<Piece> Hierarchy::empty_pieces() const {
  std::vector<Piece> pieces;
  for (const Piece& piece : pieces_)
    pieces.push_back({piece.grid, piece.box, std::vector<float>(piece.cells.size()), {}});
  return pieces;
}

std::int64_t Hierarchy::bytes() const {
  std::int64_t bytes = 0;
  for (const Grid& grid : grids_) bytes += grid.cells.product() * cell_bytes + grid.particles * particle_bytes;
  return bytes;
}

void Hierarchy::compare(std::vector<Piece> found, const std::string& path) const {
  const auto fail = [&](std::size_t grid, const char* what) {
    throw core::Error(fmt::format("{} of grid {} came back wrong", what, grid), path);
  };
  core::require(found.size() == pieces_.size(), "as many pieces are read as there are");
  for (std::size_t p = 0; p < found.size(); ++p) {
    const Piece& wanted = pieces_[p];
    if (!std::ranges::equal(std::as_bytes(std::span(wanted.cells)), std::as_bytes(std::span(found[p].cells))))
      fail(wanted.grid, "cells");
    std::vector<Particle> particles = wanted.particles;
    std::ranges::sort(particles, {}, &Particle::id);
    std::ranges::sort(found[p].particles, {}, &Particle::id);
    if (particles != found[p].particles) fail(wanted.grid, "particles");
  }
}

}  // namespace sidestream::bench
