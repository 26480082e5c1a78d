#include "sidestream/io/initial_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "initial_entries.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

std::span<const InitialFormat> initial_formats() {
  static const std::vector<InitialFormat> all{gadget_initial_format(), monofonic_initial_format(),
                                              grafic_initial_format(), nyx_initial_format()};
  return all;
}

std::unique_ptr<InitialFile> open_initial_file(const std::string& path, const InitialAssumptions& assumptions) {
  if (!std::filesystem::exists(path))
    throw core::Error("the file of the initial conditions does not exist", path,
                      "a relative path begins at the folder of the configuration");
  std::string known;
  for (const InitialFormat& format : initial_formats()) {
    if (format.recognizes(path)) return format.open(path, assumptions);
    known += (known.empty() ? "" : ", ") + format.name;
  }
  throw core::Error("the initial conditions are of no known format", path, fmt::format("these can be read: {}", known));
}

}  // namespace sidestream::io
