// The root grid comes together on the first rank; each grid is a serial HDF5 file of its own.
#include <fmt/format.h>

#include <algorithm>

#include "hdf5_objects.hpp"
#include "hierarchy_exchange.hpp"
#include "hierarchy_files.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::bench {

namespace {

std::string path_of(const std::string& folder, std::size_t grid) {
  return fmt::format("{}/grid{:06}.h5", folder, grid);
}

std::vector<std::int64_t> shape_of(mesh::Int3 cells) {
  return {cells.z, cells.y, cells.x};
}

// A whole grid in a file of its own.
void write_grid(const std::string& path, const Grid& grid, const Piece& piece, bool is_durable,
                io::AccessStatistics& statistics) {
  core::Stopwatch watch;
  Hdf5File file = create_serial_file(path);
  ++statistics.files;
  const auto write = [&](const char* name, io::ElementType type, const std::vector<std::int64_t>& shape,
                         std::span<const std::byte> bytes) {
    const Hdf5Dataset dataset = create_dataset(file, name, type, shape);
    if (bytes.empty()) return;
    check_hdf5(H5Dwrite(dataset, hdf5_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), "H5Dwrite");
    statistics.add_write(std::ssize(bytes));
  };
  for (std::size_t f = 0; f < baryon_fields.size(); ++f)
    write(baryon_fields[f], io::ElementType::float32, shape_of(grid.cells), std::as_bytes(piece.field(f)));
  for (const Column& column : particle_columns)
    write(column.name, column.type, {grid.particles}, column_of(piece.particles, column));
  file.close("H5Fclose");
  statistics.data_s += watch.seconds();
  watch.restart();
  if (is_durable) bring_to_disk(path);
  statistics.sync_s += watch.seconds();
}

void read_grid(const std::string& path, const Grid& grid, Piece& piece, io::AccessStatistics& statistics) {
  const core::Stopwatch watch;
  const Hdf5File file = open_serial_file(path);
  ++statistics.files;
  const auto read = [&](const char* name, io::ElementType type, std::span<std::byte> bytes) {
    if (bytes.empty()) return;
    const Hdf5Dataset dataset(H5Dopen2(file, name, H5P_DEFAULT), "H5Dopen2");
    check_hdf5(H5Dread(dataset, hdf5_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), "H5Dread");
    statistics.add_read(std::ssize(bytes));
  };
  for (std::size_t f = 0; f < baryon_fields.size(); ++f)
    read(baryon_fields[f], io::ElementType::float32, std::as_writable_bytes(piece.field(f)));
  piece.particles.resize(static_cast<std::size_t>(grid.particles));
  std::vector<std::byte> bytes;
  for (const Column& column : particle_columns) {
    bytes.resize(piece.particles.size() * static_cast<std::size_t>(size_of(column.type)));
    read(column.name, column.type, bytes);
    set_column(piece.particles, column, bytes);
  }
  statistics.data_s += watch.seconds();
}

// The root as a whole on the first rank, its particles in the order of their numbers; empty elsewhere.
Piece gathered_root(const Hierarchy& hierarchy) {
  Piece root{0, hierarchy.comm().rank() == 0 ? hierarchy.root() : mesh::Box{}, {}, {}};
  for (std::size_t f = 0; f < baryon_fields.size(); ++f) {
    const std::vector<float> whole = gathered_field(hierarchy, f);
    root.cells.insert(root.cells.end(), whole.begin(), whole.end());
  }
  root.particles = hierarchy.comm().gather(std::span<const Particle>(hierarchy.pieces().front().particles));
  std::ranges::sort(root.particles, {}, &Particle::id);
  return root;
}

io::AccessStatistics write(const Hierarchy& hierarchy, const std::string& path, bool is_durable) {
  const comm::Communicator& comm = hierarchy.comm();
  io::AccessStatistics statistics;
  comm.agree_on([&] {
    if (comm.rank() == 0) io::make_folder(path);
  });
  const core::Stopwatch watch;
  const Piece root = gathered_root(hierarchy);
  statistics.exchange_s += watch.seconds();
  comm.agree_on([&] {
    const std::vector<Grid>& grids = hierarchy.grids();
    if (comm.rank() == 0) write_grid(path_of(path, 0), grids[0], root, is_durable, statistics);
    for (const Piece& piece : hierarchy.pieces())
      if (piece.grid > 0) write_grid(path_of(path, piece.grid), grids[piece.grid], piece, is_durable, statistics);
  });
  comm.agree_on([&] {
    if (comm.rank() == 0 && is_durable) io::sync_folder(path);
  });
  return statistics;
}

io::AccessStatistics read(const Hierarchy& hierarchy, const std::string& path, std::vector<Piece>& pieces) {
  const comm::Communicator& comm = hierarchy.comm();
  const std::vector<Grid>& grids = hierarchy.grids();
  io::AccessStatistics statistics;
  Piece root;
  comm.agree_on([&] {
    if (comm.rank() == 0) {
      root.box = hierarchy.root();
      root.cells.resize(static_cast<std::size_t>(root.box.volume()) * baryon_fields.size());
      read_grid(path_of(path, 0), grids[0], root, statistics);
    }
    for (Piece& piece : pieces)
      if (piece.grid > 0) read_grid(path_of(path, piece.grid), grids[piece.grid], piece, statistics);
  });
  const core::Stopwatch watch;
  std::vector<Share> shares(static_cast<std::size_t>(comm.size()));
  shares.front() = {0, hierarchy.root().volume()};
  deal_cells(hierarchy, shares, root.cells, pieces.front());
  pieces.front().particles = brought_to_owners(hierarchy, root.particles);
  statistics.exchange_s += watch.seconds();
  return statistics;
}

}  // namespace

HierarchyMethod gathered_method() {
  return {"hdf5-serial", "gathered", write, read};
}

}  // namespace sidestream::bench
