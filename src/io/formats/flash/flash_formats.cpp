#include <algorithm>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "io/containers/hdf5/hdf5_input.hpp"
#include "io/containers/hdf5/hdf5_inside.hpp"
#include "io/containers/hdf5/hdf5_signature.hpp"
#include "io/disk/file_parts.hpp"
#include "io/formats/flash/flash_format.hpp"
#include "io/formats/flash/flash_source.hpp"
#include "io/formats/format_entries.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

#ifdef SIDESTREAM_WITHOUT_PNETCDF
constexpr bool has_pnetcdf = false;
#else
constexpr bool has_pnetcdf = true;
#endif

// A format of the family.
struct Member {
  std::string name, documentation;
  FlashKind kind;
  StepName plotfile, checkpoint;
};

const std::vector<Member>& members() {
  static const std::vector<Member> all{
      {"sidestream",
       "HDF5 as FLASH writes it: opens in yt, VisIt and ParaView",
       {Container::hdf5, FlashLayout::standard},
       {"plt", ".hdf5_plt_cnt"},
       {"chk", ".hdf5_chk"}},
      {"flash",
       "the same under the names that FLASH gives its files",
       {Container::hdf5, FlashLayout::standard},
       {"sidestream_hdf5_plt_cnt_", "", 4},
       {"sidestream_hdf5_chk_", "", 4}},
      {"flash-5d",
       "FLASH's experimental layout: one dataset of all variables",
       {Container::hdf5, FlashLayout::combined},
       {"sidestream_5d_hdf5_plt_cnt_", "", 4},
       {"sidestream_5d_hdf5_chk_", "", 4}},
      {"flash-netcdf",
       "FLASH's files in netCDF (CDF-5), as its PnetCDF output writes them",
       {Container::netcdf, FlashLayout::standard},
       {"sidestream_ncmpi_plt_cnt_", "", 4},
       {"sidestream_ncmpi_chk_", "", 4}},
      {"flash-netcdf-5d",
       "the same with one variable that holds all fields",
       {Container::netcdf, FlashLayout::combined},
       {"sidestream_5d_ncmpi_plt_cnt_", "", 4},
       {"sidestream_5d_ncmpi_chk_", "", 4}},
  };
  return all;
}

bool has_name(const Member& member, const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return member.plotfile.step_of(name) || member.checkpoint.step_of(name);
}

Container container_of(const std::string& path) {
  constexpr std::string_view of_netcdf = "CDF";
  const InputFile file(path);
  std::string magic(of_netcdf.size(), '\0');
  if (file.size_bytes() < std::ssize(magic)) return Container::raw;
  file.read(0, std::as_writable_bytes(std::span(magic)));
  if (magic == of_netcdf) return Container::netcdf;
  return begin_of_hdf5(file) ? Container::hdf5 : Container::raw;
}

std::unique_ptr<FlashSource> open_source(Container container, const std::string& path) {
  return container == Container::netcdf ? open_flash_netcdf(path) : open_flash_hdf5(path);
}

bool has_names_of(const Member& member, const std::function<bool(const char*)>& has) {
  return has("bounding box") && has("refine level") &&
         has(combined_name.c_str()) == (member.kind.layout == FlashLayout::combined) &&
         (member.name != "sidestream" || has("sidestream"));
}

// Looks into files of other names; they may be damaged, and parts of them missing.
bool has_tables(const Member& member, const std::string& name) {
  try {
    const std::string path = master_of(name);
    std::error_code nowhere;
    if (!std::filesystem::is_regular_file(path, nowhere) || container_of(path) != member.kind.container) return false;
    check_commit_record(path);
    if (member.kind.container == Container::netcdf)
      return has_names_of(
          member, [source = std::shared_ptr(open_flash_netcdf(path))](const char* name) { return source->has(name); });
    const QuietHdf5 quiet;
    const FileHandle file = open_hdf5_quietly(path);
    return has_names_of(member, [&](const char* name) { return has_link(file, name); });
  } catch (const core::Error&) {
    return false;
  }
}

std::unique_ptr<SnapshotFile> open_member(const Member& member, const std::string& name) {
  const std::string path = master_of(name);
  const bool is_committed = check_commit_record(path);
  return open_flash(member.name, open_source(member.kind.container, path), is_committed);
}

std::vector<std::string> methods_for(Container container) {
  std::vector<std::string> names;
  for (const WriteMethod& method : write_methods())
    if (std::ranges::find(method.containers, container) != method.containers.end()) names.push_back(method.name);
  return names;
}

Format entry(const Member& member) {
  Format format;
  format.name = member.name;
  format.documentation = member.documentation;
  if (member.kind.container == Container::netcdf && !has_pnetcdf) {
    format.documentation += "; read only: built without PnetCDF";
  } else {
    format.plotfile = member.plotfile;
    format.checkpoint = member.checkpoint;
  }
  format.methods = methods_for(member.kind.container);
  format.compresses = member.kind.container == Container::hdf5 && member.kind.layout == FlashLayout::standard;
  format.takes_any_boxes = false;
  if (member.kind.container == Container::hdf5) {
    format.write_keys = {"files"};
    format.data_files = [](double ranks, const WriteOptions& options) {
      return std::clamp(static_cast<double>(options.files), 1.0, ranks);
    };
  }
  format.write = [kind = member.kind](const comm::Communicator& comm, const std::string& path,
                                      const FileContent& content, const WriteOptions& options) {
    return write_flash(comm, path, content, options, kind);
  };
  if (member.name.starts_with("flash"))
    format.checkpoint_shows = {
        "x_velocity", "y_velocity", "z_velocity", "specific_total_energy", "specific_internal_energy",
        "pressure",   "Temp",       "phi_grav"};
  format.recognizes = [member](const std::string& path) {
    const bool is_of_another = std::ranges::any_of(
        members(), [&](const Member& other) { return other.name != member.name && has_name(other, path); });
    return has_name(member, path) || (!is_of_another && has_tables(member, path));
  };
  format.open = [member](const std::string& path) { return open_member(member, path); };
  return format;
}

}  // namespace

Format sidestream_format() {
  return entry(members()[0]);
}
Format flash_format() {
  return entry(members()[1]);
}
Format flash_5d_format() {
  return entry(members()[2]);
}
Format flash_netcdf_format() {
  return entry(members()[3]);
}
Format flash_netcdf_5d_format() {
  return entry(members()[4]);
}

}  // namespace sidestream::io
