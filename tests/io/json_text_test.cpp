// JSON of files is refused where it is nested too deep to be copied.
#include "io/text/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"

namespace sidestream::io {
namespace {

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
}

TEST(JsonText, IsReadAsDeepAsAnythingThatIsWritten) {
  EXPECT_EQ(parse_json(R"({"a": [1, {"b": "[[[\\"}]})", "file").at("a").at(0), 1);
  EXPECT_EQ(parse_json(nested(64), "file").size(), 1U);
  EXPECT_EQ(parse_json('"' + std::string(1000, '[') + '"', "file").get<std::string>().size(), 1000U);
}

TEST(JsonText, NestedDeeperIsRefused) {
  for (const int depth : {65, 100'000, 10'000'000}) EXPECT_THROW(parse_json(nested(depth), "file"), core::Error);
  EXPECT_THROW(parse_json("[[[", "file"), nlohmann::json::exception);
}

}  // namespace
}  // namespace sidestream::io
