#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

/// Real numbers of a file, given as they stand there.
inline std::vector<double> doubles_of(std::span<const std::byte> bytes, ElementType type) {
  std::vector<double> values(bytes.size() / static_cast<std::size_t>(size_of(type)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == ElementType::float32) {
      float value = 0.0F;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      values[i] = static_cast<double>(value);
    } else {
      std::memcpy(&values[i], bytes.data() + i * sizeof(double), sizeof(double));
    }
  }
  return values;
}

/// Puts `value` at the beginning of `out`, as a number of `type`, and moves `out` behind it.
inline void put_real(std::span<std::byte>& out, ElementType type, double value) {
  if (type == ElementType::float32) {
    const auto single = static_cast<float>(value);
    std::memcpy(out.data(), &single, sizeof single);
    out = out.subspan(sizeof single);
  } else {
    std::memcpy(out.data(), &value, sizeof value);
    out = out.subspan(sizeof value);
  }
}

}  // namespace sidestream::io
