// One parallel HDF5 file with a group for each grid. All ranks make each array together, as HDF5 demands.
#include <fmt/format.h>

#include <optional>

#include "hdf5_objects.hpp"
#include "hierarchy_exchange.hpp"
#include "hierarchy_files.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::bench {

namespace {

std::string name_of(std::size_t grid, const char* array) {
  return fmt::format("Grid{:08}/{}", grid, array);
}

Hdf5Properties access_by(const comm::Communicator& comm) {
  Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
  check_hdf5(H5Pset_fapl_mpio(access, comm.raw(), MPI_INFO_NULL), "H5Pset_fapl_mpio");
  return access;
}

Hdf5Properties transfer(bool is_collective) {
  Hdf5Properties properties(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
  check_hdf5(H5Pset_dxpl_mpio(properties, is_collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT),
             "H5Pset_dxpl_mpio");
  return properties;
}

// The cells or rows of a dataset that a rank moves; nothing where `count` has a zero.
class Selection {
 public:
  Selection(hid_t dataset, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count)
      : in_file(H5Dget_space(dataset), "H5Dget_space"), in_memory(memory_of(count)) {
    hsize_t cells = 1;
    for (const hsize_t along : count) cells *= along;
    if (cells == 0) {
      check_hdf5(H5Sselect_none(in_file), "H5Sselect_none");
      check_hdf5(H5Sselect_none(in_memory), "H5Sselect_none");
    } else {
      check_hdf5(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
                 "H5Sselect_hyperslab");
    }
  }

  Hdf5Space in_file, in_memory;

 private:
  static Hdf5Space memory_of(std::vector<hsize_t> count) {
    for (hsize_t& along : count) along = along == 0 ? 1 : along;
    return Hdf5Space(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), "H5Screate_simple");
  }
};

std::vector<hsize_t> lengths(mesh::Int3 cells) {
  return {static_cast<hsize_t>(cells.z), static_cast<hsize_t>(cells.y), static_cast<hsize_t>(cells.x)};
}

Selection cells_of(hid_t dataset, const mesh::Box& box) {
  return {dataset, lengths(box.lo), lengths(box.extent())};
}

Selection rows_of(hid_t dataset, Share share) {
  return {dataset, {static_cast<hsize_t>(share.first)}, {static_cast<hsize_t>(share.count)}};
}

class Writer {
 public:
  Writer(hid_t file, io::AccessStatistics& statistics)
      : file_(file), statistics_(statistics), together_(transfer(true)), alone_(transfer(false)) {}

  // Makes an array on all ranks; `select` says what this one writes of it. Collective.
  void write(const std::string& name, io::ElementType type, const std::vector<std::int64_t>& shape, bool is_collective,
             const auto& select, std::span<const std::byte> bytes) {
    const core::Stopwatch watch;
    failure.keep([&] {
      const Hdf5Dataset dataset = create_dataset(file_, name, type, shape);
      if (!is_collective && bytes.empty()) return;
      const Selection chosen = select(dataset);
      const std::byte nothing{};
      check_hdf5(H5Dwrite(dataset, hdf5_type(type), chosen.in_memory, chosen.in_file,
                          is_collective ? together_ : alone_, bytes.empty() ? &nothing : bytes.data()),
                 "H5Dwrite");
      if (!bytes.empty()) statistics_.add_write(std::ssize(bytes));
    });
    statistics_.data_s += watch.seconds();
  }

  // A grid, of which this rank has a piece or not. Collective.
  void write_grid(const Grid& grid, std::size_t number, const Piece* piece, std::span<const Particle> particles,
                  Share share, bool is_collective) {
    for (std::size_t f = 0; f < baryon_fields.size(); ++f)
      write(
          name_of(number, baryon_fields[f]), io::ElementType::float32, {grid.cells.z, grid.cells.y, grid.cells.x},
          is_collective, [&](hid_t dataset) { return cells_of(dataset, piece->box); },
          piece == nullptr ? std::span<const std::byte>{} : std::as_bytes(piece->field(f)));
    for (const Column& column : particle_columns)
      write(
          name_of(number, column.name), column.type, {grid.particles}, is_collective,
          [&](hid_t dataset) { return rows_of(dataset, share); }, column_of(particles, column));
  }

  KeptFailure failure;

