#include <algorithm>
#include <filesystem>

#include "commit_record.hpp"
#include "flash_format.hpp"
#include "flash_source.hpp"
#include "format_entries.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

// A format of the family.
struct Member {
  std::string name, documentation;
  FlashKind kind;
  StepName plotfile, checkpoint;
};

bool has_name(const Member& member, const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return member.plotfile.step_of(name) || member.checkpoint.step_of(name);
}

// Looks into files of other names; they may be damaged.
bool has_tables(const Member& member, const std::string& path) {
  try {
    if (!std::filesystem::is_regular_file(path)) return false;
    check_commit_record(path);
    const auto source = open_flash_hdf5(path);
    return source->has("bounding box") && source->has("refine level") &&
           source->has(combined_name) == (member.kind.layout == FlashLayout::combined);
  } catch (const core::Error&) {
    return false;
  }
}

std::unique_ptr<SnapshotFile> open_member(const Member& member, const std::string& path) {
  const bool is_committed = check_commit_record(path);
  return open_flash(member.name, open_flash_hdf5(path), is_committed);
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
  format.plotfile = member.plotfile;
  format.checkpoint = member.checkpoint;
  format.methods = methods_for(member.kind.container);
  format.write = [kind = member.kind](const comm::Communicator& comm, const std::string& path,
                                      const FileContent& content, const WriteOptions& options) {
    return write_flash(comm, path, content, options, kind);
  };
  format.recognizes = [member](const std::string& path) { return has_name(member, path) || has_tables(member, path); };
  format.open = [member](const std::string& path) { return open_member(member, path); };
  return format;
}

}  // namespace

Format sidestream_format() {
  return entry({"sidestream",
                "HDF5 as FLASH writes it: opens in yt, VisIt and ParaView",
                {Container::hdf5, FlashLayout::standard},
                {"plt", ".hdf5_plt_cnt"},
                {"chk", ".hdf5_chk"}});
}

Format flash_format() {
  return entry({"flash",
                "the same under the names that FLASH gives its files",
                {Container::hdf5, FlashLayout::standard},
                {"sidestream_hdf5_plt_cnt_", "", 4},
                {"sidestream_hdf5_chk_", "", 4}});
}

Format flash_5d_format() {
  return entry({"flash-5d",
                "FLASH's experimental layout: one dataset of all variables",
                {Container::hdf5, FlashLayout::combined},
                {"sidestream_5d_hdf5_plt_cnt_", "", 4},
                {"sidestream_5d_hdf5_chk_", "", 4}});
}

}  // namespace sidestream::io
