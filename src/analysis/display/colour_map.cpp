#include "analysis/display/colour_map.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "sidestream/core/config.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

constexpr std::string_view table =
#include "data/colour_maps/matplotlib.txt.inc"
    ;
constexpr std::uint32_t opaque = 0xff000000u;

// Calls `f(name, digits)` for each line of the table, until it returns false.
template <typename F>
void for_each_map(F f) {
  std::string_view rest = table;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t end_of_name = line.find(' '), begin_of_colours = line.rfind(' ') + 1;
    if (end_of_name != line.npos && !f(line.substr(0, end_of_name), line.substr(begin_of_colours))) return;
  }
}

std::uint32_t colour_of(std::string_view digits) {
  std::uint32_t rgb = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), rgb, 16);
  return opaque | (rgb & 0xffu) << 16 | (rgb & 0xff00u) | rgb >> 16;
}

}  // namespace

std::span<const std::string> colour_map_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for_each_map([&](std::string_view name, std::string_view) { return all.emplace_back(name), true; });
    return all;
  }();
  return names;
}

ColourMap colour_map(const std::string& name, const std::string& where) {
  ColourMap colours;
  for_each_map([&](std::string_view known, std::string_view digits) {
    if (known != name) return true;
    for (std::size_t c = 0; c + 6 <= digits.size(); c += 6) colours.push_back(colour_of(digits.substr(c, 6)));
    return false;
  });
  if (!colours.empty()) return colours;
  const std::string nearest = core::nearest_name(name, colour_map_names());
  throw core::Error("there is no colour map `" + name + "`", where,
                    (nearest.empty() ? "" : "did you mean `" + nearest + "`? ") +
                        std::string("the colour maps are those of matplotlib: `viridis`, `RdBu_r`, ..."));
}

}  // namespace sidestream::analysis
