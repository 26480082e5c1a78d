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
//                         under the name it was written, the writes, their bytes and sizes in Darshan's bins, how many
//                         were sequential and consecutive
// SIDESTREAM_IO_FAULT     fault: what happens to one call. kill: the process is killed before it. torn: half of a write
//                         is done, then the process is killed. enospc, eio, edquot: the call fails with this error.
//                         short: half of a write is done, and its return value says so
// SIDESTREAM_IO_FAULT_AT  at the n-th matching call of the process, n from 1; `n+`: at all from the n-th on
// SIDESTREAM_IO_CALLS     matching calls: some of open (for writing), make (a folder), reserve, write, truncate, sync,
//                         rename, remove, with commas between; `all`; without it all but `remove`
// SIDESTREAM_IO_MODEL     model: charge the time of a model file system; this file, shared by the ranks, holds its
// state.
//                         _REQUEST_US (500), _HANDOVER_US (1000), _EXTENT (1048576), _SERVERS (4), _MB_PER_S (300 a
//                         server) behind the name change its costs. It is a model: see `model.hpp`
//
// `io_layer.hpp` has functions that do the same while the program runs. What stdio writes (fwrite) goes past the layer.
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
#include <functional>
#include <numeric>
#include <vector>

#include "layer.hpp"

namespace {

using sidestream::io_layer::Call;
using sidestream::io_layer::Fault;
using sidestream::io_layer::Layer;
using sidestream::io_layer::Model;

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

// A write at `offset` (negative: at the position of `descriptor`) that `real(count)` does for the first `count` bytes.
template <typename F>
ssize_t watched_write(int descriptor, std::size_t bytes, off_t offset, const F& real) {
  const std::optional<std::string> path = layer().watched(descriptor);
  if (!path) return real(bytes);
  const Fault fault = layer().next(Call::write);
  if (const int error = error_of(fault)) return errno = error, -1;
  const Model* model = layer().model();
  const std::int64_t start_ns = model == nullptr ? 0 : Model::now_ns();
  const off_t place = offset >= 0 ? offset : ::lseek(descriptor, 0, SEEK_CUR);
  const ssize_t done = real(fault == Fault::none ? bytes : (bytes + 1) / 2);
  if (fault == Fault::torn) sidestream::io_layer::kill_process();
  if (done < 0) return done;
  layer().wrote(*path, place, done);
  if (model != nullptr) {
    struct stat status {};
    ::fstat(descriptor, &status);
    model->charge(start_ns, status.st_ino, place, done, layer().rank());
  }
  return done;
}

// Any other call on something that is watched if `path` says so: `failed(error)` is what it returns then.
template <typename F, typename G>
auto watched_call(const std::optional<std::string>& path, Call call, const F& real, const G& failed) {
  if (path)
    if (const int error = error_of(layer().next(call))) return failed(error);
  return real();
}

constexpr auto minus_one = [](int error) { return errno = error, -1; };

template <typename F>
int watched_descriptor(int descriptor, Call call, const F& real) {
  return watched_call(layer().watched(descriptor), call, real, minus_one);
}

template <typename F>
int watched_path(int folder, const char* path, Call call, const F& real) {
  return watched_call(layer().watched(folder, path), call, real, minus_one);
}

// A name that comes to be or goes counts under either of its two ends.
template <typename F>
int watched_rename(int old_folder, const char* old_path, int folder, const char* path, const F& real) {
  std::optional<std::string> watched = layer().watched(old_folder, old_path);
  if (!watched) watched = layer().watched(folder, path);
  return watched_call(watched, Call::rename, real, minus_one);
}

bool is_for_writing(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY;
}

template <typename F>
int watched_open(int folder, const char* path, int flags, const F& real) {
  return is_for_writing(flags) ? watched_path(folder, path, Call::open, real) : real();
}

std::size_t bytes_of(const iovec* parts, int count) {
  return std::accumulate(parts, parts + std::max(count, 0), std::size_t{0},
                         [](std::size_t sum, const iovec& part) { return sum + part.iov_len; });
}

// The first `bytes` bytes of `parts`.
std::vector<iovec> first_bytes(const iovec* parts, int count, std::size_t bytes) {
  std::vector<iovec> first(parts, parts + std::max(count, 0));
  for (iovec& part : first) {
    part.iov_len = std::min(part.iov_len, bytes);
    bytes -= part.iov_len;
  }
  return first;
}

// The mode of `open`, its only optional argument.
mode_t mode_of(int flags, va_list& arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t bytes) {
  SIDESTREAM_NEXT(write);
  return watched_write(descriptor, bytes, -1, [&](std::size_t count) { return next(descriptor, data, count); });
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  SIDESTREAM_NEXT(pwrite);
  return watched_write(descriptor, bytes, offset,
                       [&](std::size_t count) { return next(descriptor, data, count, offset); });
}

ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t offset) {
  SIDESTREAM_NEXT(pwrite64);
  return watched_write(descriptor, bytes, offset,
                       [&](std::size_t count) { return next(descriptor, data, count, offset); });
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  SIDESTREAM_NEXT(writev);
  return watched_write(descriptor, bytes_of(parts, count), -1, [&](std::size_t bytes) {
    return next(descriptor, first_bytes(parts, count, bytes).data(), count);
  });
}

