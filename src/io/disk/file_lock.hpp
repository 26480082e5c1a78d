#pragma once

namespace sidestream::io {

/// Of a lock that belongs to an open file, so that it ends with it, whatever becomes of its process (those of HDF5 are
/// of another kind). `unknown`: the file system has no locks.
enum class LockState { free, held, unknown };

/// Locks the whole open file if it is `free`; does not wait. Returns how it was. Local.
LockState try_lock(int descriptor);

/// How it is; nothing is locked. Local.
LockState lock_state(int descriptor);

}  // namespace sidestream::io
