// Sidestream's engine: one HDF5 file that one rank lays out, with an array for each field of all grids, which lie
// behind each other in it; particles of the root stand as the ranks have them.
#include <fmt/format.h>

#include <algorithm>

#include "hdf5_objects.hpp"
#include "hierarchy_exchange.hpp"
#include "hierarchy_files.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::bench {

namespace {

// Where each grid begins in the arrays.
struct Begins {
  explicit Begins(const std::vector<Grid>& grids) {
    for (const Grid& grid : grids) {
      cells.push_back(cells.back() + grid.cells.product());
      particles.push_back(particles.back() + grid.particles);
    }
  }
  std::vector<std::int64_t> cells{0}, particles{0};
};

// Calls `f(first, count)` for the cells of the root that lie together in `box`: planes, or lines where it is cut in x.
void for_each_run(const Hierarchy& hierarchy, const mesh::Box& box, const auto& f) {
  const mesh::Int3 cells = hierarchy.root().extent(), own = box.extent();
  const std::int32_t lines = own.x == cells.x ? own.y : 1;
  for (std::int32_t k = box.lo.z; k < box.hi.z; ++k)
    for (std::int32_t j = box.lo.y; j < box.hi.y; j += lines)
      f((std::int64_t{k} * cells.y + j) * cells.x + box.lo.x, std::int64_t{lines} * own.x);
}

// Runs of cells: lines of the root, then whole subgrids.
std::vector<io::RowRun> cell_runs(const Hierarchy& hierarchy, const Begins& begins) {
  const mesh::Box box = hierarchy.pieces().front().box;
  const mesh::Int3 cells = hierarchy.root().extent();
  std::vector<io::RowRun> runs;
  for (std::int32_t k = box.lo.z; k < box.hi.z; ++k)
    for (std::int32_t j = box.lo.y; j < box.hi.y; ++j) {
      const std::int64_t line = std::int64_t{k} * cells.y + j;
      const std::int64_t place = sharer_of(box.lo.x, hierarchy.cuts_x(), cells.x);
      runs.push_back({line * hierarchy.cuts_x() + place, line * cells.x + box.lo.x, box.extent().x});
    }
  const std::int64_t root_runs = std::int64_t{cells.z} * cells.y * hierarchy.cuts_x();
  for (const Piece& piece : hierarchy.pieces())
    if (piece.grid > 0)
      runs.push_back(
          {root_runs + static_cast<std::int64_t>(piece.grid) - 1, begins.cells[piece.grid], piece.box.volume()});
  return runs;
}

io::ArrayGroup cell_group(const Hierarchy& hierarchy, const Begins& begins) {
  const mesh::Int3 cells = hierarchy.root().extent();
  io::ArrayGroup group;
  group.rows = begins.cells.back();
  group.runs = cell_runs(hierarchy, begins);
  group.run_total = std::int64_t{cells.z} * cells.y * hierarchy.cuts_x() + std::ssize(hierarchy.grids()) - 1;
  for (const char* name : baryon_fields) group.arrays.push_back({name, io::ElementType::float32, {}});
  const std::vector<Piece>& pieces = hierarchy.pieces();
  const std::size_t lines = group.runs.size() - (pieces.size() - 1);
  group.pack = [&pieces, lines](std::size_t array, std::size_t run, std::span<std::byte> out) {
    const Piece& piece = run < lines ? pieces.front() : pieces[run - lines + 1];
    const std::span<const std::byte> field = std::as_bytes(piece.field(array));
    std::ranges::copy(field.subspan(run < lines ? run * out.size() : 0, out.size()), out.begin());
  };
  return group;
}

// The columns of one type.
io::ArrayGroup particle_group(const Hierarchy& hierarchy, const Begins& begins, io::ElementType type) {
  const comm::Communicator& comm = hierarchy.comm();
  const std::vector<Piece>& pieces = hierarchy.pieces();
  const auto own = std::ssize(pieces.front().particles);
  const std::vector<std::int64_t> all = comm.all_gather(std::int64_t{own});
  io::ArrayGroup group;
  group.rows = begins.particles.back();
  group.run_total = comm.size() + std::ssize(hierarchy.grids()) - 1;
  std::int64_t first = 0;
  for (int rank = 0; rank < comm.rank(); ++rank) first += all[static_cast<std::size_t>(rank)];
  group.runs.push_back({comm.rank(), first, own});
  for (const Piece& piece : pieces)
    if (piece.grid > 0)
      group.runs.push_back({comm.size() + static_cast<std::int64_t>(piece.grid) - 1, begins.particles[piece.grid],
                            std::ssize(piece.particles)});
  std::vector<Column> columns;
  for (const Column& column : particle_columns)
    if (column.type == type) columns.push_back(column);
  for (const Column& column : columns) group.arrays.push_back({column.name, type, {}});
  group.pack = [&pieces, columns](std::size_t array, std::size_t run, std::span<std::byte> out) {
    std::ranges::copy(column_of(pieces[run].particles, columns[array]), out.begin());
  };
  return group;
}

std::vector<std::int64_t> lay_out(const std::string& path, std::span<const io::Array> arrays,
                                  std::span<const std::int64_t> rows) {
  Hdf5File file = create_serial_file(path);
  std::vector<std::int64_t> offsets;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const Hdf5Dataset dataset = create_dataset(file, arrays[a].name, arrays[a].type, {rows[a]});
    const haddr_t offset = H5Dget_offset(dataset);
    offsets.push_back(offset == HADDR_UNDEF ? 0 : static_cast<std::int64_t>(offset));
  }
  file.close("H5Fclose");
  return offsets;
}

