#include "io/containers/hdf5/hdf5_places.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "io/containers/hdf5/hdf5_driver.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

// What HDF5 knows as an H5FD_t, which therefore stands first.
struct File {
  H5FD_t base{};
  int descriptor = -1;
  haddr_t allocated = 0, end = 0;
  std::vector<std::int64_t>* chunks = nullptr;  // where they are told; null: nothing is left out
};

H5FD_t* open_file(const char* name, unsigned, hid_t, haddr_t) {
  const int descriptor = ::open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return nullptr;
  auto* const file = new File;  // HDF5 has it from here to `close_file`
  file->descriptor = descriptor;
  return &file->base;
}

herr_t close_file(H5FD_t* base) {
  File* const file = &driven<File>(base);
  const int status = ::close(file->descriptor);
  delete file;
  return status;
}

herr_t read_file(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t offset, std::size_t bytes, void* out) {
  auto* to = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t count = ::pread(driven<File>(base).descriptor, to, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) {
      std::memset(to, 0, bytes);
      return 0;
    }
    to += count;
    offset += static_cast<haddr_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
  return 0;
}

herr_t write_file(H5FD_t* base, H5FD_mem_t type, hid_t, haddr_t offset, std::size_t bytes, const void* data) {
  File& file = driven<File>(base);
  file.end = std::max<haddr_t>(file.end, offset + bytes);
  if (file.chunks != nullptr && type == H5FD_MEM_DRAW) {
    file.chunks->push_back(static_cast<std::int64_t>(offset));
    return 0;
  }
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::pwrite(file.descriptor, from, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    from += count;
    offset += static_cast<haddr_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
  return 0;
}

herr_t truncate_file(H5FD_t* base, hid_t, hbool_t) {
  driven<File>(base).end = driven<File>(base).allocated;
  return ::ftruncate(driven<File>(base).descriptor, static_cast<off_t>(driven<File>(base).allocated));
}

H5FD_class_t driver_class() {
  H5FD_class_t driver = driver_of<File>("sidestream_places", 0);
  driver.open = open_file;
  driver.close = close_file;
  driver.get_eof = [](const H5FD_t* file, H5FD_mem_t) { return driven<File>(file).end; };
  driver.read = read_file;
  driver.write = write_file;
  driver.truncate = truncate_file;
  return driver;
}

}  // namespace

void give_places_only(hid_t access) {
  static const H5FD_class_t driver = driver_class();
  static const hid_t number = check_hdf5(H5FDregister(&driver), "H5FDregister");
  check_hdf5(H5Pset_driver(access, number, nullptr), "H5Pset_driver");
}

PlacedChunks::PlacedChunks(hid_t file) {
  check_hdf5(H5Fget_vfd_handle(file, H5P_DEFAULT, &file_), "H5Fget_vfd_handle");
  driven<File>(static_cast<H5FD_t*>(file_)).chunks = &places_;
}

PlacedChunks::~PlacedChunks() {
  driven<File>(static_cast<H5FD_t*>(file_)).chunks = nullptr;
}

}  // namespace sidestream::io
