// One file by MPI-IO, grid after grid and array after array.
#include <mpi.h>

#include <limits>

#include "hierarchy_exchange.hpp"
#include "hierarchy_files.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::bench {

namespace {

// The first byte of each grid.
std::vector<std::int64_t> places_of(const std::vector<Grid>& grids) {
  std::vector<std::int64_t> places{0};
  for (const Grid& grid : grids)
    places.push_back(places.back() + grid.cells.product() * cell_bytes + grid.particles * particle_bytes);
  return places;
}

// The first byte of a grid's particles, and of each column of it.
std::vector<std::int64_t> columns_of(const Grid& grid, std::int64_t place) {
  std::vector<std::int64_t> places{place + grid.cells.product() * cell_bytes};
  for (const Column& column : particle_columns) places.push_back(places.back() + grid.particles * size_of(column.type));
  return places;
}

class SharedFile {
 public:
  SharedFile(const Hierarchy& hierarchy, const std::string& path, int mode) : path_(path) {
    const core::Stopwatch watch;
    hierarchy.comm().agree_on([&] {
      check(MPI_File_open(hierarchy.comm().raw(), path.c_str(), mode, MPI_INFO_NULL, &file_), "MPI_File_open");
    });
    make_type(hierarchy.root(), hierarchy.pieces().front().box);
    statistics.files = 1;
    statistics.metadata_s = watch.seconds();
  }
  ~SharedFile() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }
  SharedFile(const SharedFile&) = delete;

