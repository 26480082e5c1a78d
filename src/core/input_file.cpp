#include "sidestream/core/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/known_bytes.hpp"

namespace sidestream::core {

namespace {

std::string kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "";
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a named pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

[[noreturn]] void refuse(const std::string& path, const InputFile& file, const std::string& why) {
  throw Error(file.noun + " " + why, path, file.hint);
}

void refuse_other_kinds(const std::string& path, const InputFile& file, mode_t mode) {
  if (const std::string kind = kind_of(mode); !kind.empty())
    refuse(path, file, fmt::format("is {} and no regular file", kind));
}

/// An open regular file.
class Descriptor {
 public:
  Descriptor(const std::string& path, const InputFile& file) {
    struct stat status {};
    // Looked at first: to open some devices does something. Looked at again: another may lie there by now.
    if (stat(path.c_str(), &status) == 0) refuse_other_kinds(path, file, status.st_mode);
    number_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (number_ < 0) refuse(path, file, fmt::format("cannot be opened: {}", std::strerror(errno)));
    try {
      if (fstat(number_, &status) == 0) refuse_other_kinds(path, file, status.st_mode);
    } catch (...) {
      close(number_);
      throw;
    }
  }
  ~Descriptor() { close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_ = -1;
};

}  // namespace

std::string kind_of_no_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? kind_of(status.st_mode) : "";
}

void check_input_file(const std::string& path, const InputFile& file) {
  const Descriptor descriptor(path, file);
}

namespace {

std::optional<std::string> told_text(const std::string& path) {
  const auto& known = answered_reads();
  if (!known || !known->has(path)) return std::nullopt;
  std::string text(static_cast<std::size_t>(known->size_bytes(path)), '\0');
  return known->copy(path, 0, std::as_writable_bytes(std::span(text))) ? std::optional(text) : std::nullopt;
}

std::string kept_text(const std::string& path, std::string text) {
  if (KnownBytes* const kept = kept_reads()) {
    kept->add(path, std::ssize(text));
    kept->add(path, 0, std::as_bytes(std::span(text)));
  }
  return text;
}

}  // namespace

std::string read_input_file(const std::string& path, const InputFile& file) {
  if (std::optional<std::string> told = told_text(path)) return std::move(*told);
  const Descriptor descriptor(path, file);
  constexpr std::size_t piece_bytes = std::size_t{1} << 16;
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + piece_bytes);
    const ssize_t got = read(descriptor.number(), text.data() + before, piece_bytes);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, file, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) return kept_text(path, std::move(text));
    if (text.size() > file.most_bytes)
      refuse(path, file, fmt::format("is too large: at most {} bytes of it are read", file.most_bytes));
  }
}

}  // namespace sidestream::core
