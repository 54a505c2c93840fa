#include "staging/text/lines.h"

#include <gtest/gtest.h>

#include <string>

#include "staging/text/intern.h"

namespace galley {
namespace {

TEST(Lines, KeepTheirTerminatorsAndJoinToTheText) {
  const std::string text = "one\ntwo\r\n\nlast";
  const Lines lines(text);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "one\n");
  EXPECT_EQ(lines[1], "two\r\n");
  EXPECT_EQ(lines[2], "\n");
  EXPECT_EQ(lines[3], "last");
  EXPECT_FALSE(lines.ends_with_newline());
  EXPECT_EQ(lines.span(0, 4), text);
  EXPECT_EQ(lines.span(1, 3), "two\r\n\n");
}

TEST(Lines, AnEmptyTextHasNoLines) {
  EXPECT_EQ(Lines("").size(), 0u);
  EXPECT_TRUE(Lines("").ends_with_newline());
  EXPECT_EQ(Lines("\n").size(), 1u);
}

TEST(Lines, LineAtFindsTheLineOfAByte) {
  const Lines lines("ab\nc\n\nd");
  EXPECT_EQ(lines.line_at(0), 0u);
  EXPECT_EQ(lines.line_at(2), 0u);
  EXPECT_EQ(lines.line_at(3), 1u);
  EXPECT_EQ(lines.line_at(5), 2u);
  EXPECT_EQ(lines.line_at(6), 3u);
  EXPECT_EQ(lines.line_at(7), 4u);
  EXPECT_EQ(lines.line_at(100), 4u);
}

TEST(Lines, WithoutTerminatorDropsOneEnding) {
  EXPECT_EQ(without_terminator("a\r\n"), "a");
  EXPECT_EQ(without_terminator("a\n"), "a");
  EXPECT_EQ(without_terminator("a\r"), "a\r");
  EXPECT_EQ(without_terminator("\n"), "");
}

TEST(LineTable, EqualLinesShareAnIdThroughGrowth) {
  LineTable table;
  std::vector<std::string> lines;
  for (int i = 0; i < 5000; ++i) lines.push_back("line " + std::to_string(i) + "\n");
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(table.intern(lines[i]), i);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(table.intern(lines[i]), i);
    EXPECT_EQ(table.find(lines[i]), i);
  }
  EXPECT_EQ(table.size(), 5000u);
  EXPECT_EQ(table.find("absent"), LineTable::kNone);
}

TEST(LineTable, IgnoresTheConfiguredWhiteSpace) {
  LineTable all(0, WhiteSpace::kIgnoreAll);
  EXPECT_EQ(all.intern("a b\n"), all.intern(" ab"));
  EXPECT_EQ(all.intern("\n"), all.intern("  \t\r\n"));
  LineTable change(0, WhiteSpace::kIgnoreChange);
  EXPECT_EQ(change.intern("a  b \n"), change.intern("a\tb\n"));
  EXPECT_NE(change.intern("ab\n"), change.intern("a b\n"));
  EXPECT_NE(change.intern(" a\n"), change.intern("a\n"));
  LineTable eol(0, WhiteSpace::kIgnoreAtEol);
  EXPECT_EQ(eol.intern("a \r\n"), eol.intern("a\n"));
  EXPECT_NE(eol.intern("a  b\n"), eol.intern("a b\n"));
  LineTable cr(0, WhiteSpace::kIgnoreCrAtEol);
  EXPECT_EQ(cr.intern("a\r\n"), cr.intern("a\n"));
  EXPECT_NE(cr.intern("a \n"), cr.intern("a\n"));
}

TEST(LineTable, AHintDoesNotChangeIds) {
  const Lines before("a\nb\nc\nd\n");
  const Lines after("a\nx\nb\nc\nd\na\n");
  LineTable table;
  const auto old_ids = table.intern_all(before, 0, before.size());
  const auto hinted = table.intern_like(after, 0, after.size(), {before, 0, old_ids});
  EXPECT_EQ(hinted, table.intern_all(after, 0, after.size()));
}

}  // namespace
}  // namespace galley
