#include "sidestream/io/pending.hpp"

#include <filesystem>

#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

constexpr const char* folder_name = "pending";

// The folder goes with the last that was in it; a later checkpoint makes it again.
void remove_if_empty(const fs::path& folder) {
  std::error_code ignored;
  fs::remove(folder, ignored);
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

AccessStatistics write_pending(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const FileChoice& choice,
                               const std::string& path) {
  const std::string pending = pending_path(path);
  const fs::path folder = fs::path(pending).parent_path();
  comm.agree_on([&] {
    if (comm.rank() == 0) make_one_folder(folder);
  });
  try {
    return write_snapshot(comm, snapshot, choice, pending);
  } catch (...) {
    if (comm.rank() == 0) remove_if_empty(folder);
    throw;
  }
}

void commit(const std::string& path) {
  const std::string pending = pending_path(path);
  if (fs::is_directory(pending))
    move_folder_into_place(pending, path, true);
  else
    move_file_into_place(pending, path);
  remove_if_empty(fs::path(pending).parent_path());
}

void remove_pending(const std::string& folder) {
  remove_all((fs::path(folder) / folder_name).string());
}

}  // namespace sidestream::io
