#pragma once

#include <string>

#include "io/containers/hdf5/hdf5_handle.hpp"
#include "io/methods/mpi_file.hpp"
#include "io/methods/rows.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

// HDF5 on MPI-IO, for files that are there already. Under a `QuietHdf5`, but for what calls MPI itself: no thread of
// ours does that while it holds a lock.

/// How all ranks reach a file by MPI-IO. Made before the `QuietHdf5`, and gone after it.
class ParallelAccess {
 public:
  /// Collective; the communicator is replaced by a plain one, as MPI-IO of Open MPI 4 writes wrong bytes through HDF5
  /// where the communicator is Cartesian (open-mpi/ompi #12718).
  explicit ParallelAccess(const ArrayWrite& work);
  /// Opens the file for writing. Collective.
  FileHandle open() const;

 private:
  std::string path_;
  comm::Communicator plain_;
  MpiInfo info_;
};

/// What the ways of writing by parallel HDF5 share: how cells travel, the first failure of this rank, and statistics.
class ParallelHdf5Write {
 public:
  ParallelHdf5Write(const ArrayWrite& work, bool is_collective);

 protected:
  /// Opens the file, calls `write(file)`, and closes it. Collective; throws the rank's first failure afterwards.
  template <typename Write>
  AccessStatistics write_file(const ParallelAccess& access, Write write) {
    core::Stopwatch watch;
    FileHandle file = access.open();
    statistics_.files = 1;
    statistics_.metadata_s += watch.seconds();
    write(file);
    watch.restart();
    failure_.keep([&] { file.close("H5Fclose"); });
    statistics_.metadata_s += watch.seconds();
    failure_.rethrow();
    return statistics_;
  }

  const ArrayWrite& work_;
  PropertiesHandle transfer_;
  FirstFailure failure_;
  AccessStatistics statistics_;
};

/// Properties of independent or collective transfers.
PropertiesHandle transfer_properties(bool is_collective);

/// Throws a core::Error naming the cause unless the last transfer with `transfer`, asked to be collective, was so:
/// HDF5 1.10 falls back to independent transfers without a word, for one where it converts numbers. Local.
void require_collective(hid_t transfer, const std::string& array);

/// A dataset as it is about to be written; throws unless its type and shape are those of `array`.
DatasetHandle open_array(hid_t file, const Array& array, std::int64_t rows);

/// The space of `dataset`, with the rows of `part` selected.
SpaceHandle selected_rows(hid_t dataset, const Part& part);

}  // namespace sidestream::io
