#include "io/formats/flash/flash_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sidestream::io {

std::string flash_netcdf_name(const std::string& hdf5_name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> words{{{"refine level", "lrefine"},
                                                                                {"node type", "nodetype"},
                                                                                {"block size", "blocksize"},
                                                                                {"bounding box", "bndbox"},
                                                                                {"processor number", "procnumber"},
                                                                                {"tracer particles", "particles"}}};
  for (const auto& [hdf5, netcdf] : words)
    if (hdf5_name == hdf5) return std::string(netcdf);
  std::string name = hdf5_name;
  std::ranges::replace(name, ' ', '_');
  return name;
}

}  // namespace sidestream::io
