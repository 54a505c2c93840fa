// A new line of a file with mixed line ends gets the same one at every door.
#include "staging/placing/hunk_text.h"

#include <gtest/gtest.h>

#include <string>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

const std::string kMixed = "a\r\nb\nc\r\nd\n";

std::string edited(const std::string& file, const FileEdit& edit) {
  const PlacedEdits placed = place_edits(file, edit, MatchOptions());
  EXPECT_TRUE(placed.failures.empty());
  return placed.splices.apply(file);
}

std::string with_lines(uint32_t first, uint32_t last, const std::string& text) {
  TextEdit by_lines;
  by_lines.kind = TextEdit::Kind::kReplaceLines;
  by_lines.first_line = first;
  by_lines.last_line = last;
  by_lines.new_text = text;
  FileEdit edit;
  edit.text_edits = {by_lines};
  return edited(kMixed, edit);
}

std::string with_block(const std::string& old_lines, const std::string& new_lines) {
  const auto set = read_search_replace(
      "f\n<<<<<<< SEARCH\n" + old_lines + "=======\n" + new_lines + ">>>>>>> REPLACE\n", {});
  EXPECT_TRUE(set.has_value());
  return set ? edited(kMixed, set->files.front()) : std::string();
}

TEST(LineEnds, AnInsertedLineHasTheEndOfTheLineAbove) {
  EXPECT_EQ(with_block("a\nb\n", "a\nnew\nb\n"), "a\r\nnew\r\nb\nc\r\nd\n");
  EXPECT_EQ(with_lines(1, 2, "a\nnew\nb\n"), "a\r\nnew\r\nb\nc\r\nd\n");
  EXPECT_EQ(with_lines(2, 2, "new\nb\n"), "a\r\nnew\r\nb\nc\r\nd\n");
  EXPECT_EQ(with_lines(1, 1, "a\nnew\n"), "a\r\nnew\r\nb\nc\r\nd\n");
  EXPECT_EQ(with_lines(1, 4, "a\nb\nnew\nc\nd\n"), "a\r\nb\nnew\nc\r\nd\n");
}

TEST(LineEnds, AReplacedLineKeepsItsEnd) {
  EXPECT_EQ(with_lines(1, 3, "A\nB\nC\n"), "A\r\nB\nC\r\nd\n");
  EXPECT_EQ(with_lines(2, 3, "c\n"), "a\r\nc\r\nd\n");
  EXPECT_EQ(with_lines(1, 2, "A\nB\nnew\n"), "A\r\nB\nnew\nc\r\nd\n");
}

TEST(LineEnds, AllPlacesOfATextAreReplacedWhateverTheirEnds) {
  const auto replaced = [](const std::string& file, const std::string& from,
                           const std::string& to) {
    TextEdit all;
    all.old_text = from;
    all.new_text = to;
    all.replace_all = true;
    FileEdit edit;
    edit.text_edits = {all};
    return edited(file, edit);
  };
  EXPECT_EQ(replaced("a\r\nb\r\n-\na\nb\n", "a\nb\n", "A\nnew\n"), "A\r\nnew\r\n-\nA\nnew\n");
  EXPECT_EQ(replaced("a\nb\n-\na\r\nb\r\n", "a\nb\n", "A\n"), "A\n-\nA\r\n");
  EXPECT_EQ(replaced("x\na\nx\r\na\r\nx", "x\na\nx", "y"), "y\r\na\r\nx") << "they overlap";
}

TEST(LineEnds, OnlyAnEditOfNothingElseChangesThem) {
  const auto replaced = [](const std::string& file, const std::string& from,
                           const std::string& to) {
    TextEdit text;
    text.old_text = from;
    text.new_text = to;
    FileEdit edit;
    edit.text_edits = {text};
    return edited(file, edit);
  };
  EXPECT_EQ(replaced("a\r\nb\r\nc\r\n", "a\r\nb", "a\nx\ny"), "a\r\nx\r\ny\r\nc\r\n");
  EXPECT_EQ(replaced("a\r\nb\r\nc\r\n", "a\r\nb\r\n", "a\nx\n"), "a\r\nx\r\nc\r\n");
  EXPECT_EQ(replaced("a\nb\nc\n", "a\nb\n", "a\r\nx\r\n"), "a\nx\nc\n");
  EXPECT_EQ(replaced("a\r\nb  c\r\nd\r\n", "a\r\nb c\r\n", "a\nb d\n"), "a\r\nb  d\r\nd\r\n");
  EXPECT_EQ(replaced("a\r\nb\r\nc\r\n", "a\r\nb\r\n", "a\nb\n"), "a\nb\nc\r\n");
  EXPECT_EQ(with_block("a\r\nb\n", "a\nx\n"), "a\r\nx\nc\r\nd\n");
}

TEST(LineEnds, ATextInsideALineHasTheEndOfThatLine) {
  EXPECT_EQ(with_line_ends_of("one\r\ntwo\n", 0, 2, "x\ny"), "x\r\ny");
  EXPECT_EQ(with_line_ends_of("one\r\ntwo\n", 9, 0, "x\n"), "x\n");
  EXPECT_EQ(with_line_ends_of("", 0, 0, "x\r\n"), "x\n");
}

}  // namespace
}  // namespace galley
