#include "tools/json_difference.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace galley {
namespace {

using nlohmann::ordered_json;

std::string differences(const char* expected, const char* found, JsonComparison how = {}) {
  return describe(json_differences(ordered_json::parse(expected), ordered_json::parse(found), how));
}

TEST(JsonDifference, MemberOrderAndNumberFormatMakeNoDifference) {
  EXPECT_EQ(differences(R"({"a": 1, "b": [1.0, null]})", R"({"b": [1, null], "a": 1.0})"), "");
}

TEST(JsonDifference, HasItsPointerAndBothValues) {
  EXPECT_EQ(differences(R"({"a": {"b": [1, 2]}})", R"({"a": {"b": [1, 3, 4]}})"),
            "/a/b/1: expected 2, found 3\n/a/b/2: expected nothing, found 4\n");
  EXPECT_EQ(differences(R"({"a/b~": 1, "c": [1]})", R"({"d": true, "c": []})"),
            "/a~1b~0: expected 1, found nothing\n/c/0: expected 1, found nothing\n"
            "/d: expected nothing, found true\n");
  EXPECT_EQ(differences("1", "[]"), "the whole: expected 1, found []\n");
}

TEST(JsonDifference, TwoTimesAreEqualOnlyIfTimesAreIgnored) {
  const char* const one = R"({"t": "2024-01-01T12:34:56.789Z"})";
  const char* const other = R"({"t": "2025-06-01T00:00:00Z"})";
  EXPECT_NE(differences(one, other), "");
  EXPECT_EQ(differences(one, other, {.ignores_times = true}), "");
  EXPECT_NE(differences(one, R"({"t": "2025-06-01"})", {.ignores_times = true}), "");
  EXPECT_NE(differences(one, R"({"t": 7})", {.ignores_times = true}), "");
}

// Limit: kMaxJsonDifferences of tools/json_difference.h
TEST(JsonDifference, LongValuesAndLongListsAreShortened) {
  const ordered_json expected = std::string(199, 'x') + "éé";
  const auto found = json_differences(expected, ordered_json("y"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].expected.ends_with("x…")) << found[0].expected;
  ordered_json many = ordered_json::array();
  for (size_t i = 0; i < 2 * kMaxJsonDifferences; ++i) many.push_back(i);
  EXPECT_EQ(json_differences(many, ordered_json::array()).size(), kMaxJsonDifferences);
}

}  // namespace
}  // namespace galley
