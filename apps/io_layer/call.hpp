#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sidestream::io_layer {

/// The kinds of calls that are told apart.
enum class Call : unsigned { open, make, reserve, write, truncate, sync, close, rename, remove };

inline constexpr std::size_t call_kinds = 9;
inline constexpr std::array<std::string_view, call_kinds> call_names{"open", "make",  "reserve", "write", "truncate",
                                                                     "sync", "close", "rename",  "remove"};

}  // namespace sidestream::io_layer
