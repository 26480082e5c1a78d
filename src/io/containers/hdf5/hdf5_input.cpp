#include "io/containers/hdf5/hdf5_input.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

#include "io/containers/hdf5/hdf5_driver.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

// What HDF5 knows as an H5FD_t, which therefore stands first.
struct OpenInput {
  H5FD_t base{};
  InputFile input;
  haddr_t allocated = 0;
};

// What HDF5 was told as a mere failure of its driver.
thread_local std::optional<core::Error> input_problem;

H5FD_t* open_input(const char* name, unsigned, hid_t, haddr_t) {
  try {
    return &(new OpenInput{{}, InputFile(name), 0})->base;  // HDF5 has it from here to `close_input`
  } catch (const core::Error& error) {
    input_problem = error;
    return nullptr;
  }
}

herr_t close_input(H5FD_t* base) {
  delete &driven<OpenInput>(base);
  return 0;
}

herr_t read_input(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t offset, std::size_t bytes, void* out) {
  const InputFile& input = driven<OpenInput>(base).input;
  const std::span<std::byte> all(static_cast<std::byte*>(out), bytes);
  // HDF5 looks for more of a header than there may be.
  const auto begin = std::min(static_cast<std::int64_t>(offset), input.size_bytes());
  const auto there = static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(all), input.size_bytes() - begin));
  try {
    input.read(begin, all.first(there));
  } catch (const core::Error& error) {
    input_problem = error;
    return -1;
  }
  std::ranges::fill(all.subspan(there), std::byte{});
  return 0;
}

std::string full_name(const H5FD_t* file) {
  return std::filesystem::absolute(driven<OpenInput>(file).input.path()).lexically_normal().string();
}

int compare_inputs(const H5FD_t* one, const H5FD_t* other) {
  return full_name(one).compare(full_name(other));
}

herr_t refuse_to_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) {
  return -1;
}

H5FD_class_t input_driver() {
  H5FD_class_t driver = driver_of<OpenInput>("sidestream_input", 1);
  driver.open = open_input;
  driver.close = close_input;
  driver.cmp = compare_inputs;
  driver.get_eof = [](const H5FD_t* file, H5FD_mem_t) {
    return static_cast<haddr_t>(driven<OpenInput>(file).input.size_bytes());
  };
  driver.read = read_input;
  driver.write = refuse_to_write;
  return driver;
}

}  // namespace

FileHandle open_hdf5(const std::string& path) {
  const QuietHdf5 quiet;
  return open_hdf5_quietly(path);
}

FileHandle open_hdf5_quietly(const std::string& path) {
  static const H5FD_class_t driver = input_driver();
  static const hid_t number = check_hdf5(H5FDregister(&driver), "H5FDregister");
  const PropertiesHandle access(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
  check_hdf5(H5Pset_driver(access, number, nullptr), "H5Pset_driver");
  input_problem.reset();
  try {
    return FileHandle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), "H5Fopen");
  } catch (const core::Error& error) {
    if (input_problem) throw core::Error(*input_problem);
    throw core::Error("this is not a sound HDF5 file: " + error.message(), path);
  }
}

std::int64_t size_bytes_of(hid_t file) {
  void* handle = nullptr;
  check_hdf5(H5Fget_vfd_handle(file, H5P_DEFAULT, &handle), "H5Fget_vfd_handle");
  return driven<OpenInput>(static_cast<H5FD_t*>(handle)).input.size_bytes();
}

}  // namespace sidestream::io