  // A field of the root at its place, each rank its box. Collective.
  void write_root(std::int64_t place, std::span<const float> field) {
    const core::Stopwatch watch;
    MPI_Status status;
    set_view(place);
    check(MPI_File_write_all(file_, field.data(), static_cast<int>(field.size()), MPI_FLOAT, &status),
          "MPI_File_write_all");
    require(status, std::ssize(std::as_bytes(field)));
    statistics.add_write(std::ssize(std::as_bytes(field)));
    statistics.data_s += watch.seconds();
  }
  void read_root(std::int64_t place, std::span<float> field) {
    const core::Stopwatch watch;
    MPI_Status status;
    set_view(place);
    check(MPI_File_read_all(file_, field.data(), static_cast<int>(field.size()), MPI_FLOAT, &status),
          "MPI_File_read_all");
    require(status, std::ssize(std::as_bytes(field)));
    statistics.add_read(std::ssize(std::as_bytes(field)));
    statistics.data_s += watch.seconds();
  }
  // Back to plain bytes. Collective.
  void end_root() {
    check(MPI_File_set_view(file_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "MPI_File_set_view");
  }

  void write(std::int64_t place, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const core::Stopwatch watch;
    MPI_Status status;
    check(MPI_File_write_at(file_, place, bytes.data(), count_of(bytes.size()), MPI_BYTE, &status),
          "MPI_File_write_at");
    require(status, std::ssize(bytes));
    statistics.add_write(std::ssize(bytes));
    statistics.data_s += watch.seconds();
  }
  void read(std::int64_t place, std::span<std::byte> bytes) {
    if (bytes.empty()) return;
    const core::Stopwatch watch;
    MPI_Status status;
    check(MPI_File_read_at(file_, place, bytes.data(), count_of(bytes.size()), MPI_BYTE, &status), "MPI_File_read_at");
    require(status, std::ssize(bytes));
    statistics.add_read(std::ssize(bytes));
    statistics.data_s += watch.seconds();
  }
  // Collective.
  void close() { check(MPI_File_close(&file_), "MPI_File_close"); }

  io::AccessStatistics statistics;

 private:
  static int count_of(std::size_t bytes) {
    core::require(bytes <= std::size_t{std::numeric_limits<int>::max()}, "an array of a rank has less than 2 GiB");
    return static_cast<int>(bytes);
  }
  void check(int error, const char* call) const {
    if (error != MPI_SUCCESS) throw core::Error(std::string(call) + " failed", path_);
  }
  // Open MPI 4.1 says success where it could not write all.
  void require(MPI_Status& status, std::int64_t bytes) const {
    MPI_Count done = 0;
    comm::check(MPI_Get_elements_x(&status, MPI_BYTE, &done), "MPI_Get_elements_x");
    if (done != bytes) throw core::Error("MPI-IO did less than it says", path_);
  }
  void make_type(const mesh::Box& root, const mesh::Box& box) {
    const mesh::Int3 all = root.extent(), own = box.extent();
    const int sizes[]{all.z, all.y, all.x}, parts[]{own.z, own.y, own.x}, starts[]{box.lo.z, box.lo.y, box.lo.x};
    const int error = box.is_empty()
                          ? MPI_Type_contiguous(1, MPI_FLOAT, &type_)
                          : MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_FLOAT, &type_);
    comm::check(error, "MPI_Type_create_subarray");
    comm::check(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
  void set_view(std::int64_t place) {
    check(MPI_File_set_view(file_, place, MPI_FLOAT, type_, "native", MPI_INFO_NULL), "MPI_File_set_view");
  }

  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

void write_particles(SharedFile& file, const Grid& grid, std::int64_t place, std::span<const Particle> particles,
                     std::int64_t first) {
  const std::vector<std::int64_t> columns = columns_of(grid, place);
  for (std::size_t c = 0; c < particle_columns.size(); ++c) {
    const Column& column = particle_columns[c];
    file.write(columns[c] + first * size_of(column.type), column_of(particles, column));
  }
}

std::vector<Particle> read_particles(SharedFile& file, const Grid& grid, std::int64_t place, Share share) {
  const std::vector<std::int64_t> columns = columns_of(grid, place);
  std::vector<Particle> particles(static_cast<std::size_t>(share.count));
  std::vector<std::byte> bytes;
  for (std::size_t c = 0; c < particle_columns.size(); ++c) {
    const std::int64_t width = size_of(particle_columns[c].type);
    bytes.resize(static_cast<std::size_t>(share.count * width));
    file.read(columns[c] + share.first * width, bytes);
    set_column(particles, particle_columns[c], bytes);
  }
  return particles;
}

std::int64_t field_bytes(const Grid& grid) {
  return grid.cells.product() * 4;
}

io::AccessStatistics write(const Hierarchy& hierarchy, const std::string& path, bool is_durable) {
  const comm::Communicator& comm = hierarchy.comm();
  const std::vector<Grid>& grids = hierarchy.grids();
  const std::vector<std::int64_t> places = places_of(grids);
  const Piece& root = hierarchy.pieces().front();
  SharedFile file(hierarchy, path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  KeptFailure failure;
  for (std::size_t f = 0; f < baryon_fields.size(); ++f)
    failure.keep([&] { file.write_root(static_cast<std::int64_t>(f) * field_bytes(grids[0]), root.field(f)); });
  failure.keep([&] { file.end_root(); });
  core::Stopwatch watch;
  const std::vector<Particle> sorted = sorted_share(comm, root.particles, grids[0].particles);
  file.statistics.exchange_s += watch.seconds();
  failure.keep([&] {
    write_particles(file, grids[0], 0, sorted, share_of(comm.rank(), comm.size(), grids[0].particles).first);
    for (const Piece& piece : hierarchy.pieces()) {
      if (piece.grid == 0) continue;
      const Grid& grid = grids[piece.grid];
      for (std::size_t f = 0; f < baryon_fields.size(); ++f)
        file.write(places[piece.grid] + static_cast<std::int64_t>(f) * field_bytes(grid),
                   std::as_bytes(piece.field(f)));
      write_particles(file, grid, places[piece.grid], piece.particles, 0);
    }
  });
  failure.keep([&] { file.close(); });
  failure.agree(comm);
  watch.restart();
  comm.agree_on([&] {
    if (is_durable && comm.rank() == 0) bring_to_disk(path);
  });
  file.statistics.sync_s = watch.seconds();
  return file.statistics;
}

io::AccessStatistics read(const Hierarchy& hierarchy, const std::string& path, std::vector<Piece>& pieces) {
  const comm::Communicator& comm = hierarchy.comm();
  const std::vector<Grid>& grids = hierarchy.grids();
  const std::vector<std::int64_t> places = places_of(grids);
  SharedFile file(hierarchy, path, MPI_MODE_RDONLY);
  KeptFailure failure;
  for (std::size_t f = 0; f < baryon_fields.size(); ++f)
    failure.keep(
        [&] { file.read_root(static_cast<std::int64_t>(f) * field_bytes(grids[0]), pieces.front().field(f)); });
  failure.keep([&] { file.end_root(); });
  std::vector<Particle> share;
  failure.keep([&] {
    share = read_particles(file, grids[0], 0, share_of(comm.rank(), comm.size(), grids[0].particles));
    for (Piece& piece : pieces) {
      if (piece.grid == 0) continue;
      const Grid& grid = grids[piece.grid];
      for (std::size_t f = 0; f < baryon_fields.size(); ++f)
        file.read(places[piece.grid] + static_cast<std::int64_t>(f) * field_bytes(grid),
                  std::as_writable_bytes(piece.field(f)));
      piece.particles = read_particles(file, grid, places[piece.grid], {0, grid.particles});
    }
  });
  failure.keep([&] { file.close(); });
  failure.agree(comm);
  const core::Stopwatch watch;
  pieces.front().particles = brought_to_owners(hierarchy, share);
  file.statistics.exchange_s += watch.seconds();
  return file.statistics;
}

}  // namespace

HierarchyMethod two_phase_method() {
  return {"raw", "mpi-io", write, read};
}

}  // namespace sidestream::bench
