#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hdf5_handle.hpp"

namespace sidestream::io {

/// What HDF5 has written to a file so far, in pieces of equal size; what lies between them is zero.
struct Hdf5Pages {
  static constexpr std::size_t page_bytes = 65536;
  std::map<std::uint64_t, std::vector<std::byte>> pages;  ///< by number
  std::uint64_t end = 0;                                  ///< length of the file
};

/// A new HDF5 file whose tables are made in memory and come to the disk through an `OutputFile` when it is closed: HDF5
/// never meets a full disk, which it would only tell when it closes the file, and which makes it crash at the end of
/// the program (1.10.8). Arrays that get room but no values take no memory. Local; keep a `QuietHdf5` around it.
class NewHdf5File {
 public:
  /// `access` says how the file is laid out; its driver is replaced.
  NewHdf5File(std::string path, const PropertiesHandle& access);
  ~NewHdf5File();
  NewHdf5File(NewHdf5File&& other) noexcept;
  NewHdf5File& operator=(NewHdf5File&&) = delete;

  operator hid_t() const { return *file_; }

  /// Writes the file, replacing what is there. All other objects of the file are closed. Without it there is none.
  /// Throws a core::Error naming the file.
  void close();

 private:
  std::string path_;
  std::unique_ptr<Hdf5Pages> pages_;
  hid_t driver_ = H5I_INVALID_HID;
  std::optional<FileHandle> file_;
};

}  // namespace sidestream::io
