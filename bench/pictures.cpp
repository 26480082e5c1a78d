#include <nlohmann/json.hpp>
// A picture of a computed quantity in a plane of SIDE x SIDE cells, a pixel a cell: what writing it as a pyramid, as
// one file and as a frame takes, in time, in peak memory over that of the start and in bytes on the disk, beside the
// bytes of the cells as doubles. Each rank holds its blocks of 256 x 256 cells and nothing of them but what is asked
// for.
//
// Usage: mpirun -n RANKS bench_pictures [SIDE, 32768] [columns | rectangles] [pyramid | whole | frame, all]
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numbers>

#include "report.hpp"
#include "sidestream/analysis/analysis.hpp"
#include "sidestream/analysis/painter.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/picture_files.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

// A sheet of vortices of several sizes, with cheap polynomials in the place of sines.
double value_at(std::int32_t side, int j, int i) {
  const auto wave = [](double x) {
    const double t = 2.0 * (x - std::floor(x)) - 1.0;
    return 4.0 * t * (1.0 - std::fabs(t));
  };
  const double x = static_cast<double>(i) / side, y = static_cast<double>(j) / side;
  return wave(3 * x + 0.3 * wave(2 * y)) * wave(5 * y + 0.2 * wave(7 * x)) + 0.2 * wave(31 * x + y) * wave(29 * y);
}

mesh::Snapshot plane_of(std::int32_t side, const comm::Communicator& comm) {
  constexpr std::int32_t block = 256;
  std::vector<mesh::Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t y = 0; y < side; y += block)
    for (std::int32_t x = 0; x < side; x += block) {
      boxes.push_back({{x, y, 0}, {std::min(side, x + block), std::min(side, y + block), 1}});
      owners.push_back(static_cast<std::int32_t>(std::int64_t{y} * comm.size() / side));
    }
  mesh::Snapshot snapshot;
  snapshot.geometry = {mesh::domain_of({side, side, 1}), {1.0, 1.0, 1.0}};
  snapshot.levels = {mesh::Layout(snapshot.geometry.domain, {}, std::move(boxes), std::move(owners))};
  snapshot.rank = comm.rank();
  snapshot.add_computed({"vorticity", ""}, [side](int, const mesh::Box& box, const core::View4<double>& out) {
    core::for_each_cell(box, [=](int k, int j, int i) { out(k, j, i) = value_at(side, j, i); });
  });
  return snapshot;
}

std::int64_t bytes_in(const std::string& folder) {
  std::int64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    if (file.is_regular_file()) bytes += static_cast<std::int64_t>(file.file_size());
  return bytes;
}

json measure(const comm::Communicator& comm, std::int32_t side, const std::string& tiles, const std::string& kind) {
  const std::string folder = std::filesystem::temp_directory_path() / "bench_pictures";
  const auto is = [&](const char* name) { return kind == name || kind == "all" ? "true" : "false"; };
  const core::Node task =
      core::parse_toml("analysis = 'display'\nquantity = 'vorticity'\nlimits = [-1.2, 1.2]\ntiles = '" + tiles +
                           "'\npyramid = " + is("pyramid") + "\nwhole = " + is("whole") +
                           "\nframe = " + (kind == "frame" || kind == "all" ? "1920" : "0"),
                       "bench");
  const mesh::Snapshot snapshot = plane_of(side, comm);
  const double before = bench::peak_memory_bytes();
  comm.barrier();
  const core::Stopwatch watch;
  const auto display = analysis::analyses().chosen(task, "analysis").make(task, nullptr);
  const auto result = display->run(comm, snapshot);
  const auto picture = dynamic_cast<const analysis::Painter&>(*display).picture(comm, snapshot, result);
  io::write_pictures(comm, *picture, folder + "/00000.nc");
  comm.barrier();
  const double seconds = watch.seconds();
  json report = {{"kind", kind},
                 {"tiles", tiles},
                 {"side", side},
                 {"seconds", seconds},
                 {"pixels_a_second", static_cast<double>(side) * side / seconds},
                 {"peak_bytes_a_rank", comm.max(bench::peak_memory_bytes() - before)},
                 {"row_of_tiles_bytes", 256.0 * side * 8},
                 {"raw_bytes", 8.0 * side * side}};
  if (comm.rank() == 0) {
    report["bytes"] = bytes_in(folder);
    report["raw_over_pictures"] = 8.0 * side * side / static_cast<double>(report["bytes"]);
    std::filesystem::remove_all(folder);
  }
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::int32_t side = argc > 1 ? std::atoi(argv[1]) : 32768;
  json report = bench::header(comm, "pictures");
  report["picture"] = measure(comm, side, argc > 2 ? argv[2] : "rectangles", argc > 3 ? argv[3] : "all");
  if (comm.rank() == 0) std::printf("%s\n", report.dump(2).c_str());
}
