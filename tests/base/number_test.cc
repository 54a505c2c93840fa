#include "base/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace galley {
namespace {

TEST(Number, OnlyAWholeTextOfDigitsIsParsed) {
  EXPECT_EQ(number_of<int>("0"), 0);
  EXPECT_EQ(number_of<int>("007"), 7);
  EXPECT_EQ(number_of<uint32_t>("755", 8), 0755U);
  EXPECT_EQ(number_of<uint32_t>("fF", 16), 255U);
  for (const char* text : {"", " 1", "1 ", "1x", "+1", "x", "-", "1.0", "0x1"}) {
    EXPECT_EQ(number_of<int>(text), std::nullopt) << text;
  }
  EXPECT_EQ(number_of<int>(std::string_view("1\0", 2)), std::nullopt);
  EXPECT_EQ(number_of<int>("8", 8), std::nullopt);
}

TEST(Number, ASignIsParsedOnlyForASignedType) {
  EXPECT_EQ(number_of<int>("-12"), -12);
  EXPECT_EQ(number_of<unsigned>("-12"), std::nullopt);
  EXPECT_EQ(number_of<int>("--1"), std::nullopt);
}

TEST(Number, ANumberThatDoesNotFitItsTypeIsNotParsed) {
  EXPECT_EQ(number_of<uint8_t>("255"), uint8_t{255});
  EXPECT_EQ(number_of<uint8_t>("256"), std::nullopt);
  EXPECT_EQ(number_of<int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(number_of<int64_t>("9223372036854775808"), std::nullopt);
  EXPECT_EQ(number_of<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(number_of<uint64_t>("18446744073709551616"), std::nullopt);
}

}  // namespace
}  // namespace galley
