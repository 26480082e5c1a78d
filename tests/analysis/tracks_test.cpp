// What becomes of things through time, from the links between two moments.
#include "analysis/links/tracks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sidestream::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using End = Tracks::End;

TimeLink link(std::int64_t progenitor, std::int64_t descendant, bool is_main_progenitor, bool is_main_descendant) {
  return {progenitor, descendant, 1.0, 0.0, 0, is_main_progenitor, is_main_descendant};
}

const Tracked two_before{{10, 20}, {0, 1}};

TEST(Tracks, BeginWithTheFirstMoment) {
  const Tracks tracks = tracks_of({}, {}, std::vector<std::int64_t>{7, 3}, 0);

  EXPECT_THAT(tracks.track, ElementsAre(0, 1));
  EXPECT_EQ(tracks.births(), 2);
  EXPECT_EQ(tracks.next, 2);
}

TEST(Tracks, GoOnThroughMainLinks) {
  const Tracks tracks = tracks_of(std::vector{link(10, 11, true, true), link(20, 21, true, true)}, two_before,
                                  std::vector<std::int64_t>{21, 11}, 2);

  EXPECT_THAT(tracks.track, ElementsAre(1, 0));
  EXPECT_THAT(tracks.from, ElementsAre(1, 0));
  EXPECT_THAT(tracks.ended, IsEmpty());
  EXPECT_EQ(tracks.births() + tracks.splits(), 0);
}

TEST(Tracks, OfAMergerGoOnFromItsMainProgenitor) {
  const Tracks tracks = tracks_of(std::vector{link(10, 11, false, true), link(20, 11, true, true)}, two_before,
                                  std::vector<std::int64_t>{11}, 2);

  EXPECT_THAT(tracks.track, ElementsAre(1));
  EXPECT_THAT(tracks.ended, ElementsAre(End{0, 1}));
  EXPECT_EQ(tracks.mergers(), 1);
  EXPECT_EQ(tracks.deaths(), 0);
}

TEST(Tracks, OfASplitGoOnInTheMainDescendant) {
  const Tracks tracks = tracks_of(std::vector{link(10, 11, true, false), link(10, 12, true, true)}, Tracked{{10}, {4}},
                                  std::vector<std::int64_t>{11, 12}, 9);

  EXPECT_THAT(tracks.track, ElementsAre(9, 4));
  EXPECT_THAT(tracks.from, ElementsAre(4, 4));
  EXPECT_EQ(tracks.splits(), 1);
  EXPECT_EQ(tracks.births(), 0);
  EXPECT_EQ(tracks.next, 10);
}

TEST(Tracks, EndWithoutDescendants) {
  const Tracks tracks =
      tracks_of(std::vector{link(20, 21, true, true)}, two_before, std::vector<std::int64_t>{21, 5}, 2);

  EXPECT_THAT(tracks.track, ElementsAre(1, 2));
  EXPECT_THAT(tracks.from, ElementsAre(1, Tracks::none));
  EXPECT_THAT(tracks.ended, ElementsAre(End{0, Tracks::none}));
  EXPECT_EQ(tracks.deaths(), 1);
}

// The main descendant of 20 mainly comes from 10, though 20 is the main progenitor of another.
TEST(Tracks, MergeAndLeaveAPartBehind) {
  const Tracks tracks =
      tracks_of(std::vector{link(10, 11, true, true), link(20, 11, false, true), link(20, 22, true, false)}, two_before,
                std::vector<std::int64_t>{11, 22}, 2);

  EXPECT_THAT(tracks.track, ElementsAre(0, 2));
  EXPECT_THAT(tracks.from, ElementsAre(0, 1));
  EXPECT_THAT(tracks.ended, ElementsAre(End{1, 0}));
}

}  // namespace
}  // namespace sidestream::analysis