io::AccessStatistics write(const Hierarchy& hierarchy, const std::string& method, const std::string& path,
                           bool is_durable) {
  const Begins begins(hierarchy.grids());
  io::ArrayFile file;
  file.groups.push_back(cell_group(hierarchy, begins));
  for (const io::ElementType type : {io::ElementType::float64, io::ElementType::float32, io::ElementType::int32})
    file.groups.push_back(particle_group(hierarchy, begins, type));
  file.create = lay_out;
  io::WriteOptions options;
  options.method = method;
  options.is_durable = is_durable;
  return io::write_array_file(hierarchy.comm(), path, file, options);
}

// The first byte of each array, fields before columns. On one rank.
std::vector<std::int64_t> places_in(const std::string& path) {
  const Hdf5File file = open_serial_file(path);
  std::vector<std::int64_t> places;
  const auto add = [&](const char* name) {
    const Hdf5Dataset dataset(H5Dopen2(file, name, H5P_DEFAULT), "H5Dopen2");
    places.push_back(static_cast<std::int64_t>(H5Dget_offset(dataset)));
  };
  for (const char* name : baryon_fields) add(name);
  for (const Column& column : particle_columns) add(column.name);
  return places;
}

// Plain reads at known places.
class EngineReader {
 public:
  EngineReader(const std::string& path, const std::vector<std::int64_t>& places) : file_(path), places_(places) {
    statistics.files = 1;
  }

  void read_field(std::size_t field, std::int64_t first, std::span<float> cells) {
    read(places_[field] + first * 4, std::as_writable_bytes(cells));
  }
  // Field after field.
  std::vector<float> read_cells(std::int64_t first, std::int64_t count) {
    std::vector<float> cells(static_cast<std::size_t>(count) * baryon_fields.size());
    for (std::size_t f = 0; f < baryon_fields.size(); ++f)
      read_field(f, first,
                 std::span(cells).subspan(f * static_cast<std::size_t>(count), static_cast<std::size_t>(count)));
    return cells;
  }

