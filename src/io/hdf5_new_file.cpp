#include "hdf5_new_file.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <span>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

// --- HDF5's interface of drivers: functions that must not throw

constexpr herr_t success = 0, failure = -1;

struct Access {
  Hdf5Pages* pages = nullptr;
};

struct OpenPages {
  H5FD_t shared{};  // HDF5's own part
  Hdf5Pages* pages = nullptr;
  haddr_t end_of_room = 0;
};

OpenPages& of(H5FD_t* file) {
  return *reinterpret_cast<OpenPages*>(file);
}
const OpenPages& of(const H5FD_t* file) {
  return *reinterpret_cast<const OpenPages*>(file);
}

H5FD_t* open_pages(const char*, unsigned, hid_t access, haddr_t) {
  const auto* info = static_cast<const Access*>(H5Pget_driver_info(access));
  if (info == nullptr || info->pages == nullptr) return nullptr;
  auto* file = new (std::nothrow) OpenPages;
  if (file == nullptr) return nullptr;
  file->pages = info->pages;
  return &file->shared;
}

herr_t close_pages(H5FD_t* file) {
  delete &of(file);
  return success;
}

int compare(const H5FD_t* a, const H5FD_t* b) {
  return of(a).pages == of(b).pages ? 0 : std::less<>()(of(a).pages, of(b).pages) ? -1 : 1;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr)
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
  return success;
}

haddr_t end_of_room(const H5FD_t* file, H5FD_mem_t) {
  return of(file).end_of_room;
}

herr_t set_end_of_room(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  of(file).end_of_room = end;
  return success;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
  return of(file).pages->end;
}

// Calls `copy(bytes of a page, bytes of the buffer)` for each page that [address, address + size) meets.
template <typename Copy>
void on_pages(haddr_t address, std::size_t size, const Copy& copy) {
  constexpr std::size_t page_bytes = Hdf5Pages::page_bytes;
  for (std::size_t done = 0; done < size;) {
    const std::uint64_t number = (address + done) / page_bytes;
    const auto within = static_cast<std::size_t>((address + done) % page_bytes);
    const std::size_t count = std::min(page_bytes - within, size - done);
    copy(number, within, done, count);
    done += count;
  }
}

herr_t read_pages(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  const auto& pages = of(file).pages->pages;
  auto* const to = static_cast<std::byte*>(buffer);
  on_pages(address, size, [&](std::uint64_t number, std::size_t within, std::size_t done, std::size_t count) {
    const auto page = pages.find(number);
    if (page == pages.end())
      std::memset(to + done, 0, count);
    else
      std::memcpy(to + done, page->second.data() + within, count);
  });
  return success;
}

herr_t write_pages(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* buffer) {
  try {
    Hdf5Pages& pages = *of(file).pages;
    const auto* const from = static_cast<const std::byte*>(buffer);
    on_pages(address, size, [&](std::uint64_t number, std::size_t within, std::size_t done, std::size_t count) {
      auto& page = pages.pages[number];
      page.resize(Hdf5Pages::page_bytes);
      std::memcpy(page.data() + within, from + done, count);
    });
    pages.end = std::max<std::uint64_t>(pages.end, address + size);
    return success;
  } catch (const std::bad_alloc&) {
    return failure;
  }
}

herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
  of(file).pages->end = of(file).end_of_room;
  return success;
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION  // from 1.13 on
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(600);
#endif
  driver.name = "sidestream_pages";
  driver.maxaddr = (haddr_t{1} << 62) - 1;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(Access);
  driver.open = open_pages;
  driver.close = close_pages;
  driver.cmp = compare;
  driver.query = query;
  driver.get_eoa = end_of_room;
  driver.set_eoa = set_end_of_room;
  driver.get_eof = end_of_file;
  driver.read = read_pages;
  driver.write = write_pages;
  driver.truncate = truncate;
  const H5FD_mem_t kinds[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::ranges::copy(kinds, driver.fl_map);
  return driver;
}

const H5FD_class_t& driver() {
  static const H5FD_class_t only = driver_class();
  return only;
}

}  // namespace

NewHdf5File::NewHdf5File(std::string path, const PropertiesHandle& access)
    : path_(std::move(path)), pages_(std::make_unique<Hdf5Pages>()) {
  driver_ = check_hdf5(H5FDregister(&driver()), "H5FDregister");
  const Access info{pages_.get()};
  check_hdf5(H5Pset_driver(access, driver_, &info), "H5Pset_driver");
  const PropertiesHandle creation(H5Pcreate(H5P_FILE_CREATE), "H5Pcreate");
  check_hdf5(H5Pset_obj_track_times(creation, false), "H5Pset_obj_track_times");
  file_.emplace(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, creation, access), "H5Fcreate");
}

NewHdf5File::NewHdf5File(NewHdf5File&& other) noexcept
    : path_(std::move(other.path_)),
      pages_(std::move(other.pages_)),
      driver_(std::exchange(other.driver_, H5I_INVALID_HID)),
      file_(std::move(other.file_)) {
  other.file_.reset();
}

NewHdf5File::~NewHdf5File() {
  file_.reset();
  if (driver_ >= 0) H5FDunregister(driver_);
}

void NewHdf5File::close() {
  check_hdf5(H5Fflush(*file_, H5F_SCOPE_GLOBAL), "H5Fflush");
  file_.reset();
  OutputFile out(path_, OutputFile::Open::create);
  for (const auto& [number, page] : pages_->pages) {
    const std::uint64_t begin = number * Hdf5Pages::page_bytes;
    if (begin >= pages_->end) continue;
    const std::size_t count = std::min<std::uint64_t>(page.size(), pages_->end - begin);
    out.write_at(static_cast<std::int64_t>(begin), std::span(page).first(count));
  }
  out.close();
  std::error_code error;
  std::filesystem::resize_file(path_, pages_->end, error);
  if (error) throw core::Error("could not give the file its length: " + error.message(), path_);
  pages_->pages.clear();
}

}  // namespace sidestream::io
