#include "reading_cases.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>

#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/write_snapshot.hpp"

namespace sidestream::bench {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t large_piece = std::size_t{16} << 20;
constexpr std::int64_t particle_bytes = 8 * 7;  // id, position, velocity

// Cells of a level-0 layout and the names of the fields there, or particles.
struct Reading {
  std::string name;
  mesh::Layout layout;
  std::vector<std::string> fields;
  bool has_particles = false;

  std::int64_t bytes(const Workload& workload) const {
    std::int64_t cells = 0;
    for (const mesh::Box& box : layout.boxes()) cells += box.volume();
    return cells * 8 * std::ssize(fields) + (has_particles ? workload.particles() * particle_bytes : 0);
  }
};

// `region` in slabs of nearly equal thickness along its longest axis, one a rank, that cut no blocks where they need
// not.
mesh::Layout in_slabs(const mesh::Box& domain, const mesh::Box& region, int block, int ranks) {
  const mesh::Int3 extent = region.extent();
  int axis = 2;
  for (const int other : {1, 0})
    if (extent[other] > extent[axis]) axis = other;
  std::vector<mesh::Box> boxes;
  std::vector<std::int32_t> owners;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto edge = [&](int n) {
      const std::int32_t even = region.lo[axis] + static_cast<std::int32_t>(std::int64_t{extent[axis]} * n / ranks);
      return n == ranks ? even : std::max(region.lo[axis], even / block * block);
    };
    mesh::Box slab = region;
    slab.lo[axis] = edge(rank);
    slab.hi[axis] = edge(rank + 1);
    if (slab.lo[axis] == slab.hi[axis]) continue;
    boxes.push_back(slab);
    owners.push_back(rank);
  }
  return {domain, {true, true, true}, std::move(boxes), std::move(owners)};
}

std::vector<Reading> readings_of(const comm::Communicator& comm, const Workload& workload) {
  const mesh::Box domain = workload.state().geometry.domain;
  const mesh::Int3 cells = domain.extent();
  mesh::Box plane = domain, eighth = domain;
  plane.lo.z = cells.z / 2;
  plane.hi.z = plane.lo.z + 1;
  for (int axis = 0; axis < 3; ++axis) {
    eighth.lo[axis] = cells[axis] / 4;
    eighth.hi[axis] = eighth.lo[axis] + std::max(1, cells[axis] / 2);
  }
  const mesh::Layout all = workload.state().levels.front();
  const int block = all.box(0).extent().x;
  const std::vector<std::string> fields = mesh::names_of(workload.state().quantities());
  const std::vector<std::string> one{fields.front()};
  return {{"everything", all, fields, true},
          {"field", all, one},
          {"slice", in_slabs(domain, plane, block, comm.size()), one},
          {"region", in_slabs(domain, eighth, block, comm.size()), one},
          {"particles", all, {}, true}};
}

void for_each_file(const std::string& path, const std::function<void(const fs::path&)>& f) {
  if (!fs::is_directory(path)) return f(path);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) f(entry.path());
}

// Takes the pages of a file out of memory, or brings them there. The file is on the disk.
void set_cached(const std::string& path, bool is_cached) {
  for_each_file(path, [is_cached](const fs::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw core::Error("cannot open what was just written", file.string());
    if (is_cached) {
      std::vector<std::byte> piece(large_piece);
      while (::read(descriptor, piece.data(), piece.size()) > 0) continue;
    } else {
      ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    }
    ::close(descriptor);
  });
}

// What a rank has read.
struct Found {
  std::vector<mesh::Field<double>> fields;
  std::int64_t particles = 0, ids = 0;
};

void read(const comm::Communicator& comm, const Reading& reading, const std::string& path, Found& found) {
  const auto file = io::open_snapshot_file(comm, path);
  comm.agree_on([&] {
    for (const std::string& name : reading.fields) {
      mesh::Field<double>& into = found.fields.emplace_back(reading.layout, comm.rank());
      file->read_field(name, into);
    }
    if (!reading.has_particles) return;
    const mesh::Particles own = file->read_particles(comm.rank(), comm.size());
    found.particles = std::ssize(own.id);
    found.ids = std::accumulate(own.id.begin(), own.id.end(), std::int64_t{0});
  });
}

