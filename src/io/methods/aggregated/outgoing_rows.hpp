#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "io/methods/aggregated/file_domains.hpp"
#include "io/methods/rows.hpp"

namespace sidestream::io {

/// The rows of this rank, packed window by window in the order of rounds, then of the file. Local.
class OutgoingRows {
 public:
  OutgoingRows(const ArrayWrite& work, const FileDomains& domains);

  /// What a window gets from here, ascending; what touches is one range.
  struct Share {
    FileDomains::Window window;
    std::vector<ByteRange> ranges;
    std::int64_t bytes = 0;
  };
  /// By rounds, ascending in each.
  const std::vector<Share>& shares() const { return shares_; }

  /// Where the bytes of a range of the share are to be: `bytes` from `offset` in the file on.
  using Room = std::function<std::span<std::byte>(std::int64_t offset, std::int64_t bytes)>;
  /// Packs the next share; those before it have been packed.
  void pack(const Share& share, const Room& room);
  std::int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  // A run of an array where it stands in the file.
  struct Held {
    std::int64_t offset = 0, bytes = 0;
    std::size_t group = 0, array = 0, run = 0;
  };
  // A run that several windows have parts of, packed, and how much of it is still to go.
  struct Begun {
    std::vector<std::byte> packed;
    std::int64_t left = 0;
  };
  void pack_part(const Held& held, std::int64_t from, std::span<std::byte> out);

  const ArrayWrite& work_;
  std::vector<Held> held_;  // ascending
  std::vector<Share> shares_;
  std::map<std::int64_t, Begun> begun_;  // by the offset of the run
  std::int64_t scratch_bytes_ = 0;       // most in `begun_`
  std::int64_t begun_bytes_ = 0;
};

}  // namespace sidestream::io
