#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/links/links.hpp"

namespace sidestream::analysis {

/// What has a number through time, at one moment: ids belong to the moment, tracks stay.
struct Tracked {
  std::vector<std::int64_t> ids, tracks;
};

/// The track of each of the things of now, and what became of those before.
struct Tracks {
  static constexpr std::int64_t none = -1;

  /// Of an earlier track that does not go on.
  struct End {
    std::int64_t track = 0;
    std::int64_t into = none;  ///< the track that it merged into; none: it vanished

    friend bool operator==(const End&, const End&) = default;
  };

  std::vector<std::int64_t> track;  ///< of each id of now
  std::vector<std::int64_t> from;   ///< the track itself where it goes on, that it split from, or none where it begins
  std::vector<End> ended;           ///< by ascending track
  std::int64_t next = 0;            ///< the number of the next track that begins

  std::int64_t births() const;
  std::int64_t splits() const;
  std::int64_t deaths() const;
  std::int64_t mergers() const;
};

/// Follows what was there before: a track goes on where two are each other's main progenitor and main descendant; one
/// whose main progenitor goes on elsewhere has split from it; one whose main descendant goes on from another has merged
/// into that. New tracks are numbered from `next` in the order of `ids`. Local.
Tracks tracks_of(std::span<const TimeLink> links, const Tracked& before, std::span<const std::int64_t> ids,
                 std::int64_t next);

}  // namespace sidestream::analysis
