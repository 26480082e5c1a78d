#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sidestream/core/known_bytes.hpp"
#include "sidestream/io/access_statistics.hpp"

namespace sidestream::io {

/// The name under which `path` is written until it is complete: hidden, in the same folder (`a/b.nc` -> `a/.b.nc.tmp`).
std::string temporary_name(const std::string& path);

/// Writes a whole file that appears under `path` complete or not at all, and survives a crash once this returns:
/// temporary name, fsync, rename, fsync of the folder. Local. Throws core::Error naming the file and the system's
/// reason; then nothing is left behind.
void write_file_atomically(const std::string& path, std::string_view text);

/// A file under construction, written by position. Closed at the end of its life; move-only. Every failure (disk full,
/// permission) is a core::Error naming the file.
class OutputFile {
 public:
  enum class Open { create, append, modify };
  /// `create` makes an empty file (replacing what was there); the others open one that exists, `append` to write behind
  /// its end, `modify` from its beginning.
  OutputFile(std::string path, Open open);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  /// Writes all of `bytes` behind the end of what was written before.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Writes all of `bytes` from `offset` on; the next `write` goes behind them.
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  /// Position of the next write.
  std::int64_t position() const { return position_; }
  /// Takes room on the disk for `size_bytes` more, so that a full disk shows before any byte is written. Ignored where
  /// the file system cannot.
  void reserve(std::int64_t size_bytes);
  /// Gives the file this length.
  void cut(std::int64_t size_bytes);
  /// Lets the system begin to bring `size_bytes` from `offset` on to the disk, without waiting for it: `sync_and_close`
  /// then finds less to do.
  void begin_sync(std::int64_t offset, std::int64_t size_bytes);
  /// Brings everything to the disk and closes; errors that the system kept until now come out here.
  void sync_and_close();
  /// Closes without waiting for the disk.
  void close();
  /// What was done so far.
  const AccessStatistics& statistics() const { return statistics_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t position_ = 0, last_byte_ = 0;  // `last_byte_`: of the write before
  std::int64_t unit_bytes_ = 1;
  AccessStatistics statistics_;
};

/// A file opened for reading by position; move-only, for one thread at a time. Where another rank has told what is in
/// it
/// (`core::AnsweringReads`), it is opened only for what that one has not read.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  std::int64_t size_bytes() const { return size_bytes_; }
  const std::string& path() const { return path_; }
  /// Fills `bytes` from `offset` on; throws core::Error naming file and offset when the file is shorter.
  void read(std::int64_t offset, std::span<std::byte> bytes) const;
  /// The same as `count` bytes of their own; memory is taken only when the file is long enough.
  std::vector<std::byte> bytes(std::int64_t offset, std::int64_t count) const;

 private:
  void require(std::int64_t offset, std::int64_t count) const;
  std::int64_t open() const;  // returns the length
  bool is_known(std::int64_t offset, std::span<std::byte> bytes) const;
  void read_from_disk(std::int64_t offset, std::span<std::byte> bytes) const;

  std::string path_;
  mutable int descriptor_ = -1;
  std::shared_ptr<const core::KnownBytes> known_;
  std::int64_t size_bytes_ = 0;
};

/// What every InputFile of this process has done: files opened, reads and their sizes; and since then.
AccessStatistics reads_so_far();
AccessStatistics reads_since(const AccessStatistics& before);

/// The text of a file, which must not be longer than `limit_bytes`.
std::string read_text(const std::string& path, std::int64_t limit_bytes = std::int64_t{1} << 30);

/// Makes a new name in `folder`, or the names in it, survive a crash.
void sync_folder(const std::string& folder);

/// Gives the complete file `temporary` the name `path`, replacing what is there, durably.
void move_file_into_place(const std::string& temporary, const std::string& path);

/// Moves the complete folder (or, where a folder is replaced, file) `temporary` to `path`, replacing what is there in
/// one step where the system can; durably, unless told not to wait for the disk.
void move_folder_into_place(const std::string& temporary, const std::string& path, bool is_durable = true);

/// Creates a folder and its parents; throws core::Error with the system's reason.
void make_folder(const std::string& path);
/// The same, and the new names survive a crash, as what is in them can only then.
void make_lasting_folder(const std::string& path);
/// Removes a file or folder with all in it, silently where it is not there; throws core::Error otherwise.
void remove_all(const std::string& path);

}  // namespace sidestream::io
