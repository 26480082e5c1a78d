#include "io/disk/stripes.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <optional>
#include <vector>

#include "io/disk/uninterrupted.hpp"

namespace sidestream::io {

namespace {

// What `lfs` says when it is called with `words`; none where it is not there or does not succeed.
std::optional<std::string> answer_of_lfs(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  words.insert(words.begin(), "lfs");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  const int error = ::posix_spawnp(&process, "lfs", &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  std::array<char, 256> piece{};
  while (error == 0) {
    const ssize_t count = ::read(ends[0], piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  if (error != 0 || uninterrupted([&] { return ::waitpid(process, &status, 0); }) != process) return std::nullopt;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(text) : std::nullopt;
}

std::int64_t number_of_lfs(const std::string& option, const std::string& path) {
  const std::optional<std::string> text = answer_of_lfs({"getstripe", option, path});
  std::int64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

}  // namespace

bool is_striped(const std::string& path) {
  constexpr auto lustre_magic = 0x0BD00BD0;
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 && status.f_type == lustre_magic;
}

bool make_striped_file(const std::string& path, const Stripes& stripes) {
  ::unlink(path.c_str());  // what cannot go is found when the file is opened
  std::vector<std::string> words{"setstripe", "-c", std::to_string(stripes.count)};
  if (stripes.bytes > 0) words.insert(words.end(), {"-S", std::to_string(stripes.bytes)});
  words.push_back(path);
  return answer_of_lfs(words) && ::access(path.c_str(), F_OK) == 0;
}

void have_one_stripe_a_file(const std::string& folder) {
  if (is_striped(folder)) answer_of_lfs({"setstripe", "-c", "1", folder});
}

Stripes stripes_of(const std::string& path) {
  const std::int64_t count = number_of_lfs("-c", path);
  if (count <= 0) return {};
  return {static_cast<int>(count), number_of_lfs("-S", path)};
}

}  // namespace sidestream::io
