#include "sidestream/io/pending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "io/disk/checksum.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/format.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

constexpr const char* folder_name = "pending";
constexpr const char* note_suffix = ".staged";

// The folder goes with the last that was in it; a later checkpoint makes it again.
void remove_if_empty(const fs::path& folder) {
  std::error_code ignored;
  fs::remove(folder, ignored);
}

// A note ends with the line of its checksum.
std::string sealed(const std::string& text) {
  return fmt::format("{}\n{:016x}\n", text, checksum_of(std::as_bytes(std::span(text))));
}

std::optional<std::string> unsealed(const std::string& note) {
  const std::string text = note.substr(0, note.find('\n'));
  return sealed(text) == note ? std::optional(text) : std::nullopt;
}

// Not the folders above it: a run folder that somebody has removed is not made again.
void make_one_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error)
    throw core::Error("cannot make the folder: " + error.message(), folder.string(),
                      "check the path; was the folder removed meanwhile?");
}

}  // namespace

std::string pending_path(const std::string& path) {
  const fs::path final_path(path);
  return (final_path.parent_path() / folder_name / final_path.filename()).string();
}

bool is_pending(const std::string& path) {
  fs::path clean = fs::absolute(path).lexically_normal();
  if (clean.filename().empty()) clean = clean.parent_path();
  return clean.parent_path().filename() == folder_name;
}

AccessStatistics write_pending(const comm::Communicator& comm, const std::string& path,
                               const std::function<AccessStatistics(const std::string& path)>& write) {
  const std::string pending = pending_path(path);
  const fs::path folder = fs::path(pending).parent_path();
  comm.agree_on([&] {
    if (comm.rank() == 0) make_one_folder(folder);
  });
  try {
    return write(pending);
  } catch (...) {
    if (comm.rank() == 0) remove_if_empty(folder);
    throw;
  }
}

AccessStatistics write_of_run(const comm::Communicator& comm, FileKind kind, const std::string& path,
                              const std::function<AccessStatistics(const std::string& path)>& write) {
  if (kind == FileKind::checkpoint) return write_pending(comm, path, write);
  comm.agree_on([&] {
    if (comm.rank() == 0) make_lasting_folder(fs::path(path).parent_path().string());
  });
  return write(path);
}

void commit(const std::string& path) {
  const std::string pending = pending_path(path);
  if (fs::is_directory(pending))
    move_folder_into_place(pending, path, true);
  else
    move_file_into_place(pending, path);
  remove_if_empty(fs::path(pending).parent_path());
}

std::string staged_note_path(const std::string& path) {
  return pending_path(path) + note_suffix;
}

void write_staged_note(const std::string& path, const std::string& text) {
  const fs::path note = staged_note_path(path), folder = note.parent_path();
  make_one_folder(folder);
  write_file_atomically(note.string(), sealed(text));
  sync_folder(folder.parent_path().string());  // nothing else brings the new folder to the disk
}

void remove_staged_note(const std::string& path) {
  const fs::path note = staged_note_path(path);
  std::error_code ignored;
  fs::remove(note, ignored);
  remove_if_empty(note.parent_path());
}

std::vector<StagedNote> staged_notes_in(const std::string& folder, std::int64_t step) {
  std::vector<StagedNote> notes;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(folder) / folder_name, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.ends_with(note_suffix)) continue;
    const std::string own = name.substr(0, name.size() - std::string_view(note_suffix).size());
    for (const Format& format : formats())
      if (const auto of = format.checkpoint ? format.checkpoint->step_of(own) : std::nullopt; of && *of > step) {
        constexpr std::int64_t most_bytes = std::int64_t{1} << 28;
        notes.push_back(
            {*of, (fs::path(folder) / own).string(), unsealed(read_text(entry->path().string(), most_bytes))});
        break;
      }
  }
  std::ranges::sort(notes, std::greater(), &StagedNote::step);
  return notes;
}

void remove_pending(const std::string& folder) {
  remove_all((fs::path(folder) / folder_name).string());
}

}  // namespace sidestream::io
