#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

/// Puts small pieces together behind the end of a file and writes them in large ones.
class PieceWriter {
 public:
  /// Small enough to stay in the caches of a core, where the pieces are made and read again by the system.
  static constexpr std::size_t piece_bytes = std::size_t{4} << 20;

  /// `syncs`: the system begins at once to bring each large piece to the disk, while the next one is made.
  PieceWriter(OutputFile& file, bool syncs) : file_(file), syncs_(syncs) {}

  /// Of the next piece in the file.
  std::int64_t position() const { return file_.position() + static_cast<std::int64_t>(used_); }
  /// Room for the next piece, to be filled before the next call.
  std::span<std::byte> room(std::size_t bytes) {
    if (used_ + bytes > buffer_.size()) flush();
    if (bytes > buffer_.size()) buffer_.resize(std::max(bytes, piece_bytes));
    used_ += bytes;
    return std::span(buffer_).subspan(used_ - bytes, bytes);
  }
  void flush() {
    if (used_ == 0) return;
    const std::int64_t offset = file_.position();
    file_.write(std::span<const std::byte>(buffer_).first(used_));
    if (syncs_) file_.begin_sync(offset, file_.position() - offset);
    used_ = 0;
  }

 private:
  OutputFile& file_;
  bool syncs_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
};

}  // namespace sidestream::io
