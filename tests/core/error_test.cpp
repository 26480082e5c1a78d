#include "sidestream/core/error.hpp"

#include <gtest/gtest.h>

using namespace std::string_literals;

namespace sidestream {
namespace {

TEST(ErrorTest, WhatATerminalCannotShowIsEscaped) {
  const core::Error error("a\0b"s, "\x1b[2J\x7f", "one\ttwo\nthree");

  EXPECT_EQ(error.message(), "a\\x00b");
  EXPECT_EQ(error.where(), "\\x1b[2J\\x7f");
  EXPECT_EQ(error.hint(), "one\ttwo\nthree");
  EXPECT_STREQ(error.what(), "error: a\\x00b\n  --> \\x1b[2J\\x7f\nhint: one\ttwo\nthree");
}

TEST(ErrorTest, TextOfAllLanguagesStays) {
  for (const char* text : {"ünï", "Mpc³", "宇宙", "\U0001f30c", "\u07ff\u0800\uffff\U0010ffff"})
    EXPECT_EQ(core::Error(text).message(), text);
}

TEST(ErrorTest, BytesThatAreNoTextAreEscaped) {
  EXPECT_EQ(core::Error("\xff").message(), "\\xff");
  EXPECT_EQ(core::Error("\xc3").message(), "\\xc3");           // cut short
  EXPECT_EQ(core::Error("\xc3z").message(), "\\xc3z");         // another begins
  EXPECT_EQ(core::Error("\xc0\xaf").message(), "\\xc0\\xaf");  // longer than need be
  EXPECT_EQ(core::Error("\xe0\x80\xaf").message(), "\\xe0\\x80\\xaf");
  EXPECT_EQ(core::Error("\xed\xa0\x80").message(), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(core::Error("\xf4\x90\x80\x80").message(), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
}  // namespace sidestream
