#pragma once

#include <mpi.h>

#include <string>
#include <utility>

#include "io/disk/stripes.hpp"
#include "io/methods/rows.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

/// Hints for MPI-IO below any library: no data sieving in writes (it writes bytes that others own), and the stripes of
/// a file that is made.
class MpiInfo {
 public:
  explicit MpiInfo(const Stripes& stripes = {});
  ~MpiInfo();
  MpiInfo(const MpiInfo&) = delete;
  MPI_Info raw() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Makes an empty file by MPI-IO, on this rank alone, with hints for its stripes, which the drivers of several file
/// systems take, each in its own way. Throws core::Error.
void make_file_with_hints(const std::string& path, const Stripes& stripes);

/// A committed MPI datatype, freed at the end; move-only.
class MpiType {
 public:
  explicit MpiType(MPI_Datatype type);
  ~MpiType();
  MpiType(MpiType&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  MpiType& operator=(MpiType&&) = delete;
  MPI_Datatype raw() const { return type_; }

 private:
  MPI_Datatype type_;
};

/// A file that is there, opened by MPI-IO for writing by all ranks. Errors are core::Errors naming the call, also
/// where MPI says success and wrote less (Open MPI 4.1 does on a full disk).
class MpiFile {
 public:
  /// Collective; all throw together.
  explicit MpiFile(const ArrayWrite& work);
  /// Collective.
  ~MpiFile();
  MpiFile(const MpiFile&) = delete;

  /// Collective.
  void set_view(MPI_Datatype file_type);
  /// `bytes` are those of `count` elements of `type`. The first is local, the second collective.
  void write_at(std::int64_t offset, const void* data, int count, MPI_Datatype type, std::int64_t bytes);
  void write_all(const void* data, int count, MPI_Datatype type, std::int64_t bytes);
  /// Collective.
  void close();
  const AccessStatistics& statistics() const { return statistics_; }

 private:
  void take_note(MPI_Status& status, std::int64_t bytes);

  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
  AccessStatistics statistics_;
};

/// Opens the file, calls `write(file, failure, statistics)`, which keeps what goes wrong on its rank, and closes it.
/// Collective; afterwards throws the rank's first failure.
template <typename Write>
AccessStatistics write_by_mpi(const ArrayWrite& work, Write write) {
  MpiFile file(work);
  FirstFailure failure;
  AccessStatistics statistics;
  write(file, failure, statistics);
  failure.keep([&] { file.close(); });
  failure.rethrow();
  return statistics += file.statistics();
}

}  // namespace sidestream::io