  std::vector<Particle> read_particles(std::int64_t first, std::int64_t count) {
    std::vector<Particle> particles(static_cast<std::size_t>(count));
    std::vector<std::byte> bytes;
    for (std::size_t c = 0; c < particle_columns.size(); ++c) {
      const std::int64_t width = size_of(particle_columns[c].type);
      bytes.resize(static_cast<std::size_t>(count * width));
      read(places_[baryon_fields.size() + c] + first * width, bytes);
      set_column(particles, particle_columns[c], bytes);
    }
    return particles;
  }

  io::AccessStatistics statistics;

 private:
  void read(std::int64_t place, std::span<std::byte> bytes) {
    if (bytes.empty()) return;
    const core::Stopwatch watch;
    file_.read(place, bytes);
    statistics.add_read(std::ssize(bytes));
    statistics.data_s += watch.seconds();
  }

  io::InputFile file_;
  const std::vector<std::int64_t>& places_;
};

// Whether the cells of each rank's box lie in pieces that are large enough to be read by themselves. Collective.
bool lies_in_large_pieces(const Hierarchy& hierarchy) {
  constexpr std::int64_t large_bytes = 16 << 10;
  double least = large_bytes;
  for_each_run(hierarchy, hierarchy.pieces().front().box,
               [&](std::int64_t, std::int64_t count) { least = std::min(least, static_cast<double>(count * 4)); });
  return hierarchy.comm().min(least) >= large_bytes;
}

void read_own_cells(const Hierarchy& hierarchy, EngineReader& reader, Piece& root) {
  for (std::size_t f = 0; f < baryon_fields.size(); ++f) {
    std::span<float> left = root.field(f);
    for_each_run(hierarchy, root.box, [&](std::int64_t first, std::int64_t count) {
      reader.read_field(f, first, left.first(static_cast<std::size_t>(count)));
      left = left.subspan(static_cast<std::size_t>(count));
    });
  }
}

io::AccessStatistics read(const Hierarchy& hierarchy, const std::string& path, std::vector<Piece>& pieces) {
  const comm::Communicator& comm = hierarchy.comm();
  std::vector<std::int64_t> places;
  comm.agree_on([&] {
    if (comm.rank() == 0) places = places_in(path);
  });
  places = comm.broadcast(places);
  const Begins begins(hierarchy.grids());
  const int ranks = comm.size();
  const bool is_own_read = lies_in_large_pieces(hierarchy);
  std::vector<Share> cell_shares;
  for (int rank = 0; rank < ranks; ++rank) cell_shares.push_back(share_of(rank, ranks, hierarchy.root().volume()));
  io::AccessStatistics statistics;
  std::vector<float> cells;
  std::vector<Particle> particles;
  comm.agree_on([&] {
    EngineReader reader(path, places);
    const Share own = cell_shares[static_cast<std::size_t>(comm.rank())];
    if (is_own_read)
      read_own_cells(hierarchy, reader, pieces.front());
    else
      cells = reader.read_cells(own.first, own.count);
    const Share own_particles = share_of(comm.rank(), ranks, hierarchy.grids().front().particles);
    particles = reader.read_particles(own_particles.first, own_particles.count);
    for (Piece& piece : pieces) {
      if (piece.grid == 0) continue;
      piece.cells = reader.read_cells(begins.cells[piece.grid], piece.box.volume());
      piece.particles = reader.read_particles(begins.particles[piece.grid], hierarchy.grids()[piece.grid].particles);
    }
    statistics = reader.statistics;
  });
  const core::Stopwatch watch;
  if (!is_own_read) deal_cells(hierarchy, cell_shares, cells, pieces.front());
  pieces.front().particles = brought_to_owners(hierarchy, particles);
  statistics.exchange_s += watch.seconds();
  return statistics;
}

}  // namespace

HierarchyMethod hierarchy_method_by(const std::string& method) {
  const auto write_by = [method](const Hierarchy& hierarchy, const std::string& path, bool is_durable) {
    return write(hierarchy, method, path, is_durable);
  };
  return {"hdf5", method, write_by, read};
}

}  // namespace sidestream::bench
