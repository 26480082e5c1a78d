#include "sidestream/io/format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "io/containers/hdf5/hdf5_cut.hpp"
#include "io/content/possible_numbers.hpp"
#include "io/disk/file_parts.hpp"
#include "io/formats/format_entries.hpp"
#include "sidestream/comm/read_together.hpp"
#include "sidestream/core/input_file.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

std::string StepName::of(std::int64_t step) const {
  return fmt::format("{}{:0{}}{}", prefix, step, digits, suffix);
}

std::optional<std::int64_t> StepName::step_of(std::string_view name) const {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() < prefix.size() + suffix.size())
    return std::nullopt;
  const std::string_view number = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  if (number.size() < static_cast<std::size_t>(digits) || number.size() > 18) return std::nullopt;
  if (!std::ranges::all_of(number, [](char c) { return '0' <= c && c <= '9'; })) return std::nullopt;
  std::int64_t step = 0;
  std::from_chars(number.data(), number.data() + number.size(), step);
  return step;
}

const core::Registry<Format>& formats() {
  static const core::Registry<Format> all(
      {"formats", "format of files", "of plot files and checkpoints: `format` in [output]"},
      {sidestream_format(), flash_format(), flash_5d_format(), flash_netcdf_format(), flash_netcdf_5d_format(),
       nyx_format(), enzo_hdf5_format(), enzo_format(), vtkhdf_format(), raw_format(), files_format()});
  return all;
}

bool Format::follows(std::string_view key) const {
  return std::ranges::find(write_keys, key) != write_keys.end();
}

const Format& format_of(const std::string& path) {
  std::error_code error;  // such as that of a link that leads to itself
  if (!std::filesystem::exists(path, error))
    throw core::Error(
        error ? fmt::format("the name leads to nothing: {}", error.message()) : "there is nothing of this name", path,
        "`sidestream info FOLDER` says what is in a folder");
  if (const std::string kind = core::kind_of_no_file(path);
      !kind.empty() && !std::filesystem::is_directory(path, error))
    throw core::Error(fmt::format("this is {} and no regular file", kind), path, "give the path of a file");
  for (const Format& format : formats())
    if (format.recognizes(path)) return format;
  const std::string own = master_of(path);
  if (std::filesystem::is_regular_file(own, error)) check_commit_record(own);  // says what is damaged
  if (const auto whole = length_before_cut(path))
    throw core::Error(fmt::format("the file is truncated: it is HDF5 of {} bytes, of which {} are there", *whole,
                                  InputFile(path).size_bytes()),
                      path, "copy it anew from where it is whole, or take the one before");
  throw core::Error("the file is of no known format", path,
                    fmt::format("these can be read: {}", fmt::join(formats().names(), ", ")));
}

std::unique_ptr<SnapshotFile> open_snapshot_file(const std::string& path) {
  std::unique_ptr<SnapshotFile> file = format_of(path).open(path);
  require_possible(file->description());
  return file;
}

std::unique_ptr<SnapshotFile> open_snapshot_file(const comm::Communicator& comm, const std::string& path) {
  std::string format;
  comm.agree_on([&] {
    if (comm.rank() == 0) format = format_of(path).name;
  });
  format = comm.broadcast(format);
  std::unique_ptr<SnapshotFile> file;
  comm::read_together(comm, [&] { file = formats().named(format).open(path); });
  comm.agree_on([&] { require_possible(file->description()); });
  return file;
}

}  // namespace sidestream::io
