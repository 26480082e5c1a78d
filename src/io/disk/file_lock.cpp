#include "io/disk/file_lock.hpp"

#include <fcntl.h>

#include <cerrno>

namespace sidestream::io {

namespace {

struct flock whole_file() {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  return whole;
}

}  // namespace

LockState try_lock(int descriptor) {
  struct flock whole = whole_file();
  if (::fcntl(descriptor, F_OFD_SETLK, &whole) == 0) return LockState::free;
  return errno == EAGAIN || errno == EACCES ? LockState::held : LockState::unknown;
}

LockState lock_state(int descriptor) {
  struct flock whole = whole_file();
  if (::fcntl(descriptor, F_OFD_GETLK, &whole) != 0) return LockState::unknown;
  return whole.l_type == F_UNLCK ? LockState::free : LockState::held;
}

}  // namespace sidestream::io
