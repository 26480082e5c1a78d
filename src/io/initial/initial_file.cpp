#include "sidestream/io/initial_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>

#include "io/initial/initial_entries.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

const core::Registry<InitialFormat>& initial_formats() {
  static const core::Registry<InitialFormat> all(
      {"initial-conditions", "format of initial conditions", "of other programs: `initial_conditions` of [cosmology]"},
      {gadget_initial_format(), monofonic_initial_format(), grafic_initial_format(), nyx_initial_format()});
  return all;
}

std::unique_ptr<InitialFile> open_initial_file(const std::string& path, const InitialAssumptions& assumptions) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::not_found)
    throw core::Error("the file of the initial conditions does not exist", path,
                      "a relative path begins at the folder of the configuration");
  if (error)
    throw core::Error("the initial conditions cannot be looked at: " + error.message(), path,
                      "give yourself the right to read them: chmod -R u+rX FOLDER");
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::directory)
    throw core::Error("the initial conditions are neither a file nor a folder", path,
                      "give the path of a file, or of a folder of grafic2");
  for (const InitialFormat& format : initial_formats())
    if (format.recognizes(path)) return format.open(path, assumptions);
  throw core::Error("the initial conditions are of no known format", path,
                    fmt::format("these can be read: {}", fmt::join(initial_formats().names(), ", ")));
}

}  // namespace sidestream::io
