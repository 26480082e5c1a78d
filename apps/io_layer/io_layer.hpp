// A layer between a program and the system's file calls: it counts what reaches the files, lets a chosen call fail, and
// charges the time of a model file system. It is preloaded, so that it stands below every library (HDF5, PnetCDF, both
// MPI-IO components of Open MPI), or linked to a program:
//
//   mpirun -n 4 env LD_PRELOAD=.../libsidestream_io_layer.so SIDESTREAM_IO_PATH=chk SIDESTREAM_IO_COUNT=/tmp/count
//   PROGRAM
//
// SIDESTREAM_IO_PATH      watch the files and folders whose path holds this text; without it nothing is watched
// SIDESTREAM_IO_RANK      watch them on this rank only (OMPI_COMM_WORLD_RANK)
// SIDESTREAM_IO_COUNT     count: what was watched goes to PREFIX.RANK.json at the end of the process: for each file,
//                         under the name it was written or read, the writes and reads, their bytes and sizes in
//                         Darshan's bins, how many were sequential, consecutive and not aligned, and the bytes that
//                         the system was asked to read ahead
// SIDESTREAM_IO_RECORD    record: every call that changes what is watched or brings it to the disk goes to
//                         PREFIX.PID, as `record.hpp` says, with the bytes written. PREFIX is not to be watched itself
// SIDESTREAM_IO_FAULT     fault: what happens to one call. kill: the process is killed before it. torn: half of a write
//                         is done, then the process is killed. enospc, eio, edquot, eintr: the call fails with this
//                         error; a file that cannot be closed is closed all the same. short: half of a write is done,
//                         and its return value says so
// SIDESTREAM_IO_FAULT_AT  at the n-th matching call of the process, n from 1; `n+`: at all from the n-th on
// SIDESTREAM_IO_CALLS     matching calls: some of open (for writing), make (a folder), reserve, write, truncate, sync,
//                         close (of what was opened for writing), rename, remove, with commas between; `all`; without
//                         it all but `remove`
// SIDESTREAM_IO_MODEL     model: charge the time of a model file system; this file, shared by the ranks, holds
//                         its state. _REQUEST_US (5000), _HANDOVER_US (10000), _EXTENT (1048576), _SERVERS (4),
//                         _MB_PER_S (300 a server) behind the name change its costs. It is a model: see `model.hpp`
//
// What stdio writes (fwrite) goes past the layer. The functions below do the same while the program runs, where the
// layer is there: linked to it, or preloaded and found with dlsym.
#pragma once

#include <cstdint>

extern "C" {

/// What this process did to the watched files, counted as Darshan does. The bins of sizes are its: up to 100 bytes, 1K,
/// 10K, 100K, 1M, 4M, 10M, 100M, 1G (powers of 1024), and more.
struct sidestream_io_counts {
  std::int64_t writes, bytes;
  std::int64_t sequential;   ///< writes behind the last byte of the one before since the file was opened, first 0
  std::int64_t consecutive;  ///< of these, writes that begin just there
  std::int64_t largest;      ///< bytes of the largest write
  std::int64_t opens, makes, reserves, truncates, syncs, renames, removes;
  std::int64_t sizes[10];
  std::int64_t unaligned;  ///< writes and reads that begin within a unit of the file system (its `st_blksize`)
  std::int64_t read_opens, reads, read_bytes, read_sequential, read_consecutive;
  std::int64_t read_sizes[10];
  std::int64_t ahead_bytes;                 ///< that the system was asked to bring into memory
  std::int64_t write_ns, read_ns, sync_ns;  ///< in these calls; of writes behind a call until they are done
};

/// Watches files whose path holds `part` from now on; nullptr: none.
void sidestream_io_watch(const char* part);
/// Forgets the counts.
void sidestream_io_reset();
sidestream_io_counts sidestream_io_read();

/// From the `first` to the `last` matching call from now on, `kind` happens: "kill", "torn", "enospc", "eio", "edquot",
/// "eintr", "short"; nullptr: nothing. `calls` names the matching ones ("write,sync"); nullptr: all but removals.
/// Returns whether all of this is known.
bool sidestream_io_fault(const char* kind, std::int64_t first, std::int64_t last, const char* calls);
/// Matching calls since `sidestream_io_fault`.
std::int64_t sidestream_io_calls();

/// Charges the time of the model file system whose state is the file `table`, shared by all ranks; nullptr: none.
/// Returns whether it could be opened.
bool sidestream_io_model(const char* table);
}
