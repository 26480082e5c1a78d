#include "sidestream/io/array_file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <numeric>

#include "io/arrays/compressed_arrays.hpp"
#include "io/arrays/memory_file.hpp"
#include "io/arrays/split_file.hpp"
#include "io/arrays/table_image.hpp"
#include "io/disk/atomic_folder.hpp"
#include "io/disk/commit_record.hpp"
#include "io/disk/stripes.hpp"
#include "io/methods/aggregated/tuned_writing.hpp"
#include "io/methods/mpi_file.hpp"
#include "io/write_methods.hpp"
#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

std::int64_t size_of(ElementType type) {
  return type == ElementType::float32 || type == ElementType::int32 ? 4 : 8;
}

std::int64_t Array::row_elements() const {
  return std::accumulate(row_shape.begin(), row_shape.end(), std::int64_t{1}, std::multiplies{});
}

namespace {

using Checksums = std::vector<std::int64_t>;  // [run][array] of a group

void check_group(const ArrayGroup& group) {
  core::require(!group.arrays.empty() && group.pack != nullptr, "a group of arrays has an array and packs its rows");
  for (const Array& array : group.arrays)
    core::require(array.type == group.arrays.front().type && array.row_shape == group.arrays.front().row_shape,
                  "the arrays of a group have one type and row shape");
  std::int64_t end = 0;
  for (const RowRun& run : group.runs) {
    core::require(run.first >= end && run.count >= 0, "the rows of a rank are in ascending order");
    end = run.first + run.count;
  }
  core::require(end <= group.rows, "the rows of a rank are rows of the arrays");
}

Array checksum_array(const ArrayGroup& group) {
  return {group.checksums, ElementType::int64, {static_cast<std::int64_t>(group.arrays.size())}};
}

// All arrays with their numbers of rows: those of the record and of the checksums, which are small, then those of the
// groups.
struct ArrayTable {
  std::vector<Array> arrays;
  std::vector<std::int64_t> rows;
  std::size_t small = 0;
};

ArrayTable table_of(const ArrayFile& file) {
  ArrayTable table;
  if (!file.record.empty()) {
    table.arrays.push_back({file.record, ElementType::int64, {}});
    table.rows.push_back(0);
  }
  for (const ArrayGroup& group : file.groups) {
    if (group.checksums.empty()) continue;
    table.arrays.push_back(checksum_array(group));
    table.rows.push_back(group.run_total);
  }
  table.small = table.arrays.size();
  for (const ArrayGroup& group : file.groups) {
    table.arrays.insert(table.arrays.end(), group.arrays.begin(), group.arrays.end());
    table.rows.insert(table.rows.end(), group.arrays.size(), group.rows);
  }
  if (!file.record.empty()) table.rows[0] = inner_record_bytes(table.arrays.size()) / table.arrays[0].row_bytes();
  return table;
}

// Of the arrays from the number `first` on, up to that before `last`, ascending.
std::vector<ByteRange> ranges_of(const ArrayTable& table, const std::vector<std::int64_t>& offsets, std::size_t first,
                                 std::size_t last) {
  std::vector<ByteRange> ranges;
  for (std::size_t a = first; a < last; ++a)
    ranges.push_back({offsets[a], table.rows[a] * table.arrays[a].row_bytes()});
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  return ranges;
}

// A file with room for all arrays: where each begins, and what is small in it.
struct MadeFile {
  std::vector<std::int64_t> offsets;
  std::vector<ByteRange> ranges;  // of all arrays
  std::int64_t end = 0;           // of what the format knows of
  std::int64_t bytes = 0;         // of the whole file
  TableImage tables;
};

std::int64_t bytes_of(const ArrayTable& table) {
  std::int64_t bytes = 0;
  for (std::size_t a = 0; a < table.arrays.size(); ++a) bytes += table.rows[a] * table.arrays[a].row_bytes();
  return bytes;
}

// What a file has beside its arrays, to be on the safe side: tables of runs, heads of arrays, what aligns them.
std::int64_t most_beside(const ArrayFile& file, const ArrayTable& table) {
  constexpr std::int64_t a_file = 128 << 10, an_array = 8 << 10, a_run = 1 << 10;
  std::int64_t runs = 0;
  for (const ArrayGroup& group : file.groups) runs += group.run_total;
  return a_file + std::ssize(table.arrays) * an_array + runs * a_run;
}

// On the first rank: makes the file and takes room for everything. A library never meets a full disk: there is room for
// the arrays before it begins, and it makes its tables in memory. (Where it can be no longer, on a full disk or beyond
// `ulimit -f`, HDF5 cannot close a file and ends the process later, and MPI-IO says success.)
MadeFile make_file(const std::string& path, const ArrayFile& file, const ArrayTable& table, const Stripes& stripes,
                   AccessStatistics& statistics) {
  const core::Stopwatch watch;
  const MemoryFile memory;
  MadeFile made;
  if (stripes.count > 0) {
    if (make_striped_file(path, stripes))
      statistics.stripes = stripes_of(path).count;
    else
      make_file_with_hints(path, stripes);
  }
  OutputFile room(path, stripes.count > 0 ? OutputFile::Open::modify : OutputFile::Open::create);
  room.reserve(bytes_of(table));
  memory.require_length(bytes_of(table) + most_beside(file, table), path);
  made.offsets = file.create(memory.path(), table.arrays, table.rows);
  core::require(made.offsets.size() == table.arrays.size(), "the maker of a file tells the place of each array");
  core::require(file.record.empty() || record_place(made.offsets.front()) == made.offsets.front(),
                "a record is where it is looked for");
  made.ranges = ranges_of(table, made.offsets, 0, made.offsets.size());
  made.end = memory.size_bytes();
  for (const ByteRange& range : made.ranges) made.end = std::max(made.end, range.offset + range.bytes);
  made.tables = TableImage(memory, ranges_of(table, made.offsets, table.small, made.offsets.size()),
                           ranges_of(table, made.offsets, 0, table.small), made.end);
  statistics.metadata_s += watch.seconds();
  made.bytes = made.end + (file.record.empty() ? record_bytes(table.arrays.size()) : 0);
  room.reserve(made.bytes);
  room.close();
  statistics += room.statistics();
  return made;
}

// What is small in the file, in few writes.
void write_tables(const std::string& path, const TableImage& tables, AccessStatistics& statistics) {
  OutputFile file(path, OutputFile::Open::modify);
  tables.write_to(file);
  file.close();
  statistics += file.statistics();
}

// Libraries have been seen to say success on a full disk (Open MPI 4.1, collective writes).
void check_length(const std::string& path, const std::vector<ByteRange>& arrays) {
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  std::int64_t end = 0;
  for (const ByteRange& array : arrays)
    if (array.bytes > 0) end = std::max(end, array.offset + array.bytes);
  if (bytes < end)
    throw core::Error(fmt::format("the file has {} bytes after it was written, {} too few", bytes, end - bytes), path,
                      "the disk may be full; the method `engine` tells at once");
}

std::int64_t checksum_of(std::span<const std::byte> bytes) {
  return static_cast<std::int64_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

// The groups, packing of which leaves the checksums of the packed runs in `checksums`: of those that keep them, or all.
std::vector<ArrayGroup> with_checksums(const std::vector<ArrayGroup>& groups, bool are_all_needed,
                                       std::vector<Checksums>& checksums) {
  std::vector<ArrayGroup> all = groups;
  checksums.resize(groups.size());
  for (std::size_t g = 0; g < all.size(); ++g) {
    if (all[g].checksums.empty() && !are_all_needed) continue;
    const std::size_t arrays = all[g].arrays.size();
    checksums[g].assign(all[g].runs.size() * arrays, checksum_of({}));  // runs without rows are not packed
    all[g].pack = [pack = groups[g].pack, &sums = checksums[g], arrays](std::size_t array, std::size_t run,
                                                                        std::span<std::byte> out) {
      pack(array, run, out);
      sums[run * arrays + array] = checksum_of(out);
    };
  }
  return all;
}

// What was written in place was never packed: its checksums are made now.
void complete_checksums(const ArrayGroup& group, const Checksums& checksums) {
  if (group.in_place.empty()) return;
  std::vector<std::byte> scratch;
  for (std::size_t run = 0; run < group.runs.size(); ++run)
    for (std::size_t array = 0; array < group.arrays.size(); ++array) {
      if (checksums[run * group.arrays.size() + array] != checksum_of({})) continue;
      scratch.resize(static_cast<std::size_t>(group.runs[run].count * group.arrays[array].row_bytes()));
      group.pack(array, run, scratch);
    }
}

// Throws unless the rows of this rank stand in the file as they were packed.
void verify_rows(const InputFile& file, const ArrayGroup& group, const Checksums& checksums,
                 std::span<const std::int64_t> offsets, AccessStatistics& statistics) {
  const core::Stopwatch watch;
  std::vector<std::byte> rows;
  for (std::size_t a = 0; a < group.arrays.size(); ++a)
    for (std::size_t r = 0; r < group.runs.size(); ++r) {
      const std::int64_t row_bytes = group.arrays[a].row_bytes();
      if (group.runs[r].count * row_bytes == 0) continue;
      rows.resize(static_cast<std::size_t>(group.runs[r].count * row_bytes));
      const std::int64_t offset = offsets[a] + group.runs[r].first * row_bytes;
      file.read(offset, rows);
      statistics.add_read(group.runs[r].count * row_bytes);
      if (checksum_of(rows) != checksums[r * group.arrays.size() + a])
        throw core::Error(
            fmt::format("`{}` stands in the file with other bytes than were written", group.arrays[a].name),
            fmt::format("{}, offset {}", file.path(), offset),
            "a library or the disk lost them without a word; use the method `engine`");
    }
  statistics.verify_s += watch.seconds();
}

// The checksums of a group on their way to the first rank: of each run its number, then those of its arrays.
void append_checksums(const ArrayGroup& group, const Checksums& checksums, std::vector<std::int64_t>& message) {
  const auto arrays = static_cast<std::ptrdiff_t>(group.arrays.size());
  auto next = checksums.begin();
  for (const RowRun& run : group.runs) {
    message.push_back(run.number);
    message.insert(message.end(), next, next + arrays);
    next += arrays;
  }
}

void put_checksums(const ArrayGroup& group, std::span<const std::int64_t> message, std::int64_t offset,
                   Container container, TableImage& tables) {
  const std::size_t arrays = group.arrays.size();
  std::vector<std::int64_t> sums(arrays);
  for (; !message.empty(); message = message.subspan(arrays + 1)) {
    std::ranges::copy(message.subspan(1, arrays), sums.begin());
    if (container == Container::netcdf && std::endian::native == std::endian::little)
      for (std::int64_t& sum : sums)
        std::ranges::reverse(std::as_writable_bytes(std::span(&sum, 1)));  // the numbers of netCDF files are big-endian
    tables.put(offset + message[0] * static_cast<std::int64_t>(arrays) * 8, std::as_bytes(std::span(sums)));
  }
}

// Methods of the library of a container, which reads the tables before it writes rows, write to no other one.
bool is_of_library(const WriteMethod& method) {
  return method.containers.size() == 1;
}

void check_method_of_chunks(const ArrayFile& file, const WriteOptions& options) {
  const bool has_chunks = std::ranges::any_of(file.groups, [](const ArrayGroup& g) { return !g.compression.empty(); });
  if (const WriteMethod& method = write_method(options.method, file.container); has_chunks && is_of_library(method))
    throw core::Error(fmt::format("the method `{}` cannot write compressed arrays", method.name), "",
                      "leave `method` out, or take one that writes files of every kind");
}

class ArrayFileWriter {
 public:
  ArrayFileWriter(const comm::Communicator& comm, const std::string& path, const ArrayFile& file,
                  const WriteOptions& options)
      : comm_(comm.split(0)), path_(path), file_(file), options_(options) {
    comm_.agree_on([&] {
      for (const ArrayGroup& group : file.groups) check_group(group);
      check_method_of_chunks(file, options);
    });
    const core::Stopwatch watch;
    file_.groups = with_compressed_arrays(comm_, file);
    statistics_.exchange_s += watch.seconds();
    table_ = table_of(file_);
  }

  AccessStatistics operator()() {
    const WriteMethod& method = write_method(options_.method, file_.container);
    const bool is_verified = options_.is_verified || method.hides_failures;
    MadeFile made;
    comm_.agree_on([&] {
      if (comm_.rank() != 0) return;
      made = make_file(path_, file_, table_, {options_.stripes, options_.stripe_bytes}, statistics_);
      if (is_of_library(method)) write_tables(path_, made.tables, statistics_);
    });
    const std::vector<std::int64_t> offsets = comm_.broadcast(made.offsets);
    std::vector<Checksums> checksums;
    const std::vector<ArrayGroup> groups = with_checksums(file_.groups, is_verified, checksums);
    ArrayWrite work{comm_, path_, file_.container, groups, {}, options_};
    std::size_t next = table_.small;
    for (const ArrayGroup& group : groups) {
      const auto first = offsets.begin() + static_cast<std::ptrdiff_t>(next);
      work.offsets.emplace_back(first, first + static_cast<std::ptrdiff_t>(group.arrays.size()));
      next += group.arrays.size();
    }
    comm_.agree_on([&] { statistics_ += method.write(work); });
    comm_.agree_on([&] {
      if (comm_.rank() == 0) check_length(path_, ranges_of(table_, made.offsets, table_.small, made.offsets.size()));
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (!checksums[g].empty()) complete_checksums(groups[g], checksums[g]);
      if (is_verified) verify(work, checksums);
    });
    collect_checksums(checksums, made);
    comm_.agree_on([&] {
      if (comm_.rank() == 0) close_file(made);
    });
    bring_to_disk();
    return statistics_;
  }

 private:
  void verify(const ArrayWrite& work, const std::vector<Checksums>& checksums) {
    const InputFile file(path_);
    for (std::size_t g = 0; g < work.groups.size(); ++g)
      verify_rows(file, work.groups[g], checksums[g], work.offsets[g], statistics_);
  }

  // Brings the checksums of all ranks to the first one.
  void collect_checksums(const std::vector<Checksums>& checksums, MadeFile& made) const {
    std::size_t next = file_.record.empty() ? 0 : 1;
    for (std::size_t g = 0; g < file_.groups.size(); ++g) {
      const ArrayGroup& group = file_.groups[g];
      if (group.checksums.empty()) continue;
      comm::ByRank<std::int64_t> outgoing;
      append_checksums(group, checksums[g], outgoing[0]);
      for (const auto& [rank, message] : comm::deliver(comm_, outgoing).incoming)
        put_checksums(group, message, made.offsets[next], file_.container, made.tables);
      ++next;
    }
  }

  // Writes all that is small, with the record; room that was reserved beyond is given back.
  void close_file(MadeFile& made) {
    const auto read = [&](std::int64_t offset, std::span<std::byte> bytes) { made.tables.read(offset, bytes); };
    if (file_.record.empty())
      made.tables.append(commit_record(made.ranges, made.end, read));
    else
      made.tables.put(made.offsets.front(), inner_commit_record(made.ranges, made.end, read));
    OutputFile file(path_, OutputFile::Open::modify);
    made.tables.write_to(file);
    file.cut(made.bytes);
    file.close();
    statistics_ += file.statistics();
  }

  // One rank of a node brings to the disk what all of the node wrote.
  void bring_to_disk() {
    if (!options_.is_durable) return;
    const bool is_first_of_node = comm_.split_by_node().rank() == 0;
    comm_.agree_on([&] {
      if (!is_first_of_node) return;
      OutputFile file(path_, OutputFile::Open::modify);
      file.sync_and_close();
      statistics_.sync_s += file.statistics().sync_s;
    });
  }

  comm::Communicator comm_;
  const std::string& path_;
  ArrayFile file_;  // as it goes to the disk
  const WriteOptions& options_;
  ArrayTable table_;
  AccessStatistics statistics_;
};

// Beside the file that is due, for as long as ways of writing it are tried.
class TrialFile {
 public:
  TrialFile(const comm::Communicator& comm, const std::string& path)
      : is_first_(comm.rank() == 0), path_(path + ".trial") {}
  ~TrialFile() { remove(); }
  TrialFile(const TrialFile&) = delete;
  TrialFile& operator=(const TrialFile&) = delete;

  const std::string& path() const { return path_; }
  void remove() const {
    std::error_code ignored;
    if (is_first_) std::filesystem::remove(path_, ignored);
  }

 private:
  bool is_first_;
  std::string path_;
};

}  // namespace

AccessStatistics write_array_file_in_place(const comm::Communicator& comm, const std::string& path,
                                           const ArrayFile& file, const WriteOptions& options) {
  if (write_method(options.method, file.container).write) return ArrayFileWriter(comm, path, file, options)();
  const TrialFile trial(comm, path);
  const TunedWriting tuned =
      tuned_writing(comm, path, bytes_of(table_of(file)), options, [&](const WriteOptions& one_way) {
        trial.remove();
        ArrayFileWriter(comm, trial.path(), file, one_way)();
      });
  trial.remove();
  AccessStatistics statistics = ArrayFileWriter(comm, path, file, tuned.options)();
  statistics.chosen = tuned.name;
  statistics.chosen_because = tuned.reason;
  return statistics;
}

AccessStatistics write_array_file(const comm::Communicator& comm, const std::string& path, const ArrayFile& file,
                                  const WriteOptions& options) {
  if (options.files > 1 && file.container != Container::hdf5)
    throw core::Error("only HDF5 files can be divided into several", path, "leave `files` out, or take another format");
  if (const int parts = std::min(options.files, comm.size()); parts > 1) {
    AccessStatistics statistics;
    write_folder_atomically(
        comm, path,
        [&](const std::string& folder) { statistics = write_split_file(comm, folder, file, parts, options); },
        options.is_durable);
    return statistics;
  }
  const std::string temporary = temporary_name(path);
  try {
    AccessStatistics statistics = write_array_file_in_place(comm, temporary, file, options);
    comm.agree_on([&] {
      if (comm.rank() != 0) return;
      const core::Stopwatch watch;
      move_file_into_place(temporary, path);
      statistics.metadata_s += watch.seconds();
    });
    return statistics;
  } catch (...) {
    try {
      if (comm.rank() == 0) remove_all(temporary);
    } catch (const std::exception&) {
      // The first error is the one to tell.
    }
    throw;
  }
}

const core::Registry<WriteMethod>& write_methods() {
  static const core::Registry<WriteMethod> all(
      {"methods", "method of writing", "how data reach the disk: `method` in [output]"},
      {engine_method(), aggregated_method(), tuned_method(), hdf5_independent_method(), hdf5_collective_method(),
       hdf5_strided_method(),
#ifndef SIDESTREAM_WITHOUT_PNETCDF
       pnetcdf_blocking_method(), pnetcdf_nonblocking_method(), pnetcdf_buffered_method(),
#endif
       mpiio_independent_method(), mpiio_collective_method(), mpiio_derived_method()});
  return all;
}

const WriteMethod& write_method(std::string_view name, Container container) {
  const WriteMethod& method = name.empty() ? write_methods().front() : write_methods().named(name);
  if (std::ranges::find(method.containers, container) == method.containers.end())
    throw core::Error(fmt::format("the method `{}` cannot write files of this kind", method.name), "",
                      "choose another `method`, or leave it out");
  return method;
}

}  // namespace sidestream::io
