#include <gtest/gtest.h>

#include "sidestream/core/error.hpp"
#include "sidestream/solvers/heating_cooling.hpp"

namespace sidestream::solvers {
namespace {

HeatingConfig read(const std::string& text) {
  return heating_table().read(core::parse_toml(text, "run.toml"));
}

TEST(HeatingConfig, IsThatOfTheStructButForTheBackground) {
  const HeatingConfig config = read("uv_background = 'hm2012'"), standard;
  EXPECT_EQ(config.rates, standard.rates);
  EXPECT_EQ(config.heating_factor, 1.0);
  EXPECT_FALSE(config.self_shielding || config.hydrogen_reionization || config.helium_reionization);
}

TEST(HeatingConfig, ReadsItsKeys) {
  const HeatingConfig config = read(
      "uv_background = 'fg20'\nrates = 'katz1996'\nself_shielding = true\nheating_factor = 1.5\n"
      "heating_exponent = -0.3\nhydrogen_reionization = 7.5\ntemperature_floor = 10.0");
  EXPECT_EQ(config.uv_background, "fg20");
  EXPECT_EQ(config.rates, "katz1996");
  EXPECT_TRUE(config.self_shielding);
  EXPECT_EQ(config.heating_factor, 1.5);
  EXPECT_EQ(config.heating_exponent, -0.3);
  EXPECT_EQ(config.hydrogen_reionization, 7.5);
  EXPECT_EQ(config.temperature_floor, 10.0);
}

TEST(HeatingConfig, RejectsWhatItDoesNotKnow) {
  EXPECT_THROW(read(""), core::Error);  // nobody named a background
  EXPECT_THROW(read("uv_background = 'hm2012'\nrates = 'cen1992'"), core::Error);
  EXPECT_THROW(read("uv_background = 'hm2012'\ntemperature_floor = 0.0"), core::Error);
  EXPECT_THROW(read("uv_background = 'hm2012'\nionisation_factor = 1.0"), core::Error);
}

}  // namespace
}  // namespace sidestream::solvers
