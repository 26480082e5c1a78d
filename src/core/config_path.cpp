#include "sidestream/core/config_path.hpp"

#include <filesystem>

namespace sidestream::core {

namespace fs = std::filesystem;

// `where` is "FILE:line:column, key `NAME`"; a value from the command line has no line.
std::string path_of(const Node& node) {
  const fs::path path = node.text();
  if (path.empty()) reject(node, "the path is empty");
  const std::string where = node.where();
  std::string source = where.substr(0, where.size() - (node.key().size() + std::string(", key ``").size()));
  fs::path folder;
  if (!source.starts_with("--set ")) {
    for (int part = 0; part < 2; ++part) source.resize(std::min(source.size(), source.rfind(':')));
    folder = fs::path(source).parent_path();
  }
  return fs::absolute(path.is_absolute() ? path : folder / path).lexically_normal().string();
}

}  // namespace sidestream::core
