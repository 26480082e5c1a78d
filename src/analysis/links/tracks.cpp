#include "analysis/links/tracks.hpp"

#include <algorithm>
#include <map>

namespace sidestream::analysis {

namespace {

// The other end of the main link of each end `of`.
std::map<std::int64_t, std::int64_t> main_ends(std::span<const TimeLink> links, std::int64_t TimeLink::*of,
                                               std::int64_t TimeLink::*other, bool TimeLink::*is_main) {
  std::map<std::int64_t, std::int64_t> ends;
  for (const TimeLink& link : links)
    if (link.*is_main) ends[link.*of] = link.*other;
  return ends;
}

std::int64_t end_of(const std::map<std::int64_t, std::int64_t>& ends, std::int64_t of) {
  const auto found = ends.find(of);
  return found == ends.end() ? Tracks::none : found->second;
}

}  // namespace

std::int64_t Tracks::births() const {
  return std::ranges::count(from, none);
}
std::int64_t Tracks::splits() const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < track.size(); ++i) count += from[i] != none && from[i] != track[i];
  return count;
}
std::int64_t Tracks::deaths() const {
  return std::ranges::count(ended, none, &End::into);
}
std::int64_t Tracks::mergers() const {
  return static_cast<std::int64_t>(ended.size()) - deaths();
}

Tracks tracks_of(std::span<const TimeLink> links, const Tracked& before, std::span<const std::int64_t> ids,
                 std::int64_t next) {
  const auto progenitors =
      main_ends(links, &TimeLink::descendant, &TimeLink::progenitor, &TimeLink::is_main_progenitor);
  const auto descendants =
      main_ends(links, &TimeLink::progenitor, &TimeLink::descendant, &TimeLink::is_main_descendant);
  std::map<std::int64_t, std::int64_t> track_before, track_now;
  for (std::size_t i = 0; i < before.ids.size(); ++i) track_before[before.ids[i]] = before.tracks[i];

  Tracks tracks;
  tracks.next = next;
  for (const std::int64_t id : ids) {
    const std::int64_t progenitor = end_of(progenitors, id);
    const std::int64_t from = progenitor == Tracks::none ? Tracks::none : end_of(track_before, progenitor);
    const bool goes_on = from != Tracks::none && end_of(descendants, progenitor) == id;
    tracks.track.push_back(goes_on ? from : tracks.next++);
    tracks.from.push_back(from);
    track_now[id] = tracks.track.back();
  }
  for (std::size_t i = 0; i < before.ids.size(); ++i) {
    const std::int64_t descendant = end_of(descendants, before.ids[i]);
    if (descendant != Tracks::none && end_of(progenitors, descendant) == before.ids[i]) continue;
    tracks.ended.push_back({before.tracks[i], descendant == Tracks::none ? Tracks::none : track_now.at(descendant)});
  }
  std::ranges::sort(tracks.ended, {}, &Tracks::End::track);
  return tracks;
}

}  // namespace sidestream::analysis
