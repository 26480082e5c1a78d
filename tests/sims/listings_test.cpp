#include "sidestream/sims/listings.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace sidestream::sims {
namespace {

// All pages of the reference and the guides.
std::string documentation() {
  std::string all;
  for (const char* const folder : {"/docs/reference", "/docs/guides"})
    for (const auto& page : std::filesystem::directory_iterator(std::string(SIDESTREAM_SOURCE_DIR) + folder)) {
      std::ifstream file(page.path());
      all.append(std::istreambuf_iterator<char>(file), {});
    }
  return all;
}

TEST(Listings, EveryEntryHasANameOfItsOwnAndASentence) {
  for (const core::Listing& kind : listings()) {
    std::set<std::string> names;
    EXPECT_FALSE(kind.documentation.empty()) << kind.name;
    EXPECT_FALSE(kind.lines.empty()) << kind.name;
    for (const auto& [name, sentence] : kind.lines) {
      EXPECT_TRUE(names.insert(name).second) << kind.name << " has two called " << name;
      EXPECT_GE(sentence.size(), 10U) << kind.name << " " << name;
    }
  }
}

TEST(Listings, EveryEntryIsInTheDocumentation) {
  const std::string pages = documentation();

  for (const core::Listing& kind : listings())
    for (const auto& [name, sentence] : kind.lines)
      EXPECT_TRUE(pages.find('`' + name + '`') != std::string::npos ||
                  pages.find('"' + name + '"') != std::string::npos)
          << kind.name << " " << name;
}

TEST(Listings, AWrongNameIsAnsweredWithTheNearestAndAll) {
  for (const core::Listing& kind : listings()) {
    const std::string right = kind.lines.front().name;
    try {
      static_cast<void>(core::Registry<core::Listing::Line>({kind.name, "name", ""}, kind.lines).named(right + "x"));
      ADD_FAILURE() << kind.name;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.message(), "there is no name `" + right + "x`");
      EXPECT_TRUE(error.hint().starts_with("did you mean `" + right + "`? choose one of: ")) << error.hint();
    }
  }
}

}  // namespace
}  // namespace sidestream::sims
