#include "sidestream/io/plotfile.hpp"

#include "named_entry.hpp"
#include "sidestream/io/nyx_plotfile.hpp"

namespace sidestream::io {

std::span<const PlotfileFormat> plotfile_formats() {
  static const std::vector<PlotfileFormat> formats = {
      {"nyx", "a folder as Nyx writes it, read by yt, ParaView and VisIt", write_nyx_plotfile},
  };
  return formats;
}

const PlotfileFormat& plotfile_format(std::string_view name) {
  return entry_named(plotfile_formats(), name, "format of plot files");
}

}  // namespace sidestream::io
