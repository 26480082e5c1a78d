// The calls of the system that the layer stands before; `io_layer.hpp` says what it does.
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <numeric>
#include <vector>

#include "layer.hpp"

namespace {

using sidestream::io_layer::Call;
using sidestream::io_layer::Entry;
using sidestream::io_layer::Fault;
using sidestream::io_layer::Layer;
using sidestream::io_layer::Model;
using sidestream::io_layer::Record;
using sidestream::io_layer::whole_path;

// Never destroyed, since files are written until the very end of a process; made by the first call, which comes before
// the constructors of this library.
Layer& layer() {
  static Layer* const all = new Layer;
  return *all;
}

// The function of this name that the program would have called without the layer.
template <typename F>
F* next_function(F* /*ours*/, const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}
#define SIDESTREAM_NEXT(function) static auto* const next = next_function(&::function, #function)

__attribute__((destructor)) void at_the_end() {
  layer().report();
}

std::vector<iovec> parts_of(const void* data, std::size_t bytes) {
  return {{const_cast<void*>(data), bytes}};
}

std::vector<iovec> parts_of(const iovec* parts, int count) {
  return {parts, parts + std::max(count, 0)};
}

std::size_t bytes_of(const std::vector<iovec>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::size_t{0},
                         [](std::size_t sum, const iovec& part) { return sum + part.iov_len; });
}

// A write of `parts` at `offset` (negative: at the position of `descriptor`) that `real(count)` does for the first
// `count` bytes.
template <typename F>
ssize_t watched_write(int descriptor, std::vector<iovec> parts, off_t offset, const F& real) {
  const std::size_t bytes = bytes_of(parts);
  const std::optional<std::string> path = layer().watched(descriptor);
  if (!path) return real(bytes);
  const Fault fault = layer().next(Call::write);
  if (const int error = error_of(fault)) return errno = error, -1;
  const std::int64_t start_ns = Model::now_ns();
  const ssize_t done = real(fault == Fault::none ? bytes : (bytes + 1) / 2);
  const std::int64_t took_ns = Model::now_ns() - start_ns;
  if (fault == Fault::torn) sidestream::io_layer::kill_process();
  if (done < 0) return done;
  const off_t place = offset >= 0 ? offset : ::lseek(descriptor, 0, SEEK_CUR) - done;
  struct stat status {};
  ::fstat(descriptor, &status);
  layer().wrote(*path, {place, done, std::max<std::int64_t>(1, status.st_blksize), took_ns});
  if (Record* record = layer().record())
    record->add(start_ns, {.call = Call::write, .path = *path, .offset = place, .bytes = done, .parts = parts});
  if (const Model* model = layer().model()) model->charge(start_ns, status.st_ino, place, done, layer().rank());
  return done;
}

// A read at `offset` (negative: at the position of `descriptor`) is counted, and nothing else.
template <typename F>
ssize_t watched_read(int descriptor, off_t offset, const F& real) {
  const std::int64_t start_ns = Model::now_ns();
  const ssize_t done = real();
  const std::int64_t took_ns = Model::now_ns() - start_ns;
  if (done < 0) return done;
  const std::optional<std::string> path = layer().watched(descriptor);
  if (!path) return done;
  struct stat status {};
  ::fstat(descriptor, &status);
  const off_t place = offset >= 0 ? offset : ::lseek(descriptor, 0, SEEK_CUR) - done;
  layer().was_read(*path, {place, done, std::max<std::int64_t>(1, status.st_blksize), took_ns});
  return done;
}

// What a call returns that tells errors in `errno`, and one that returns them.
struct ByErrno {
  static int failed(int error) { return errno = error, -1; }
  static bool is_done(int result) { return result >= 0; }
};
struct ByValue {
  static int failed(int error) { return error; }
  static bool is_done(int result) { return result == 0; }
};

// Any other call on something that is watched, if there is an entry: what it does to the files.
template <typename Result, typename F>
int watched_call(const std::optional<Entry>& entry, const F& real) {
  if (!entry) return real();
  if (const int error = error_of(layer().next(entry->call))) return Result::failed(error);
  Record* const record = layer().record();
  const std::int64_t start_ns = Model::now_ns();
  const int result = real();
  if (entry->call == Call::sync) layer().synced(Model::now_ns() - start_ns);
  if (record != nullptr && Result::is_done(result)) record->add(start_ns, *entry);
  return result;
}

