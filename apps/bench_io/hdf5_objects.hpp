#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::bench {

/// Throws a core::Error naming `call` when an HDF5 call returned `status` < 0.
template <typename Status>
Status check_hdf5(Status status, const char* call) {
  if (status < 0) throw core::Error(std::string(call) + " failed");
  return status;
}

/// An open HDF5 object, closed by `Close` at the end.
template <herr_t (*Close)(hid_t)>
class Hdf5Object {
 public:
  Hdf5Object(hid_t id, const char* call) : id_(check_hdf5(id, call)) {}
  ~Hdf5Object() {
    if (id_ >= 0) Close(id_);
  }
  Hdf5Object(Hdf5Object&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Hdf5Object& operator=(Hdf5Object&&) = delete;
  operator hid_t() const { return id_; }
  /// Closes now, throwing when that fails.
  void close(const char* call) { check_hdf5(Close(std::exchange(id_, -1)), call); }

 private:
  hid_t id_;
};

using Hdf5File = Hdf5Object<H5Fclose>;
using Hdf5Dataset = Hdf5Object<H5Dclose>;
using Hdf5Space = Hdf5Object<H5Sclose>;
using Hdf5Properties = Hdf5Object<H5Pclose>;

/// The type of an element in files, and in memory on this machine.
hid_t hdf5_type(io::ElementType type);

/// A contiguous dataset whose room is fixed now and which is not filled; missing groups in its name are made.
Hdf5Dataset create_dataset(hid_t file, const std::string& name, io::ElementType type,
                           const std::vector<std::int64_t>& shape);

/// A new file by one rank.
Hdf5File create_serial_file(const std::string& path);
Hdf5File open_serial_file(const std::string& path);

}  // namespace sidestream::bench
