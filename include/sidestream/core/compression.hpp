#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sidestream/core/compressor.hpp"
#include "sidestream/core/config.hpp"

namespace sidestream::core {

/// How one quantity is compressed. Written "none", "zstd", "zfp 1e-3" or "zfp 1e-3 relative".
struct CompressionChoice {
  const Compressor* compressor = &compressors().front();
  double bound = 0.0;        ///< of a lossy compressor: the largest error of a cell
  bool is_relative = false;  ///< `bound` is a part of the largest magnitude of the quantity

  /// The error that a cell of a quantity of this largest magnitude may have.
  double bound_for(double largest_magnitude) const { return is_relative ? bound * largest_magnitude : bound; }
  /// As it is written in a configuration.
  std::string text() const;
};

/// How each quantity is compressed: the value of `compress` wherever that is an option.
class Compression {
 public:
  /// That of `quantity`, else that of all others ("*"), else none.
  const CompressionChoice& of(std::string_view quantity) const;
  /// Whether every quantity stays as it is.
  bool is_none() const;
  /// Throws core::Error, with place and nearest name, where a quantity is named that is none of `quantities`.
  void check_names(std::span<const std::string> quantities) const;
  /// Throws core::Error, with the place, where a compressor is lossy; `reason` is a sentence.
  void refuse_lossy(const std::string& reason) const;
  /// Throws core::Error, with the place, where anything is compressed; `reason` is a sentence.
  void refuse_all(const std::string& reason) const;

 private:
  friend Compression read_compression(const Node& node);
  struct Entry {
    std::string quantity;
    CompressionChoice choice;
    std::string where;
  };
  std::vector<Entry> entries_;
};

/// Reads one choice for all quantities (`"zstd"`) or a table of them (`{ density = "zfp 1e-3", "*" = "zstd" }`).
/// Throws core::Error, with place and nearest name, for what is neither, and for compressors that this build lacks.
Compression read_compression(const Node& node);

}  // namespace sidestream::core
