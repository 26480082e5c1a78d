#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace sidestream::io {

/// An open HDF5 object, closed by `Close` at the end. Constructed from what an HDF5 call returned; throws a core::Error
/// with HDF5's innermost message when that is negative.
template <herr_t (*Close)(hid_t)>
class Handle {
 public:
  Handle(hid_t id, const char* call);
  ~Handle() {
    if (id_ >= 0) Close(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Handle& operator=(Handle&&) = delete;
  operator hid_t() const { return id_; }
  /// Closes now, throwing when that fails: what is written may be lost only then.
  void close(const char* call);

 private:
  hid_t id_;
};

using FileHandle = Handle<H5Fclose>;
using DatasetHandle = Handle<H5Dclose>;
using SpaceHandle = Handle<H5Sclose>;
using TypeHandle = Handle<H5Tclose>;
using AttributeHandle = Handle<H5Aclose>;
using PropertiesHandle = Handle<H5Pclose>;
using ObjectHandle = Handle<H5Oclose>;

/// Keeps HDF5 from printing its error stack while it lives, and other threads from using HDF5 (which is not safe for
/// threads).
class QuietHdf5 {
 public:
  QuietHdf5();
  ~QuietHdf5();
  QuietHdf5(const QuietHdf5&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Throws a core::Error naming `call` and HDF5's innermost message.
[[noreturn]] void throw_hdf5_error(const char* call);

/// Throws when an HDF5 call returned `status` < 0.
template <typename Status>
Status check_hdf5(Status status, const char* call) {
  if (status < 0) throw_hdf5_error(call);
  return status;
}

template <herr_t (*Close)(hid_t)>
Handle<Close>::Handle(hid_t id, const char* call) : id_(check_hdf5(id, call)) {}

template <herr_t (*Close)(hid_t)>
void Handle<Close>::close(const char* call) {
  check_hdf5(Close(std::exchange(id_, -1)), call);
}

}  // namespace sidestream::io
