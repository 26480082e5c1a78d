#include "sidestream/sims/listings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "support/places.hpp"

namespace sidestream::sims {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> found_in(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> all;
  for (std::sregex_iterator found(text.begin(), text.end(), expression), end; found != end; ++found)
    all.push_back((*found)[1]);
  return all;
}

// Those pages of the reference and the guides that tell where entries of this kind are chosen: keys in backticks.
std::string pages_about(const core::Listing& kind) {
  const std::vector<std::string> keys = found_in(kind.documentation, "(`[^`]+`)");
  std::string all;
  for (const char* const folder : {"/docs/reference", "/docs/guides"})
    for (const auto& page : std::filesystem::directory_iterator(test::source_folder() + folder)) {
      const std::string text = text_of(page.path());
      const auto tells = [&](const std::string& key) { return text.find(key) != std::string::npos; };
      if (std::ranges::all_of(keys, tells)) all += text;
    }
  return all;
}

// The registries that headers declare.
std::vector<std::string> declared_registries() {
  std::vector<std::string> all;
  for (const char* const folder : {"/include", "/src"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(test::source_folder() + folder))
      if (file.path().extension() == ".hpp")
        for (const std::string& name : found_in(text_of(file.path()), R"(\bRegistry<[\w:]+>& (\w+)\(\);)"))
          all.push_back(name);
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

TEST(Listings, NoRegistryIsLeftOut) {
  const std::string listed = text_of(test::source_folder() + "/src/sims/listings.cpp");
  const std::vector<std::string> registries = declared_registries();

  EXPECT_EQ(registries.size(), listings().size());  // one is of quantities, and one is the list itself
  for (const std::string& name : registries) {
    if (name == "listings") continue;
    EXPECT_NE(listed.find(name + "().listing()"), std::string::npos) << name;
  }
}

TEST(Listings, EveryEntryIsInTheDocumentationOfItsKind) {
  for (const core::Listing& kind : listings()) {
    const std::string pages = pages_about(kind);
    EXPECT_FALSE(pages.empty()) << kind.name << ": " << kind.documentation;
    for (const auto& [name, sentence] : kind.lines)
      EXPECT_TRUE(pages.find('`' + name + '`') != std::string::npos ||
                  pages.find('"' + name + '"') != std::string::npos)
          << kind.name << " " << name;
  }
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
