#include "io/containers/hdf5/hdf5_inside.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "io/containers/hdf5/hdf5_filters.hpp"
#include "io/containers/hdf5/hdf5_input.hpp"
#include "io/disk/file_parts.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

constexpr const char* hint = "copy what the file should hold into it; nothing beside the file is looked at";

// Called by HDF5 where a link leads to another file, before that is opened.
herr_t refuse_link(const char*, const char*, const char* file, const char*, unsigned*, hid_t, void* named) {
  *static_cast<std::string*>(named) = file == nullptr ? "" : file;
  return -1;
}

// Opens something by `open(access properties)`.
template <typename Open>
auto inside(hid_t kind, Open open) {
  std::string other;
  const PropertiesHandle access(H5Pcreate(kind), "H5Pcreate");
  check_hdf5(H5Pset_elink_cb(access, refuse_link, &other), "H5Pset_elink_cb");
  try {
    return open(access);
  } catch (const core::Error&) {
    if (other.empty()) throw;
    throw core::Error(fmt::format("a link leads to another file, `{}`, which is not followed", other.substr(0, 200)),
                      "", hint);
  }
}

DatasetHandle open_by_name(hid_t file, const std::string& name) {
  return inside(H5P_DATASET_ACCESS,
                [&](hid_t access) { return DatasetHandle(H5Dopen2(file, name.c_str(), access), "H5Dopen2"); });
}

// What HDF5 says of a source of a dataset that is spread over other files.
std::string name_by(ssize_t (*get)(hid_t, std::size_t, char*, std::size_t), hid_t creation, std::size_t source) {
  std::string name(static_cast<std::size_t>(check_hdf5(get(creation, source, nullptr, 0), "H5Pget_virtual")), '\0');
  check_hdf5(get(creation, source, name.data(), name.size() + 1), "H5Pget_virtual");
  return name;
}

void check_storage(hid_t dataset, bool may_be_spread);

std::string name_of_file(hid_t object) {
  std::string name(static_cast<std::size_t>(check_hdf5(H5Fget_name(object, nullptr, 0), "H5Fget_name")), '\0');
  check_hdf5(H5Fget_name(object, name.data(), name.size() + 1), "H5Fget_name");
  return name;
}

// The values of a file in parts lie in its parts, which have them themselves.
void check_parts(hid_t dataset, hid_t creation) {
  const std::filesystem::path folder = std::filesystem::path(name_of_file(dataset)).parent_path();
  const std::size_t count = number_of_sources(creation);
  for (std::size_t source = 0; source < count; ++source) {
    const std::string part = file_of_source(creation, source);
    std::error_code unknown;
    if (!is_part_name(part) ||
        !std::filesystem::is_regular_file(std::filesystem::symlink_status(folder / part, unknown)))
      throw core::Error("the values lie in other files, which are not opened", "", hint);
    const FileHandle file = open_hdf5_quietly((folder / part).string());
    check_storage(open_by_name(file, name_by(H5Pget_virtual_dsetname, creation, source)), false);
  }
}

void check_storage(hid_t dataset, bool may_be_spread) {
  constexpr std::array own_filters{H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE,     H5Z_FILTER_FLETCHER32, H5Z_FILTER_SZIP,
                                   H5Z_FILTER_NBIT,    H5Z_FILTER_SCALEOFFSET, zstd_filter,           zfp_filter};
  register_filters();
  const PropertiesHandle creation(H5Dget_create_plist(dataset), "H5Dget_create_plist");
  const bool is_spread = H5Pget_layout(creation) == H5D_VIRTUAL;
  if (is_spread && may_be_spread) return check_parts(dataset, creation);
  if (is_spread || H5Pget_external_count(creation) > 0)
    throw core::Error("the values lie in other files, which are not opened", "", hint);
  const int filters = check_hdf5(H5Pget_nfilters(creation), "H5Pget_nfilters");
  for (int number = 0; number < filters; ++number) {
    unsigned flags = 0, settings = 0;
    std::size_t count = 0;
    const H5Z_filter_t filter = check_hdf5(
        H5Pget_filter2(creation, static_cast<unsigned>(number), &flags, &count, nullptr, 0, nullptr, &settings),
        "H5Pget_filter2");
    if (std::ranges::find(own_filters, filter) == own_filters.end() || H5Zfilter_avail(filter) <= 0)
      throw core::Error(fmt::format("the values take the filter {}, a plugin, which is not loaded", filter), "",
                        "write them without compression, or with `gzip`: `h5repack -f GZIP=1 IN OUT`");
  }
}

}  // namespace

DatasetHandle open_dataset(hid_t file, const std::string& name) {
  DatasetHandle dataset = open_by_name(file, name);
  check_storage(dataset, true);
  return dataset;
}

std::size_t number_of_sources(hid_t creation) {
  constexpr std::size_t most = 1 << 16;
  std::size_t count = 0;
  check_hdf5(H5Pget_virtual_count(creation, &count), "H5Pget_virtual_count");
  if (count > most) throw core::Error("the values lie in absurdly many files");
  return count;
}

std::string file_of_source(hid_t creation, std::size_t source) {
  return name_by(H5Pget_virtual_filename, creation, source);
}

ObjectHandle open_object(hid_t file, const std::string& name) {
  return inside(H5P_LINK_ACCESS,
                [&](hid_t access) { return ObjectHandle(H5Oopen(file, name.c_str(), access), "H5Oopen"); });
}

bool has_link(hid_t file, const std::string& name) {
  std::string other;
  const PropertiesHandle access(H5Pcreate(H5P_LINK_ACCESS), "H5Pcreate");
  check_hdf5(H5Pset_elink_cb(access, refuse_link, &other), "H5Pset_elink_cb");
  return H5Lexists(file, name.c_str(), access) > 0;
}

}  // namespace sidestream::io
