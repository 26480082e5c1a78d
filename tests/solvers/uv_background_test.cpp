#include "sidestream/solvers/uv_background.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "sidestream/core/error.hpp"
#include "support/folder.hpp"

namespace sidestream::solvers {
namespace {

constexpr double digits = 1e-5;  // that the expected values are given with

void expect_rates(const UvRates& rates, const std::array<double, 6>& expected) {
  EXPECT_NEAR(rates.ionization_hi, expected[0], digits * expected[0]);
  EXPECT_NEAR(rates.ionization_hei, expected[1], digits * expected[1]);
  EXPECT_NEAR(rates.ionization_heii, expected[2], digits * expected[2]);
  EXPECT_NEAR(rates.heating_hi, expected[3], digits * expected[3]);
  EXPECT_NEAR(rates.heating_hei, expected[4], digits * expected[4]);
  EXPECT_NEAR(rates.heating_heii, expected[5], digits * expected[5]);
}

TEST(UvBackground, ShippedTablesHaveKnownValues) {
  const UvBackground middle = make_uv_background("onorbe17_middle");
  expect_rates(middle.at(3.0), {9.14310e-13, 5.29603e-13, 2.23012e-15, 5.79191e-24, 6.00671e-24, 7.77342e-26});
  expect_rates(middle.at(2.0), {1.19943e-12, 7.07863e-13, 4.37411e-15, 7.61333e-24, 9.04488e-24, 1.48632e-25});
  const double fewer_digits = 1e-4;
  const UvRates rates = make_uv_background("hm2012").at(3.0);
  EXPECT_NEAR(rates.ionization_hi, 8.2746e-13, fewer_digits * 8.2746e-13);
  EXPECT_NEAR(rates.ionization_heii, 3.6944e-15, fewer_digits * 3.6944e-15);
  EXPECT_NEAR(rates.heating_hei, 5.4361e-24, fewer_digits * 5.4361e-24);
}

TEST(UvBackground, AllShippedTablesCanBeRead) {
  EXPECT_EQ(uv_background_names().size(), 6U);
  for (const auto& name : uv_background_names()) {
    const UvBackground background = make_uv_background(name);
    EXPECT_GT(background.at(0.0).ionization_hi, 1e-14) << name;
    EXPECT_GT(background.at(3.0).heating_heii, 0.0) << name;
  }
}

TEST(UvBackground, IsConstantBelowItsTableAndNothingAbove) {
  const UvBackground background({{0.2, {.ionization_hi = 1.0}}, {0.4, {.ionization_hi = 3.0}}});
  EXPECT_EQ(background.at(0.0).ionization_hi, 1.0);
  EXPECT_NEAR(background.at(std::pow(10.0, 0.25) - 1.0).ionization_hi, 1.5, 1e-12);
  EXPECT_EQ(background.at(std::pow(10.0, 0.41) - 1.0).ionization_hi, 0.0);
}

TEST(UvBackground, SuddenReionizationDarkensEarlierTimes) {
  const UvBackground background = make_uv_background("onorbe17_middle", {.hydrogen = 7.0, .helium = 3.0});
  const UvRates early = background.at(7.5), between = background.at(4.0), late = background.at(2.5);
  EXPECT_EQ(early.ionization_hi + early.heating_hi + early.ionization_hei + early.heating_hei, 0.0);
  EXPECT_EQ(early.ionization_heii, 0.0);
  EXPECT_GT(between.ionization_hi, 0.0);
  EXPECT_EQ(between.ionization_heii + between.heating_heii, 0.0);
  EXPECT_EQ(late.ionization_heii, make_uv_background("onorbe17_middle").at(2.5).ionization_heii);
}

/// The error of reading a file of this text.
std::string error_of(const std::string& text) {
  const test::SharedFolder folder{comm::Communicator(MPI_COMM_SELF)};
  const std::string path = folder / "TREECOOL";
  std::ofstream(path) << text;
  try {
    make_uv_background(path);
  } catch (const core::Error& error) {
    return error.what();
  }
  return "none";
}

TEST(UvBackground, WhatIsWrongWithAFileIsSaidWithItsLine) {
  using testing::AllOf, testing::HasSubstr;
  const std::string row = "0.0 1e-9 2e-9 3e-9 4e-20 5e-20 6e-20\n";
  EXPECT_EQ(error_of("# comment\n\n" + row + "0.5\t6e-9 5e-9 4e-9 3e-20 2e-20 1e-20\r\n"), "none");
  EXPECT_THAT(error_of(row + "0.1 1 2 3 4 5\n"), AllOf(HasSubstr("TREECOOL:2"), HasSubstr("6 columns, not seven")));
  EXPECT_THAT(error_of("0.1 1 2 3 4 5 6 7\n"), AllOf(HasSubstr("TREECOOL:1"), HasSubstr("8 columns")));
  EXPECT_THAT(error_of(row + row), AllOf(HasSubstr("TREECOOL:2"), HasSubstr("does not grow")));
  EXPECT_THAT(error_of("0.1 1 2 nan 4 5 6\n"),
              AllOf(HasSubstr("TREECOOL:1"), HasSubstr("`nan` is not a finite number")));
  EXPECT_THAT(error_of("0.1 1 2 1e999 4 5 6\n"), HasSubstr("`1e999` is not a finite number"));
  EXPECT_THAT(error_of("0.1 1 2 3x 4 5 6\n"), HasSubstr("`3x` is not a finite number"));
  EXPECT_THAT(error_of("0.1 0 -2 3 4 5 6\n"), AllOf(HasSubstr("TREECOOL:1"), HasSubstr("column 3 is below zero")));
  EXPECT_THAT(error_of("# nothing\n"), HasSubstr("has no rows"));
}

TEST(UvBackground, UnknownNamesAreErrorsThatListTheShippedOnes) {
  try {
    make_uv_background("onorbe17_midle");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.hint(), testing::HasSubstr("onorbe17_middle"));
  }
}

}  // namespace
}  // namespace sidestream::solvers
