#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace sidestream::io {

/// Of the numbers in a file: HDF5 files of ours are little, netCDF classic files always big.
enum class ByteOrder { little, big };

inline bool is_foreign(ByteOrder order) {
  return (order == ByteOrder::little) != (std::endian::native == std::endian::little);
}

/// Appends numbers to bytes as they stand in a file.
class ByteWriter {
 public:
  ByteWriter(std::span<std::byte> out, ByteOrder order) : out_(out), is_swapped_(is_foreign(order)) {}

  template <typename T>
  void put(T value) {
    std::memcpy(out_.data(), &value, sizeof value);
    if (is_swapped_) std::reverse(out_.begin(), out_.begin() + sizeof value);
    out_ = out_.subspan(sizeof value);
  }
  /// `count` values at `from`, times `factor`.
  template <typename T>
  void put_scaled(const double* from, std::int32_t count, double factor) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    std::byte* const to = out_.data();
    if (sizeof(T) == sizeof(double) && factor == 1.0)
      std::memcpy(to, from, bytes);
    else
      for (std::int32_t i = 0; i < count; ++i) {
        const auto value = static_cast<T>(factor * from[i]);
        std::memcpy(to + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
      }
    if (is_swapped_)
      for (std::size_t i = 0; i < bytes; i += sizeof(T)) std::reverse(to + i, to + i + sizeof(T));
    out_ = out_.subspan(bytes);
  }

 private:
  std::span<std::byte> out_;
  bool is_swapped_;
};

/// The numbers in `bytes`.
template <typename T>
std::vector<T> numbers_in(std::span<const std::byte> bytes, ByteOrder order) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  if (is_foreign(order))
    for (T& value : values) {
      const auto of_value = std::as_writable_bytes(std::span(&value, 1));
      std::reverse(of_value.begin(), of_value.end());
    }
  return values;
}

}  // namespace sidestream::io
