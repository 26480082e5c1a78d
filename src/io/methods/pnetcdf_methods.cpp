// PnetCDF: variable by variable, or all variables of the file gathered in requests that one call completes.
#include <algorithm>
#include <memory>

#include "io/containers/netcdf/netcdf_handle.hpp"
#include "io/methods/pnetcdf_file.hpp"
#include "io/write_methods.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::io {

namespace {

std::int64_t bytes_of(const Part& part, const Array& array) {
  return part.count * array.row_bytes();
}

bool is_empty(const ArrayGroup& group) {
  return group.rows * group.arrays.front().row_elements() == 0;
}

// What the ways of writing share: the file, the first failure, the statistics.
class NetcdfWrite {
 public:
  explicit NetcdfWrite(const ArrayWrite& work) : work_(work), file_(work) {
    statistics_.files = 1;
    statistics_.metadata_s = watch_.seconds();
  }

  AccessStatistics finish() {
    watch_.restart();
    failure_.keep([&] { file_.close(); });
    statistics_.metadata_s += watch_.seconds();
    failure_.rethrow();
    return statistics_;
  }

 protected:
  const ArrayWrite& work_;
  core::Stopwatch watch_;
  NetcdfFile file_;
  FirstFailure failure_;
  AccessStatistics statistics_;
};

class BlockingWrite : public NetcdfWrite {
 public:
  using NetcdfWrite::NetcdfWrite;

  void write_group(const ArrayGroup& group) {
    if (is_empty(group)) return;
    const std::int64_t row_bytes = group.arrays.front().row_bytes();
    const std::vector<Part> parts = parts_of(group, row_bytes);
    // All ranks make the same kind of call.
    const bool are_single =
        work_.comm.all(std::ranges::all_of(parts, [](const Part& part) { return part.ranges.size() == 1; }));
    const auto calls = static_cast<std::size_t>(work_.comm.max(static_cast<std::int64_t>(parts.size())));
    std::vector<std::byte> buffer(static_cast<std::size_t>(own_rows(group) * row_bytes));
    for (std::size_t a = 0; a < group.arrays.size(); ++a) {
      const core::Stopwatch watch;
      const bool is_packed = failure_.keep([&] { pack_native(group, a, buffer); });
      statistics_.copy_s += watch.seconds();
      for (std::size_t p = 0; p < calls; ++p)
        failure_.keep([&] {
          const Part& part = part_or_none(parts, is_packed ? p : parts.size());
          write_part(group.arrays[a], group.rows, part, buffer.data() + part.start * row_bytes, are_single);
        });
    }
  }

 private:
  void write_part(const Array& array, std::int64_t rows, const Part& part, const std::byte* data, bool is_single) {
    const core::Stopwatch watch;
    const int variable = file_.variable(array, rows);
    const NetcdfRanges ranges(array, part);
    const MPI_Offset elements = part.count * array.row_elements();
    const MPI_Datatype type = netcdf_memory_type(array.type);
    if (is_single) {
      const std::vector<MPI_Offset> none(array.row_shape.size() + 1, 0);
      const bool has_rows = ranges.count() > 0;
      check_netcdf(ncmpi_put_vara_all(file_.id(), variable, has_rows ? ranges.starts()[0] : none.data(),
                                      has_rows ? ranges.counts()[0] : none.data(), data, elements, type),
                   "ncmpi_put_vara_all", array.name);
    } else {
      check_netcdf(ncmpi_put_varn_all(file_.id(), variable, ranges.count(), ranges.starts(), ranges.counts(), data,
                                      elements, type),
                   "ncmpi_put_varn_all", array.name);
    }
    statistics_.data_s += watch.seconds();
    if (part.count > 0) statistics_.add_write(bytes_of(part, array));
  }
};

// A request to come, and those that one call completes.
struct Planned {
  std::size_t group, array;
  Part part;
};
using PlannedRound = std::vector<Planned>;

std::vector<PlannedRound> rounds_of(const ArrayWrite& work) {
  std::vector<PlannedRound> rounds;
  std::int64_t bytes = 0;
  for (std::size_t g = 0; g < work.groups.size(); ++g) {
    const ArrayGroup& group = work.groups[g];
    if (is_empty(group)) continue;
    const std::vector<Part> parts = parts_of(group, group.arrays.front().row_bytes());
    for (std::size_t a = 0; a < group.arrays.size(); ++a)
      for (const Part& part : parts) {
        const std::int64_t more = bytes_of(part, group.arrays[a]);
        if (rounds.empty() || bytes + more > most_bytes_a_call) {
          rounds.emplace_back();
          bytes = 0;
        }
        rounds.back().push_back({g, a, part});
        bytes += more;
      }
  }
  return rounds;
}

std::int64_t bytes_of(const ArrayWrite& work, const PlannedRound& round) {
  std::int64_t bytes = 0;
  for (const Planned& planned : round)
    bytes += bytes_of(planned.part, work.groups[planned.group].arrays[planned.array]);
  return bytes;
}

class NonblockingWrite : public NetcdfWrite {
 public:
  // `is_buffered`: PnetCDF copies the rows into memory attached to the file; else they wait where they were packed.
  NonblockingWrite(const ArrayWrite& work, bool is_buffered)
      : NetcdfWrite(work), is_buffered_(is_buffered), rounds_(rounds_of(work)) {}

