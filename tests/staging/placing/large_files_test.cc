// Files that are large in one way: a line of 100 MB, a million lines.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"
#include "staging/text/diff.h"

namespace galley {
namespace {

constexpr size_t kLongLine = 100'000'000;
constexpr size_t kManyLines = 1'000'000;

/// "head", one long line with a mark in its middle, "tail".
std::string file_with_long_line() {
  std::string text = "head\n" + std::string(kLongLine, 'x') + "\ntail\n";
  text.replace(kLongLine / 2, 6, "<mark>");
  return text;
}

std::string line_of(size_t i) { return "line " + std::to_string(i) + "\n"; }

std::string many_lines() {
  std::string text;
  for (size_t i = 0; i < kManyLines; ++i) text += line_of(i);
  return text;
}

FileEdit replacing(std::string_view old_text, std::string_view new_text) {
  FileEdit edit;
  TextEdit one;
  one.old_text = old_text;
  one.new_text = new_text;
  edit.text_edits.push_back(one);
  return edit;
}

PlacedEdits place_patch(const std::string& file, const std::string& patch) {
  const auto set = read_unified(patch, {});
  EXPECT_TRUE(set.has_value()) << set.error().message;
  return place_edits(file, set->files.at(0), {});
}

TEST(LargeFiles, OnlyTheStringInALineOf100MegabytesIsReplaced) {
  const std::string file = file_with_long_line();
  const PlacedEdits placed = place_edits(file, replacing("x<mark>x", "x!x"), {});
  ASSERT_TRUE(placed.failures.empty());
  EXPECT_EQ(placed.splices.all(), (std::vector<Splice>{{kLongLine / 2 - 1, 8, "x!x"}}));
  EXPECT_EQ(placed.placements.at(0).line, 2U);
}

TEST(LargeFiles, AHunkNextToALineOf100MegabytesIsPlaced) {
  const std::string file = file_with_long_line();
  const PlacedEdits placed = place_patch(file, "--- a/f\n+++ b/f\n@@ -3 +3 @@\n-tail\n+end\n");
  ASSERT_TRUE(placed.failures.empty());
  EXPECT_EQ(placed.splices.all(), (std::vector<Splice>{{file.size() - 5, 5, "end\n"}}));
}

TEST(LargeFiles, AHunkWithALineOf100MegabytesAsContextIsPlaced) {
  const std::string file = file_with_long_line();
  const std::string line = file.substr(5, kLongLine + 1);
  const PlacedEdits placed =
      place_patch(file, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-head\n+HEAD\n " + line + " tail\n");
  ASSERT_TRUE(placed.failures.empty());
  EXPECT_EQ(placed.splices.all(), (std::vector<Splice>{{0, 5, "HEAD\n"}}));
}

TEST(LargeFiles, AStringThatIsNotInALineOf100MegabytesIsRefusedWithoutQuotingIt) {
  const std::string file = file_with_long_line();
  const PlacedEdits placed = place_edits(file, replacing("nowhere", "x"), {});
  ASSERT_EQ(placed.failures.size(), 1U);
  EXPECT_EQ(placed.failures[0].reason, "patch.context_not_found");
  EXPECT_LT(placed.failures[0].message.size(), 1000U);
}

TEST(LargeFiles, TheDiffOfAChangedLineOf100MegabytesIsOnlyThatLine) {
  const std::string before = file_with_long_line();
  std::string after = before;
  after[kLongLine / 2] = '[';
  EXPECT_EQ(diff_lines(Lines(before), Lines(after)), (EditScript{{1, 2, 1, 2}}));
}

TEST(LargeFiles, HunksAtBothEndsOfAMillionLinesArePlaced) {
  const std::string file = many_lines();
  const std::string last = line_of(kManyLines - 1);
  const PlacedEdits placed = place_patch(
      file, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-line 0\n+first\n@@ -1000000 +1000000 @@\n-" + last +
                "+last\n");
  ASSERT_TRUE(placed.failures.empty());
  EXPECT_EQ(
      placed.splices.all(),
      (std::vector<Splice>{{0, 7, "first\n"}, {file.size() - last.size(), last.size(), "last\n"}}));
}

TEST(LargeFiles, AMovedHunkInAMillionLinesIsFoundAndReported) {
  const PlacedEdits placed = place_patch(
      many_lines(),
      "--- a/f\n+++ b/f\n@@ -7,3 +7,3 @@\n line 654320\n-line 654321\n+changed\n line 654322\n");
  ASSERT_TRUE(placed.failures.empty());
  EXPECT_EQ(placed.placements.at(0).step, MatchStep::kOffset);
  EXPECT_EQ(placed.placements.at(0).line, 654321U);
}

TEST(LargeFiles, TheDiffOfAMillionLinesIsOnlyTheChangedLine) {
  const std::string before = many_lines();
  std::string after = before;
  const size_t at = after.find(line_of(500'000));
  after.replace(at, 4, "LINE");
  EXPECT_EQ(diff_lines(Lines(before), Lines(after)),
            (EditScript{{500'000, 500'001, 500'000, 500'001}}));
}

/// Edits that fit as written and edits that fit but for white space, in turns.
FileEdit mixed_edits(size_t count, std::vector<std::string>& kept) {
  FileEdit edit;
  kept.reserve(2 * count);
  for (size_t i = 0; i < count; ++i) {
    kept.push_back((i % 2 == 0 ? "" : "  ") + line_of(1000 * (i + 1)));
    kept.push_back(line_of(kManyLines + i));
    TextEdit one;
    one.old_text = kept[kept.size() - 2];
    one.new_text = kept.back();
    edit.text_edits.push_back(one);
  }
  return edit;
}

TEST(LargeFiles, EditsThatReindexTheFileTooOftenAreRefused) {
  const std::string file = many_lines();
  std::vector<std::string> kept;
  const PlacedEdits many = place_edits(file, mixed_edits(20, kept), {});
  ASSERT_FALSE(many.failures.empty());
  for (const EditFailure& failure : many.failures) EXPECT_EQ(failure.reason, "limit.edit_work");
}

void expect_too_many_replacements(std::string_view unit, size_t bytes, const std::string& from,
                                  const std::string& to) {
  std::string file;
  while (file.size() < bytes) file += unit;
  FileEdit edit = replacing(from, to);
  edit.text_edits[0].replace_all = true;
  const PlacedEdits placed = place_edits(file, edit, {});
  ASSERT_EQ(placed.failures.size(), 1U);
  EXPECT_EQ(placed.failures[0].reason, "limit.edit_work");
  EXPECT_TRUE(placed.placements.empty());
  EXPECT_TRUE(placed.splices.is_empty());
}

TEST(LargeFiles, MoreReplacementsThanTheLimitAreRefused) {
  expect_too_many_replacements("ab", 5'000'000, "a", "c");
}

TEST(LargeFiles, TooManyReplacementsInAFileWithCrLfAreRefused) {
  expect_too_many_replacements("a\r\n", 9'000'000, "a\n", "b\n");
}

TEST(LargeFiles, AStringAtAMillionPlacesIsAmbiguousWithoutAFullCount) {
  const PlacedEdits placed = place_edits(many_lines(), replacing("line", "x"), {});
  ASSERT_EQ(placed.failures.size(), 1U);
  EXPECT_EQ(placed.failures[0].reason, "patch.ambiguous");
  EXPECT_NE(placed.failures[0].message.find("more than 1000 places"), std::string::npos);
  EXPECT_EQ(placed.failures[0].candidates.size(), 10U);
}

}  // namespace
}  // namespace galley