template <typename Result = ByErrno, typename F>
int watched_descriptor(int descriptor, Call call, const F& real, off_t offset = 0, off_t bytes = 0) {
  std::optional<Entry> entry;
  if (const auto path = layer().watched(descriptor))
    entry = {.call = call, .path = *path, .offset = offset, .bytes = bytes};
  return watched_call<Result>(entry, real);
}

template <typename F>
int watched_path(int folder, const char* path, Call call, const F& real, off_t offset = 0) {
  std::optional<Entry> entry;
  if (const auto watched = layer().watched(folder, path)) entry = {.call = call, .path = *watched, .offset = offset};
  return watched_call<ByErrno>(entry, real);
}

// A name that comes to be or goes counts under either of its two ends.
template <typename F>
int watched_rename(int old_folder, const char* old_path, int folder, const char* path, bool is_exchange,
                   const F& real) {
  std::optional<Entry> entry;
  if (layer().watched(old_folder, old_path) || layer().watched(folder, path))
    entry = {.call = Call::rename,
             .path = whole_path(old_folder, old_path),
             .other = whole_path(folder, path),
             .is_exchange = is_exchange};
  return watched_call<ByErrno>(entry, real);
}

bool is_for_writing(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY;
}

// A call that makes no file and cuts none changes nothing, and is not recorded.
template <typename F>
int watched_open(int folder, const char* path, int flags, const F& real) {
  const std::optional<std::string> watched = layer().watched(folder, path);
  if (!watched) return real();
  if (!is_for_writing(flags)) {
    const int descriptor = real();
    if (descriptor >= 0 && (flags & O_DIRECTORY) == 0) layer().opened(*watched, false);
    return descriptor;
  }
  layer().opened(*watched, true);
  if (const int error = error_of(layer().next(Call::open))) return ByErrno::failed(error);
  Record* const record = layer().record();
  if (record == nullptr) return real();
  struct stat status {};
  const bool is_there = ::lstat(watched->c_str(), &status) == 0;
  const std::int64_t start_ns = Model::now_ns();
  const int descriptor = real();
  if (descriptor < 0) return descriptor;
  if (!is_there) record->add(start_ns, {.call = Call::open, .path = *watched});
  if (is_there && (flags & O_TRUNC) != 0) record->add(start_ns, {.call = Call::truncate, .path = *watched});
  return descriptor;
}

// The descriptor goes, whatever is told of it.
template <typename F>
int watched_close(int descriptor, const F& real) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  const bool is_watched = flags >= 0 && is_for_writing(flags) && layer().watched(descriptor);
  const int error = is_watched ? error_of(layer().next(Call::close)) : 0;
  const int result = real();
  return error != 0 ? ByErrno::failed(error) : result;
}

// The first `bytes` bytes of `parts`.
std::vector<iovec> first_bytes(std::vector<iovec> parts, std::size_t bytes) {
  for (iovec& part : parts) {
    part.iov_len = std::min(part.iov_len, bytes);
    bytes -= part.iov_len;
  }
  return parts;
}

// The mode of `open`, its only optional argument.
mode_t mode_of(int flags, va_list& arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t bytes) {
  SIDESTREAM_NEXT(write);
  return watched_write(descriptor, parts_of(data, bytes), -1,
                       [&](std::size_t count) { return next(descriptor, data, count); });
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  SIDESTREAM_NEXT(pwrite);
  return watched_write(descriptor, parts_of(data, bytes), offset,
                       [&](std::size_t count) { return next(descriptor, data, count, offset); });
}

ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t offset) {
  SIDESTREAM_NEXT(pwrite64);
  return watched_write(descriptor, parts_of(data, bytes), offset,
                       [&](std::size_t count) { return next(descriptor, data, count, offset); });
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  SIDESTREAM_NEXT(writev);
  return watched_write(descriptor, parts_of(parts, count), -1, [&](std::size_t bytes) {
    return next(descriptor, first_bytes(parts_of(parts, count), bytes).data(), count);
  });
}

ssize_t pwritev(int descriptor, const iovec* parts, int count, off_t offset) {
  SIDESTREAM_NEXT(pwritev);
  return watched_write(descriptor, parts_of(parts, count), offset, [&](std::size_t bytes) {
    return next(descriptor, first_bytes(parts_of(parts, count), bytes).data(), count, offset);
  });
}

