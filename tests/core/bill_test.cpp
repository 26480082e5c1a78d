#include "sidestream/core/bill.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>
#include <string>
#include <vector>

namespace sidestream::core {
namespace {

double sum_of(const std::map<Bill::Line, double>& lines) {
  return std::accumulate(lines.begin(), lines.end(), 0.0,
                         [](double sum, const auto& line) { return sum + line.second; });
}

TEST(Bill, EveryMomentIsOnExactlyOneLine) {
  const auto start = Bill::Clock::now();
  Bill bill(start);
  usleep(2000);
  bill.begin_rest();
  {
    const Bill::Part outer = bill.part("outer", "a");
    usleep(2000);
    for (int i = 0; i < 3; ++i) {
      const Bill::Part inner = bill.part("inner", "b");
      usleep(3000);
    }
  }
  const double before = std::chrono::duration<double>(Bill::Clock::now() - start).count();
  const auto lines = bill.lines();
  const double after = std::chrono::duration<double>(Bill::Clock::now() - start).count();

  EXPECT_GE(sum_of(lines), before);
  EXPECT_LE(sum_of(lines), after);
  EXPECT_GE(bill.wall_s(), after);
  EXPECT_GE(lines.at({"start-up", "program"}), 0.002);
  EXPECT_GE(lines.at({"inner", "b"}), 0.009);
  EXPECT_GE(lines.at({"outer", "a"}), 0.002);
  // What is within the inner part is not on the line of the outer one.
  EXPECT_LE(lines.at({"outer", "a"}) + lines.at({"inner", "b"}) + lines.at({"start-up", "program"}), after);
}

TEST(Bill, APartThatEndsByAnExceptionIsOver) {
  Bill bill;
  try {
    timed(bill, "fails", [] { throw 1; });
  } catch (int) {
  }
  const double failed = bill.lines().at({"fails", "simulation"});

  usleep(1000);

  EXPECT_EQ(bill.lines().at({"fails", "simulation"}), failed);
  EXPECT_EQ(bill.seconds({"fails", "simulation"}), failed);
  EXPECT_EQ(bill.seconds({"unknown", ""}), 0.0);
}

TEST(Bill, WhatWasForSeveralIsDividedByTheirWeights) {
  Bill bill;
  {
    const Bill::Part part = bill.part("packing", "");
    usleep(4000);
  }
  const double whole = bill.seconds({"packing", ""});

  bill.divide("packing", std::vector<std::pair<std::string, double>>{{"a", 1.0}, {"b", 3.0}});

  EXPECT_EQ(bill.seconds({"packing", ""}), 0.0);
  EXPECT_NEAR(bill.seconds({"packing", "a"}), 0.25 * whole, 1e-12);
  EXPECT_NEAR(bill.seconds({"packing", "b"}), 0.75 * whole, 1e-12);
}

}  // namespace
}  // namespace sidestream::core
