#include "staging/placing/explain.h"

#include <gtest/gtest.h>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

constexpr const char* kAskedDiff = "--- a/f\n+++ b/f\n@@ ... @@\n-  return 1;\n+  return 2;\n";
constexpr const char* kAskedBlock =
    "f\n<<<<<<< SEARCH\n  return 1;\n=======\n  return 2;\n>>>>>>> REPLACE\n";

std::string functions_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += "int " + name + "() {\n  return 1;\n}\n";
  return out;
}

TEST(PlaceIds, AnIdIsVoidWhenEqualLinesGetToItsLine) {
  for (const char* answer : {kAskedDiff, kAskedBlock}) {
    const auto edits = read_edits(answer, EditFormat::kAuto, {});
    ASSERT_TRUE(edits);
    const std::string file = functions_of({"a", "b", "c"});
    const PlacedEdits asked = place_edits(file, edits->files.at(0), {});
    ASSERT_EQ(asked.failures.size(), 1U);
    ASSERT_EQ(asked.failures[0].candidates.size(), 3U);
    MatchOptions chosen;
    chosen.choices = {asked.failures[0].candidates[1].id};
    const PlacedEdits placed = place_edits(file, edits->files.at(0), chosen);
    ASSERT_EQ(placed.placements.size(), 1U);
    EXPECT_EQ(placed.placements[0].line, 5U);
    // Three lines above: line 5 is now in another function, and its bytes are the same.
    const std::string saved = functions_of({"n", "a", "b", "c"});
    EXPECT_TRUE(place_edits(saved, edits->files.at(0), chosen).placements.empty()) << answer;
  }
}

/// Two edits of equal functions; the text of the first adds a line.
constexpr const char* kTwoBlocks =
    "f\n<<<<<<< SEARCH\n  return 1;\n=======\n  log();\n  return 2;\n>>>>>>> REPLACE\n"
    "<<<<<<< SEARCH\n  return 3;\n=======\n  return 4;\n>>>>>>> REPLACE\n";
constexpr const char* kEqualBlocks =
    "f\n<<<<<<< SEARCH\n  return 1;\n=======\n  log();\n  return 2;\n>>>>>>> REPLACE\n"
    "<<<<<<< SEARCH\n  return 1;\n=======\n  log();\n  return 2;\n>>>>>>> REPLACE\n";
constexpr const char* kEqualHunks =
    "--- a/f\n+++ b/f\n@@ ... @@\n-  return 1;\n+  return 2;\n"
    "@@ ... @@\n-  return 1;\n+  return 2;\n";

PlacedEdits placed_with(const std::string& file, const char* answer,
                        const std::vector<std::string>& choices) {
  const auto edits = read_edits(answer, EditFormat::kAuto, {});
  MatchOptions chosen;
  chosen.choices = choices;
  return place_edits(file, edits.value().files.at(0), chosen);
}

std::string candidate(const PlacedEdits& asked, size_t edit, uint32_t line) {
  for (const Candidate& one : asked.failures.at(edit).candidates) {
    if (one.line == line) return one.id;
  }
  return "none";
}

TEST(PlaceIds, TwoEditsOfAFileAreChosenTogether) {
  std::string file = functions_of({"a", "b"});
  file += "int c() {\n  return 3;\n}\nint d() {\n  return 3;\n}\n";
  for (const bool has_tabs : {false, true}) {
    if (has_tabs) {
      for (size_t at = file.find("  "); at != file.npos; at = file.find("  ")) {
        file.replace(at, 2, "\t");
      }
    }
    const PlacedEdits asked = placed_with(file, kTwoBlocks, {});
    ASSERT_EQ(asked.failures.size(), 2U);
    const std::vector<std::string> ids = {candidate(asked, 0, 2), candidate(asked, 1, 11)};
    const PlacedEdits placed = placed_with(file, kTwoBlocks, ids);
    ASSERT_EQ(placed.placements.size(), 2U) << has_tabs;
    EXPECT_EQ(placed.placements[0].choices, std::vector{ids[0]});
    EXPECT_EQ(placed.placements[1].choices, std::vector{ids[1]});
    const std::string made = placed.splices.apply(file);
    EXPECT_EQ(made.find("log();"), 10U + (has_tabs ? 1 : 2));
    EXPECT_NE(made.find("3;\n}\nint d() {"), made.npos);
    EXPECT_NE(made.find("return 4;"), made.npos);
  }
}

TEST(PlaceIds, EqualEditsAreChosenTogether) {
  for (const char* answer : {kEqualBlocks, kEqualHunks}) {
    for (const bool has_third : {false, true}) {
      if (!has_third && answer == kEqualHunks) continue;  // they have one reading
      const std::string file = has_third ? functions_of({"a", "b", "c"}) : functions_of({"a", "b"});
      const uint32_t last = has_third ? 8 : 5;
      const PlacedEdits asked = placed_with(file, answer, {});
      ASSERT_EQ(asked.failures.size(), 2U);
      const std::vector<std::string> ids = {candidate(asked, 0, 2), candidate(asked, 1, last)};
      const PlacedEdits placed = placed_with(file, answer, ids);
      ASSERT_EQ(placed.placements.size(), 2U) << answer;
      EXPECT_EQ(placed.placements[1].choices, std::vector{ids[1]});
      const std::string made = placed.splices.apply(file);
      EXPECT_EQ(made.find("return 1;") == made.npos, !has_third);
      EXPECT_EQ(made.find("int b() {\n  return 1;") != made.npos, has_third);
    }
  }
}

TEST(PlaceIds, OnePlaceIsNotChosenTwice) {
  const std::string file = functions_of({"a", "b", "c"});
  for (const char* answer : {kEqualBlocks, kEqualHunks}) {
    const PlacedEdits asked = placed_with(file, answer, {});
    ASSERT_EQ(asked.failures.size(), 2U);
    const PlacedEdits placed =
        placed_with(file, answer, {candidate(asked, 0, 5), candidate(asked, 1, 5)});
    EXPECT_FALSE(placed.failures.empty()) << answer;
  }
}

}  // namespace
}  // namespace galley
