#include "sidestream/stream/keys.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "sidestream/core/error.hpp"
#include "sidestream/core/input_file.hpp"

namespace sidestream::stream {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t key_length = 40;

std::string failure() {
  return std::generic_category().message(errno);
}

std::string key_in(const fs::path& path) {
  const std::string text = core::read_input_file(path.string(), {"the key", "`sidestream keys` makes one", 1024});
  std::string key = text.substr(0, text.find_first_of("\r\n"));
  if (!is_key(key))
    throw core::Error("this is no key", path.string(), "`sidestream keys` makes one: 40 characters in one line");
  return key;
}

void write_file(const fs::path& path, const std::string& text, mode_t mode) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) throw core::Error("the key cannot be written: " + failure(), path.string());
  const bool is_written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const std::string problem = failure();
  if (::close(file) != 0 || !is_written) {
    ::unlink(path.c_str());
    throw core::Error("the key cannot be written: " + problem, path.string());
  }
}

bool others_may(const fs::path& path, mode_t how) {
  struct stat state {};
  return ::stat(path.c_str(), &state) == 0 && (state.st_mode & how & (S_IRWXG | S_IRWXO)) != 0;
}

constexpr mode_t enter = S_IXGRP | S_IXOTH, change = S_IWGRP | S_IWOTH;

void refuse_if_others_write(const fs::path& path) {
  if (others_may(path, change))
    throw core::Error("others can write there, and so let anybody in", path.string(), "chmod go-w it");
}

std::string public_half(const std::string& secret) {
  std::array<char, key_length + 1> key{};
  if (zmq_curve_public(key.data(), secret.c_str()) != 0)
    throw core::Error("the secret key has no public half: " + failure());
  return key.data();
}

}  // namespace

bool is_key(const std::string& text) {
  std::array<std::uint8_t, 32> bytes{};
  return text.size() == key_length && zmq_z85_decode(bytes.data(), text.c_str()) != nullptr;
}

KeyPair make_keys() {
  std::array<char, key_length + 1> open{}, secret{};
  if (zmq_curve_keypair(open.data(), secret.data()) != 0)
    throw core::Error("this ZeroMQ encrypts nothing: " + failure(), "", "build it with libsodium");
  return {open.data(), secret.data()};
}

KeyPair KeyFolder::make() const {
  const fs::path folder(path_);
  const bool is_new = !fs::exists(folder);
  std::error_code problem;
  fs::create_directories(folder / "allowed", problem);
  if (problem)
    throw core::Error("the folder of keys cannot be made: " + problem.message(), path_,
                      "choose another folder, or make room");
  if (fs::exists(folder / "stream.key"))
    throw core::Error("there are keys already", path_, "remove stream.key first if nobody uses them any more");
  if (is_new) ::chmod(folder.c_str(), S_IRWXU);
  ::chmod((folder / "allowed").c_str(), S_IRWXU);
  KeyPair keys = make_keys();
  write_file(folder / "stream.key", keys.secret_key + "\n", S_IRUSR | S_IWUSR);
  fs::remove(folder / "stream.pub", problem);
  write_file(folder / "stream.pub", keys.public_key + "\n", S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  return keys;
}

KeyPair KeyFolder::own() const {
  const fs::path path = fs::path(path_) / "stream.key";
  if (::access(path.c_str(), F_OK) != 0)
    throw core::Error("there is no key: " + failure(), path.string(), "`sidestream keys` makes one");
  if (others_may(path, S_IRWXG | S_IRWXO))
    throw core::Error("others can read this secret key", path.string(), "chmod 600 it, or make a new one");
  KeyPair keys{"", key_in(path)};
  keys.public_key = public_half(keys.secret_key);
  const fs::path half = fs::path(path_) / "stream.pub";
  if (fs::exists(half) && key_in(half) != keys.public_key)
    throw core::Error("this is not the public half of stream.key", half.string(),
                      "has one of them been copied over the other? `sidestream keys` makes a new pair");
  return keys;
}

std::vector<std::string> KeyFolder::allowed() const {
  std::vector<std::string> keys{own().public_key};
  const bool is_open = others_may(path_, enter);  // otherwise the folder keeps all within it
  refuse_if_others_write(path_);
  const fs::path others = fs::path(path_) / "allowed";
  if (fs::exists(others) && !fs::is_directory(others))
    throw core::Error("this is no folder", others.string(), "it holds the public keys of others, each a file *.pub");
  if (is_open) refuse_if_others_write(others);
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(others, none)) {
    if (entry.path().extension() != ".pub") continue;
    if (is_open) refuse_if_others_write(entry.path());
    keys.push_back(key_in(entry.path()));
  }
  return keys;
}

}  // namespace sidestream::stream