 private:
  hid_t file_;
  io::AccessStatistics& statistics_;
  Hdf5Properties together_, alone_;
};

io::AccessStatistics write(const Hierarchy& hierarchy, const std::string& path, bool is_durable) {
  const comm::Communicator& comm = hierarchy.comm();
  const std::vector<Grid>& grids = hierarchy.grids();
  const Piece& root = hierarchy.pieces().front();
  io::AccessStatistics statistics;
  core::Stopwatch watch;
  const std::vector<Particle> sorted = sorted_share(comm, root.particles, grids[0].particles);
  statistics.exchange_s += watch.seconds();
  std::optional<Hdf5File> file;
  comm.agree_on([&] {
    file.emplace(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access_by(comm)), "H5Fcreate");
    statistics.files = 1;
  });
  Writer writer(*file, statistics);
  writer.write_grid(grids[0], 0, &root, sorted, share_of(comm.rank(), comm.size(), grids[0].particles), true);
  auto next = hierarchy.pieces().begin() + 1;
  for (std::size_t g = 1; g < grids.size(); ++g) {
    const bool is_own = grids[g].owner == comm.rank();
    const Piece* const piece = is_own ? &*next++ : nullptr;
    const auto particles = is_own ? std::span<const Particle>(piece->particles) : std::span<const Particle>{};
    writer.write_grid(grids[g], g, piece, particles, {0, grids[g].particles}, false);
  }
  writer.failure.keep([&] { file->close("H5Fclose"); });
  writer.failure.agree(comm);
  watch.restart();
  comm.agree_on([&] {
    if (is_durable && comm.rank() == 0) bring_to_disk(path);
  });
  statistics.sync_s = watch.seconds();
  return statistics;
}

class Reader {
 public:
  Reader(hid_t file, io::AccessStatistics& statistics)
      : file_(file), statistics_(statistics), together_(transfer(true)), alone_(transfer(false)) {}

  void read(const std::string& name, io::ElementType type, bool is_collective, const auto& select,
            std::span<std::byte> bytes) {
    if (!is_collective && bytes.empty()) return;
    const core::Stopwatch watch;
    failure.keep([&] {
      const Hdf5Dataset dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), "H5Dopen2");
      const Selection chosen = select(dataset);
      std::byte nothing{};
      check_hdf5(H5Dread(dataset, hdf5_type(type), chosen.in_memory, chosen.in_file, is_collective ? together_ : alone_,
                         bytes.empty() ? &nothing : bytes.data()),
                 "H5Dread");
      if (!bytes.empty()) statistics_.add_read(std::ssize(bytes));
    });
    statistics_.data_s += watch.seconds();
  }

  // The cells of a piece, and a share of the particles of its grid.
  std::vector<Particle> read_grid(Piece& piece, Share share, bool is_collective) {
    for (std::size_t f = 0; f < baryon_fields.size(); ++f)
      read(
          name_of(piece.grid, baryon_fields[f]), io::ElementType::float32, is_collective,
          [&](hid_t dataset) { return cells_of(dataset, piece.box); }, std::as_writable_bytes(piece.field(f)));
    std::vector<Particle> particles(static_cast<std::size_t>(share.count));
    std::vector<std::byte> bytes;
    for (const Column& column : particle_columns) {
      bytes.resize(particles.size() * static_cast<std::size_t>(size_of(column.type)));
      read(
          name_of(piece.grid, column.name), column.type, is_collective,
          [&](hid_t dataset) { return rows_of(dataset, share); }, bytes);
      set_column(particles, column, bytes);
    }
    return particles;
  }

  KeptFailure failure;

 private:
  hid_t file_;
  io::AccessStatistics& statistics_;
  Hdf5Properties together_, alone_;
};

io::AccessStatistics read(const Hierarchy& hierarchy, const std::string& path, std::vector<Piece>& pieces) {
  const comm::Communicator& comm = hierarchy.comm();
  const std::vector<Grid>& grids = hierarchy.grids();
  io::AccessStatistics statistics;
  std::optional<Hdf5File> file;
  comm.agree_on([&] {
    file.emplace(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access_by(comm)), "H5Fopen");
    statistics.files = 1;
  });
  Reader reader(*file, statistics);
  const Share own = share_of(comm.rank(), comm.size(), grids[0].particles);
  const std::vector<Particle> share = reader.read_grid(pieces.front(), own, true);
  for (Piece& piece : pieces)
    if (piece.grid > 0) piece.particles = reader.read_grid(piece, {0, grids[piece.grid].particles}, false);
  reader.failure.keep([&] { file->close("H5Fclose"); });
  reader.failure.agree(comm);
  const core::Stopwatch watch;
  pieces.front().particles = brought_to_owners(hierarchy, share);
  statistics.exchange_s += watch.seconds();
  return statistics;
}

}  // namespace

HierarchyMethod parallel_hdf5_method() {
  return {"hdf5", "hdf5-parallel", write, read};
}

}  // namespace sidestream::bench
