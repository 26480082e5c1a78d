#pragma once

#include <string>

namespace sidestream::couple {

/// A folder for the sockets of a run on its node, which nobody but its user can look into; removed at the end. What a
/// process that was killed has left is removed by the next.
class SocketFolder {
 public:
  /// None.
  SocketFolder() = default;
  /// A new one, in the folder for temporary files. Throws core::Error.
  static SocketFolder make();
  /// That of another process, which removes it.
  static SocketFolder of_another(std::string path);
  ~SocketFolder();
  SocketFolder(SocketFolder&& other) noexcept;
  SocketFolder& operator=(SocketFolder&&) = delete;

  bool is_open() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  /// Throws core::Error where the path is longer than a socket's can be.
  std::string address(const std::string& name) const;

 private:
  std::string path_;
  bool is_own_ = false;
  int lock_ = -1;  // of a folder that is its own: held for as long as the process lives
};

}  // namespace sidestream::couple