  void write() {
    attach();
    const auto calls = static_cast<std::size_t>(work_.comm.max(static_cast<std::int64_t>(rounds_.size())));
    for (std::size_t r = 0; r < calls; ++r) {
      if (r < rounds_.size()) failure_.keep([&] { post(rounds_[r]); });
      failure_.keep([&] { complete(); });
    }
    if (is_attached_)
      failure_.keep([&] { check_netcdf(ncmpi_buffer_detach(file_.id()), "ncmpi_buffer_detach", file_.path()); });
  }

 private:
  void attach() {
    std::int64_t most = 0;
    for (const PlannedRound& round : rounds_) most = std::max(most, bytes_of(work_, round));
    if (!is_buffered_ || most == 0) return;
    is_attached_ = failure_.keep(
        [&] { check_netcdf(ncmpi_buffer_attach(file_.id(), most), "ncmpi_buffer_attach", file_.path()); });
    if (!is_attached_) rounds_.clear();
  }

  void post(const PlannedRound& round) {
    for (const Planned& planned : round) {
      const core::Stopwatch watch;
      const ArrayGroup& group = work_.groups[planned.group];
      const Array& array = group.arrays[planned.array];
      const std::byte* const data = packed(planned) + planned.part.start * array.row_bytes();
      const NetcdfRanges ranges(array, planned.part);
      const auto put = is_buffered_ ? ncmpi_bput_varn : ncmpi_iput_varn;
      int request = NC_REQ_NULL;
      check_netcdf(put(file_.id(), file_.variable(array, group.rows), ranges.count(), ranges.starts(), ranges.counts(),
                       data, planned.part.count * array.row_elements(), netcdf_memory_type(array.type), &request),
                   is_buffered_ ? "ncmpi_bput_varn" : "ncmpi_iput_varn", array.name);
      requests_.push_back(request);
      statistics_.add_write(bytes_of(planned.part, array));
      statistics_.copy_s += watch.seconds();
    }
  }

  // The packed rows of an array; of unbuffered requests they live until the requests are complete.
  const std::byte* packed(const Planned& planned) {
    const ArrayGroup& group = work_.groups[planned.group];
    const bool is_packed =
        !buffers_.empty() && packed_group_ == planned.group && packed_array_ == planned.array && planned.part.start > 0;
    if (!is_packed) {
      if (is_buffered_) buffers_.clear();
      buffers_.emplace_back(static_cast<std::size_t>(own_rows(group) * group.arrays[planned.array].row_bytes()));
      pack_native(group, planned.array, buffers_.back());
      packed_group_ = planned.group;
      packed_array_ = planned.array;
    }
    return buffers_.back().data();
  }

  void complete() {
    const core::Stopwatch watch;
    std::vector<int> statuses(requests_.size(), NC_NOERR);
    const int status =
        ncmpi_wait_all(file_.id(), static_cast<int>(requests_.size()), requests_.data(), statuses.data());
    requests_.clear();
    buffers_.clear();
    statistics_.data_s += watch.seconds();
    check_netcdf(status, "ncmpi_wait_all", file_.path());
    for (const int each : statuses) check_netcdf(each, "ncmpi_wait_all", file_.path());
  }

  bool is_buffered_;
  bool is_attached_ = false;
  std::vector<PlannedRound> rounds_;
  std::vector<int> requests_;
  std::vector<std::vector<std::byte>> buffers_;
  std::size_t packed_group_ = 0, packed_array_ = 0;
};

AccessStatistics write_nonblocking(const ArrayWrite& work, bool is_buffered) {
  NonblockingWrite write(work, is_buffered);
  write.write();
  return write.finish();
}

}  // namespace

WriteMethod pnetcdf_blocking_method() {
  return {"pnetcdf-blocking",
          "PnetCDF, one collective call a variable",
          {Container::netcdf},
          [](const ArrayWrite& work) {
            BlockingWrite write(work);
            for (const ArrayGroup& group : work.groups) write.write_group(group);
            return write.finish();
          },
          true};
}

WriteMethod pnetcdf_nonblocking_method() {
  return {"pnetcdf-nonblocking",
          "PnetCDF, a request a variable, all completed by one collective call",
          {Container::netcdf},
          [](const ArrayWrite& work) { return write_nonblocking(work, false); },
          true};
}

WriteMethod pnetcdf_buffered_method() {
  return {"pnetcdf-buffered",
          "PnetCDF, as nonblocking, the rows copied into a buffer of the file first",
          {Container::netcdf},
          [](const ArrayWrite& work) { return write_nonblocking(work, true); },
          true};
}

}  // namespace sidestream::io