ssize_t pwritev64(int descriptor, const iovec* parts, int count, off64_t offset) {
  SIDESTREAM_NEXT(pwritev64);
  return watched_write(descriptor, parts_of(parts, count), offset, [&](std::size_t bytes) {
    return next(descriptor, first_bytes(parts_of(parts, count), bytes).data(), count, offset);
  });
}

ssize_t pwritev2(int descriptor, const iovec* parts, int count, off_t offset, int flags) {
  SIDESTREAM_NEXT(pwritev2);
  return watched_write(descriptor, parts_of(parts, count), offset, [&](std::size_t bytes) {
    return next(descriptor, first_bytes(parts_of(parts, count), bytes).data(), count, offset, flags);
  });
}

ssize_t read(int descriptor, void* data, size_t bytes) {
  SIDESTREAM_NEXT(read);
  return watched_read(descriptor, -1, [&] { return next(descriptor, data, bytes); });
}

ssize_t pread(int descriptor, void* data, size_t bytes, off_t offset) {
  SIDESTREAM_NEXT(pread);
  return watched_read(descriptor, offset, [&] { return next(descriptor, data, bytes, offset); });
}

ssize_t pread64(int descriptor, void* data, size_t bytes, off64_t offset) {
  SIDESTREAM_NEXT(pread64);
  return watched_read(descriptor, offset, [&] { return next(descriptor, data, bytes, offset); });
}

ssize_t readv(int descriptor, const iovec* parts, int count) {
  SIDESTREAM_NEXT(readv);
  return watched_read(descriptor, -1, [&] { return next(descriptor, parts, count); });
}

ssize_t preadv(int descriptor, const iovec* parts, int count, off_t offset) {
  SIDESTREAM_NEXT(preadv);
  return watched_read(descriptor, offset, [&] { return next(descriptor, parts, count, offset); });
}

// What OMPIO writes behind its exchanges. An error shows at once, a short write when the program asks for the result.
int aio_write(aiocb* request) noexcept {
  SIDESTREAM_NEXT(aio_write);
  const auto real = [&](std::size_t count) -> ssize_t {
    request->aio_nbytes = count;
    return next(request) == 0 ? static_cast<ssize_t>(count) : -1;
  };
  const std::vector<iovec> parts = parts_of(const_cast<const void*>(request->aio_buf), request->aio_nbytes);
  const std::int64_t start_ns = Model::now_ns();
  if (watched_write(request->aio_fildes, parts, request->aio_offset, real) < 0) return -1;
  if (layer().watched(request->aio_fildes)) layer().begun(request, start_ns);
  return 0;
}

ssize_t aio_return(aiocb* request) noexcept {
  SIDESTREAM_NEXT(aio_return);
  const ssize_t done = next(request);
  layer().ended(request, Model::now_ns());
  return done;
}

int posix_fadvise(int descriptor, off_t offset, off_t bytes, int advice) noexcept {
  SIDESTREAM_NEXT(posix_fadvise);
  if (advice == POSIX_FADV_WILLNEED)
    if (const auto path = layer().watched(descriptor)) layer().asked_ahead(*path, bytes);
  return next(descriptor, offset, bytes, advice);
}

int fsync(int descriptor) {
  SIDESTREAM_NEXT(fsync);
  return watched_descriptor(descriptor, Call::sync, [&] { return next(descriptor); });
}

int fdatasync(int descriptor) {
  SIDESTREAM_NEXT(fdatasync);
  return watched_descriptor(descriptor, Call::sync, [&] { return next(descriptor); });
}

int ftruncate(int descriptor, off_t length) noexcept {
  SIDESTREAM_NEXT(ftruncate);
  return watched_descriptor(
      descriptor, Call::truncate, [&] { return next(descriptor, length); }, length);
}

int ftruncate64(int descriptor, off64_t length) noexcept {
  SIDESTREAM_NEXT(ftruncate64);
  return watched_descriptor(
      descriptor, Call::truncate, [&] { return next(descriptor, length); }, length);
}

int truncate(const char* path, off_t length) noexcept {
  SIDESTREAM_NEXT(truncate);
  return watched_path(
      AT_FDCWD, path, Call::truncate, [&] { return next(path, length); }, length);
}

int truncate64(const char* path, off64_t length) noexcept {
  SIDESTREAM_NEXT(truncate64);
  return watched_path(
      AT_FDCWD, path, Call::truncate, [&] { return next(path, length); }, length);
}

