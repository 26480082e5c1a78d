// What the ranks of a large run ask of the disk when they open a checkpoint and read their blocks of it: opens, reads
// and bytes, counted for simulated ranks one after the other, each of which is told what the first one has read. The
// file has 65,536 blocks of 8^3 cells; of the ranks, some that lie evenly are taken. Arguments: formats (default: all).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report.hpp"
#include "sidestream/core/known_bytes.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/write_snapshot.hpp"
#include "sidestream/mesh/forest.hpp"

namespace {

using namespace sidestream;
namespace fs = std::filesystem;

constexpr mesh::Int3 cells{512, 256, 256};
constexpr std::int32_t block = 8;
constexpr int most_taken = 8;

mesh::Layout layout_on(int ranks) {
  return mesh::Forest(cells, block).layout(ranks);
}

std::string write_checkpoint(const comm::Communicator& comm, const io::Format& format, const std::string& folder) {
  const mesh::Layout layout = layout_on(comm.size());
  mesh::Snapshot state;
  state.rank = comm.rank();
  state.levels = {layout};
  state.geometry = {layout.domain(), {1.0, 1.0, 1.0}, {true, true, true}};
  for (const char* name : {"gas_density", "potential"})
    state.add({.name = name, .unit = "1", .is_state = true},
              [&](int) { return mesh::AnyField(std::make_shared<const mesh::Field<double>>(layout, comm.rank())); });
  io::FileChoice choice;
  choice.format = &format;
  choice.kind = io::FileKind::checkpoint;
  choice.quantities = mesh::names_of(state.quantities());
  choice.options.is_durable = false;
  std::string path = folder + "/" + format.checkpoint->of(0);
  io::write_snapshot(comm, state, choice, path);
  return path;
}

nlohmann::json counts(const io::AccessStatistics& of) {
  return {{"opens", of.files}, {"reads", of.reads}, {"bytes", of.bytes_read}};
}

io::AccessStatistics read_share(const io::Format& format, const std::string& path, int rank, int ranks) {
  const io::AccessStatistics before = io::reads_so_far();
  const auto file = format.open(path);
  mesh::Field<double> into(layout_on(ranks), rank);
  for (const mesh::Quantity& field : file->description().fields) file->read_field(field.name, into);
  return io::reads_since(before);
}

// Of the first rank until the file is open; of the others until they have their blocks.
nlohmann::json measured(const io::Format& format, const std::string& path, int ranks) {
  core::KnownBytes read;
  const io::AccessStatistics before = io::reads_so_far();
  {
    const core::KeepingReads keeping(read);
    format.open(path);
  }
  nlohmann::json all{{"ranks", ranks}, {"opening", counts(io::reads_since(before))}};
  const std::vector<std::byte> told = read.packed();
  all["told_bytes"] = told.size();
  io::AccessStatistics sum, most;
  const int taken = std::min(ranks, most_taken);
  for (int n = 0; n < taken; ++n) {
    const core::AnsweringReads answering(std::make_shared<const core::KnownBytes>(core::KnownBytes::unpacked(told)));
    const io::AccessStatistics own = read_share(format, path, static_cast<int>(std::int64_t{ranks} * n / taken), ranks);
    sum += own;
    most.files = std::max(most.files, own.files);
    most.reads = std::max(most.reads, own.reads);
    most.bytes_read = std::max(most.bytes_read, own.bytes_read);
  }
  all["most_of_a_rank"] = counts(most);
  const double cell_bytes = 2.0 * 8.0 * cells.x * cells.y * cells.z;
  all["bytes_of_all_over_bytes_of_cells"] = static_cast<double>(sum.bytes_read) * ranks / taken / cell_bytes;
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::string folder = comm.broadcast((fs::temp_directory_path() / "sidestream_reading_at_scale").string());
  if (comm.rank() == 0) io::make_folder(folder);
  comm.barrier();
  nlohmann::json all = bench::header(comm, "reading_at_scale");
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = {"sidestream", "flash-5d", "flash-netcdf", "nyx", "enzo-hdf5", "raw", "files"};
  for (const std::string& name : names) {
    const io::Format& format = io::formats().named(name);
    const std::string path = write_checkpoint(comm, format, folder);
    if (comm.rank() == 0)
      for (const int ranks : {8, 64, 512, 4096, 65536}) all[name].push_back(measured(format, path, ranks));
    comm.barrier();
    if (comm.rank() == 0) io::remove_all(path);
  }
  if (comm.rank() == 0) {
    io::remove_all(folder);
    fmt::print("{}\n", all.dump(1));
  }
}
