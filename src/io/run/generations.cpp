#include "sidestream/io/generations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

std::vector<Generation> generations_of(const std::string& folder, const std::vector<std::string>& names) {
  std::vector<Generation> found;
  for (const std::string& name : names)
    for (const Format& format : formats())
      if (const auto step = format.checkpoint ? format.checkpoint->step_of(name) : std::nullopt)
        found.push_back({*step, folder + "/" + name, &format});
  std::ranges::sort(found, [](const Generation& a, const Generation& b) {
    return a.step != b.step ? a.step > b.step : a.path < b.path;
  });
  return found;
}

bool is_complete(const Generation& generation) {
  try {
    generation.format->open(generation.path)->check_data_files();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// The name of a plot file or checkpoint whose writing or removal left `name`; empty where there is none.
std::string unfinished_name(const std::string& name) {
  if (!name.starts_with(".")) return "";
  for (const std::string_view end : {".tmp", ".tmp.old", ".tmp.trial"})
    if (name.ends_with(end) && name.size() > end.size()) {
      std::string own = name.substr(1, name.size() - 1 - end.size());
      if (is_output_name(own)) return own;
    }
  return "";
}

// Under another name first, on the disk too, so that one that is half gone is never taken for a checkpoint.
void remove_generation(const std::string& path) {
  const std::string temporary = temporary_name(path);
  remove_all(temporary);
  fs::rename(path, temporary);
  if (fs::is_directory(temporary)) sync_folder(fs::path(path).parent_path().string());
  remove_all(temporary);
}

}  // namespace

std::vector<Generation> generations_in(const std::string& folder) {
  return generations_of(folder, names_in(folder));
}

std::vector<Generation> generations_in(const comm::Communicator& comm, const std::string& folder) {
  std::string text;
  if (comm.rank() == 0) text = fmt::format("{}", fmt::join(names_in(folder), "\n"));
  text = comm.broadcast(std::move(text));
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return generations_of(folder, names);
}

void remove_old_generations(const std::string& folder, int keep) {
  core::require(keep >= 1, "at least one checkpoint is kept");
  int kept = 0;
  for (const Generation& generation : generations_in(folder)) {
    if (kept < keep)
      kept += is_complete(generation) ? 1 : 0;
    else
      remove_generation(generation.path);
  }
  // Plot files are written beside this: theirs are no leftovers.
  for (const std::string& name : names_in(folder))
    if (!generations_of(folder, {unfinished_name(name)}).empty()) remove_all(folder + "/" + name);
}

bool is_output_name(const std::string& name) {
  return std::ranges::any_of(formats(), [&](const Format& format) {
    return (format.plotfile && format.plotfile->step_of(name)) ||
           (format.checkpoint && format.checkpoint->step_of(name));
  });
}

bool is_unfinished_output(const std::string& name) {
  return !unfinished_name(name).empty();
}

}  // namespace sidestream::io
