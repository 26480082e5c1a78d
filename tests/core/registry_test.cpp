#include "sidestream/core/registry.hpp"

#include <gtest/gtest.h>

namespace sidestream::core {
namespace {

struct Entry {
  std::string name, documentation;
  int number = 0;
};

const Registry<Entry>& animals() {
  static const Registry<Entry> all({"animals", "animal", "in the field"},
                                   {{"horse", "carries", 4}, {"hen", "lays", 2}});
  return all;
}

Error error_of(const std::string& toml) {
  try {
    animals().chosen(parse_toml(toml, "farm.toml"), "animal");
  } catch (const Error& error) {
    return error;
  }
  return Error("no error");
}

TEST(Registry, FindsByNameAndKeepsTheOrder) {
  EXPECT_EQ(animals().named("hen").number, 2);
  EXPECT_EQ(animals().names(), (std::vector<std::string>{"horse", "hen"}));
  EXPECT_EQ(animals().chosen(parse_toml("animal = 'horse'", "farm.toml"), "animal").number, 4);
}

TEST(Registry, AWrongNameIsToldWithItsPlaceAndTheNearest) {
  const Error error = error_of("color = 1\nanimal = 'hors'");

  EXPECT_EQ(error.message(), "there is no animal `hors`");
  EXPECT_EQ(error.where(), "farm.toml:2:10, key `animal`");
  EXPECT_EQ(error.hint(), "did you mean `horse`? choose one of: horse, hen");
}

TEST(Registry, WithoutANearOneAllAreTold) {
  EXPECT_EQ(error_of("animal = 'elephant'").hint(), "choose one of: horse, hen");
}

TEST(Registry, AMissingKeyIsToldWithAnExample) {
  EXPECT_EQ(error_of("color = 1").message(), "the key `animal` is missing");
  EXPECT_EQ(error_of("color = 1").hint(), "for example animal = \"horse\"");
}

TEST(Registry, TwoEntriesOfOneNameAreRefused) {
  try {
    const Registry<Entry> twice({"animals", "animal", ""}, {{"horse", "", 4}, {"hen", "", 2}, {"horse", "", 3}});
    FAIL() << "one of them would never be found";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "there are two entries of the name `horse`");
  }
}

TEST(Registry, ListsWhatItHolds) {
  const Listing listing = animals().listing();

  EXPECT_EQ(listing.name, "animals");
  ASSERT_EQ(listing.lines.size(), 2U);
  EXPECT_EQ(listing.lines[1].documentation, "lays");
}

}  // namespace
}  // namespace sidestream::core