ssize_t pwritev(int descriptor, const iovec* parts, int count, off_t offset) {
  SIDESTREAM_NEXT(pwritev);
  return watched_write(descriptor, bytes_of(parts, count), offset, [&](std::size_t bytes) {
    return next(descriptor, first_bytes(parts, count, bytes).data(), count, offset);
  });
}

ssize_t pwritev64(int descriptor, const iovec* parts, int count, off64_t offset) {
  SIDESTREAM_NEXT(pwritev64);
  return watched_write(descriptor, bytes_of(parts, count), offset, [&](std::size_t bytes) {
    return next(descriptor, first_bytes(parts, count, bytes).data(), count, offset);
  });
}

ssize_t pwritev2(int descriptor, const iovec* parts, int count, off_t offset, int flags) {
  SIDESTREAM_NEXT(pwritev2);
  return watched_write(descriptor, bytes_of(parts, count), offset, [&](std::size_t bytes) {
    return next(descriptor, first_bytes(parts, count, bytes).data(), count, offset, flags);
  });
}

// What OMPIO writes behind its exchanges. An error shows at once, a short write when the program asks for the result.
int aio_write(aiocb* request) noexcept {
  SIDESTREAM_NEXT(aio_write);
  const auto real = [&](std::size_t count) -> ssize_t {
    request->aio_nbytes = count;
    return next(request) == 0 ? static_cast<ssize_t>(count) : -1;
  };
  return watched_write(request->aio_fildes, request->aio_nbytes, request->aio_offset, real) < 0 ? -1 : 0;
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
  return watched_descriptor(descriptor, Call::truncate, [&] { return next(descriptor, length); });
}

int ftruncate64(int descriptor, off64_t length) noexcept {
  SIDESTREAM_NEXT(ftruncate64);
  return watched_descriptor(descriptor, Call::truncate, [&] { return next(descriptor, length); });
}

int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  SIDESTREAM_NEXT(fallocate);
  return watched_descriptor(descriptor, Call::reserve, [&] { return next(descriptor, mode, offset, length); });
}

int fallocate64(int descriptor, int mode, off64_t offset, off64_t length) {
  SIDESTREAM_NEXT(fallocate64);
  return watched_descriptor(descriptor, Call::reserve, [&] { return next(descriptor, mode, offset, length); });
}

int posix_fallocate(int descriptor, off_t offset, off_t length) {
  SIDESTREAM_NEXT(posix_fallocate);
  return watched_call(
      layer().watched(descriptor), Call::reserve, [&] { return next(descriptor, offset, length); }, std::identity{});
}

int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
  SIDESTREAM_NEXT(posix_fallocate64);
  return watched_call(
      layer().watched(descriptor), Call::reserve, [&] { return next(descriptor, offset, length); }, std::identity{});
}

int rename(const char* old_path, const char* path) noexcept {
  SIDESTREAM_NEXT(rename);
  return watched_rename(AT_FDCWD, old_path, AT_FDCWD, path, [&] { return next(old_path, path); });
}

int renameat(int old_folder, const char* old_path, int folder, const char* path) noexcept {
  SIDESTREAM_NEXT(renameat);
  return watched_rename(old_folder, old_path, folder, path, [&] { return next(old_folder, old_path, folder, path); });
}

int renameat2(int old_folder, const char* old_path, int folder, const char* path, unsigned flags) noexcept {
  SIDESTREAM_NEXT(renameat2);
  return watched_rename(old_folder, old_path, folder, path,
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