void check(const comm::Communicator& comm, const Workload& workload, const Reading& reading, const std::string& path,
           const Found& found) {
  comm.agree_on([&] {
    for (std::size_t f = 0; f < reading.fields.size(); ++f) workload.check(reading.fields[f], found.fields[f], path);
  });
  const std::int64_t particles = comm.sum(found.particles), ids = comm.sum(found.ids), all = workload.particles();
  if (reading.has_particles && (particles != all || ids != all * (all - 1) / 2))
    throw core::Error("other particles came back", path);
}

std::string titled(const Reading& reading, bool is_cold) {
  return fmt::format("{}, {} cache", reading.name, is_cold ? "cold" : "warm");
}

Case reading_case(const comm::Communicator& comm, const Workload& workload, const Reading& reading,
                  const io::FileChoice& choice, const std::string& path, bool is_cold) {
  const auto found = std::make_shared<Found>();
  const auto work = [&comm, reading, path, found](bool) {
    const io::AccessStatistics before = io::reads_so_far();
    read(comm, reading, path, *found);
    return io::reads_since(before);
  };
  const auto before = [&comm, &workload, choice, path, found, is_cold] {
    *found = {};
    io::write_snapshot(comm, workload.state(), choice, path);
    comm.agree_on([&] {
      if (comm.rank() == 0) set_cached(path, !is_cold);
    });
  };
  return {titled(reading, is_cold),
          choice.format->name,
          "",
          reading.bytes(workload),
          path,
          work,
          [&comm, &workload, reading, path, found] { check(comm, workload, reading, path, *found); },
          before};
}

// Each rank reads its share of a file that is as large as what is wanted.
Case plain(const comm::Communicator& comm, const Workload& workload, const Reading& reading, const std::string& path,
           bool is_cold) {
  const std::int64_t bytes = reading.bytes(workload);
  const auto work = [&comm, path, bytes](bool) {
    const io::AccessStatistics before = io::reads_so_far();
    const io::InputFile file(path);
    const std::int64_t begin = bytes * comm.rank() / comm.size(), end = bytes * (comm.rank() + 1) / comm.size();
    std::vector<std::byte> piece(std::min(large_piece, static_cast<std::size_t>(end - begin)));
    for (std::int64_t place = begin; place < end;) {
      const auto now = std::min<std::int64_t>(end - place, std::ssize(piece));
      file.read(place, std::span(piece).first(static_cast<std::size_t>(now)));
      place += now;
    }
    return io::reads_since(before);
  };
  const auto before = [&comm, path, bytes, is_cold] {
    comm.agree_on([&] { sequential(comm, "", bytes, path).work(true); });
    comm.agree_on([&] {
      if (comm.rank() == 0) set_cached(path, !is_cold);
    });
  };
  return {titled(reading, is_cold), "plain", "sequential", bytes, path, work, [] {}, before};
}

bool is_selected(const std::vector<std::string>& wanted, const std::string& name) {
  return wanted.empty() || std::ranges::find(wanted, name) != wanted.end();
}

}  // namespace

std::vector<Case> reading_cases(const comm::Communicator& comm, const Workload& workload, const std::string& folder,
                                const Selection& selection, bool has_cold_cache) {
  std::vector<Case> all;
  const std::vector<bool> caches = has_cold_cache ? std::vector{true, false} : std::vector{false};
  for (const Reading& reading : readings_of(comm, workload)) {
    if (!is_selected(selection.contents, reading.name)) continue;
    for (const bool is_cold : caches) {
      all.push_back(plain(comm, workload, reading, folder + "/plain", is_cold));
      for (const io::Format& format : io::formats()) {
        if (!is_selected(selection.formats, format.name) || !(format.checkpoint || format.plotfile)) continue;
        if (reading.has_particles && !format.checkpoint) continue;
        io::FileChoice choice;
        choice.format = &format;
        choice.kind = format.checkpoint ? io::FileKind::checkpoint : io::FileKind::plot_file;
        choice.quantities = mesh::names_of(workload.state().quantities());
        const io::StepName& name = format.checkpoint ? *format.checkpoint : *format.plotfile;
        const std::string path = fmt::format("{}/{}", folder, name.of(workload.state().moment.step));
        all.push_back(reading_case(comm, workload, reading, choice, path, is_cold));
      }
    }
  }
  return all;
}

}  // namespace sidestream::bench
