// What a program may ask of the layer between it and the system's file calls, when the layer is there: linked to it, or
// preloaded and found with dlsym. The layer itself, and the environment variables that steer it, are in `calls.cpp`.
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