int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  SIDESTREAM_NEXT(fallocate);
  return watched_descriptor(
      descriptor, Call::reserve, [&] { return next(descriptor, mode, offset, length); }, offset, length);
}

int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) {
  SIDESTREAM_NEXT(fallocate64);
  return watched_descriptor(
      descriptor, Call::reserve, [&] { return next(descriptor, mode, offset, length); }, offset, length);
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
  SIDESTREAM_NEXT(posix_fallocate);
  return watched_descriptor<ByValue>(
      descriptor, Call::reserve, [&] { return next(descriptor, offset, length); }, offset, length);
}

int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
  SIDESTREAM_NEXT(posix_fallocate64);
  return watched_descriptor<ByValue>(
      descriptor, Call::reserve, [&] { return next(descriptor, offset, length); }, offset, length);
}

int rename(const char* old_path, const char* path) noexcept {
  SIDESTREAM_NEXT(rename);
  return watched_rename(AT_FDCWD, old_path, AT_FDCWD, path, false, [&] { return next(old_path, path); });
}

int renameat(int old_folder, const char* old_path, int folder, const char* path) noexcept {
  SIDESTREAM_NEXT(renameat);
  return watched_rename(old_folder, old_path, folder, path, false,
                        [&] { return next(old_folder, old_path, folder, path); });
}

int renameat2(int old_folder, const char* old_path, int folder, const char* path, unsigned flags) noexcept {
  SIDESTREAM_NEXT(renameat2);
  return watched_rename(old_folder, old_path, folder, path, (flags & RENAME_EXCHANGE) != 0,
                        [&] { return next(old_folder, old_path, folder, path, flags); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  SIDESTREAM_NEXT(mkdir);
  return watched_path(AT_FDCWD, path, Call::make, [&] { return next(path, mode); });
}

int unlink(const char* path) noexcept {
  SIDESTREAM_NEXT(unlink);
  return watched_path(AT_FDCWD, path, Call::remove, [&] { return next(path); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  SIDESTREAM_NEXT(unlinkat);
  return watched_path(folder, path, Call::remove, [&] { return next(folder, path, flags); });
}

int rmdir(const char* path) noexcept {
  SIDESTREAM_NEXT(rmdir);
  return watched_path(AT_FDCWD, path, Call::remove, [&] { return next(path); });
}

int remove(const char* path) noexcept {
  SIDESTREAM_NEXT(remove);
  return watched_path(AT_FDCWD, path, Call::remove, [&] { return next(path); });
}

int open(const char* path, int flags, ...) {
  SIDESTREAM_NEXT(open);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return watched_open(AT_FDCWD, path, flags, [&] { return next(path, flags, mode); });
}

int open64(const char* path, int flags, ...) {
  SIDESTREAM_NEXT(open64);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return watched_open(AT_FDCWD, path, flags, [&] { return next(path, flags, mode); });
}

int openat(int folder, const char* path, int flags, ...) {
  SIDESTREAM_NEXT(openat);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return watched_open(folder, path, flags, [&] { return next(folder, path, flags, mode); });
}

int openat64(int folder, const char* path, int flags, ...) {
  SIDESTREAM_NEXT(openat64);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return watched_open(folder, path, flags, [&] { return next(folder, path, flags, mode); });
}

// A model tells the size of its extents where file systems tell theirs.
int stat(const char* path, struct stat* status) noexcept {
  SIDESTREAM_NEXT(stat);
  const int result = next(path, status);
  const Model* const model = layer().model();
  if (result == 0 && model != nullptr && layer().watched(AT_FDCWD, path)) status->st_blksize = model->extent_bytes();
  return result;
}

int close(int descriptor) {
  SIDESTREAM_NEXT(close);
  return watched_close(descriptor, [&] { return next(descriptor); });
}

void sidestream_io_watch(const char* part) {
  layer().watch(part);
}

void sidestream_io_reset() {
  layer().reset();
}

sidestream_io_counts sidestream_io_read() {
  return layer().counts();
}

bool sidestream_io_fault(const char* kind, std::int64_t first, std::int64_t last, const char* calls) {
  return layer().set_fault(kind, first, last, calls);
}

std::int64_t sidestream_io_calls() {
  return layer().matching_calls();
}

bool sidestream_io_model(const char* table) {
  return layer().set_model(table);
}
}
