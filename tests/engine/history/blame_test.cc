#include "engine/history/blame.h"

#include <gtest/gtest.h>

#include "tests/engine/history/history_workspace.h"

namespace galley {
namespace {

#define OK(expression) ASSERT_TRUE((expression).has_value())

class BlameTest : public testing::Test {
 protected:
  /// One word a line: the transaction, `+N` written past Galley after N, `-` older.
  std::vector<std::string> origins(std::string_view path) {
    const auto found = blame(workspace_.history(), workspace_.root(), rel(path));
    if (!found) {
      ADD_FAILURE() << found.error().message;
      return {};
    }
    std::vector<std::string> words;
    for (const BlamedLine& line : found->lines) {
      if (line.origin == LineOrigin::kOlder) {
        words.emplace_back("-");
      } else if (line.origin == LineOrigin::kOutside) {
        words.push_back("+" + line.tx.str());
      } else {
        words.push_back(line.tx.str());
      }
    }
    return words;
  }
  using Words = std::vector<std::string>;
  HistoryWorkspace workspace_;
};

TEST_F(BlameTest, NamesTheTransactionOfEachLine) {
  workspace_.write("a.txt", "old 1\nold 2\nold 3\n");
  CommitMeta meta;
  meta.agent = "coder";
  meta.message = "Because";
  workspace_.commit_file("a.txt", "old 1\nnew 2\nold 3\n", meta);
  workspace_.commit_file("a.txt", "first\nold 1\nnew 2\nold 3\nlast");
  EXPECT_EQ(origins("a.txt"), (Words{"2", "-", "1", "-", "2"}));
  const auto found = blame(workspace_.history(), workspace_.root(), rel("a.txt"));
  EXPECT_EQ(found->transactions.at(TxId{1}).agent, "coder");
  EXPECT_EQ(found->transactions.at(TxId{1}).message, "Because");
  EXPECT_EQ(found->lines[2].original_line, 2U);
  EXPECT_EQ(found->lines[4].text, "last");
}

TEST_F(BlameTest, LinesOfOtherProgramsAreNotBlamedOnATransaction) {
  workspace_.commit_file("a.txt", "1\n2\n3\n");
  workspace_.write("a.txt", "1\nby hand\n3\n");
  EXPECT_EQ(origins("a.txt"), (Words{"1", "+1", "1"}));
  workspace_.commit_file("a.txt", "1\nby hand\n3\n4\n");
  EXPECT_EQ(origins("a.txt"), (Words{"1", "+1", "1", "2"}));
}

TEST_F(BlameTest, FollowsRenamesAndCopies) {
  workspace_.commit_file("a.txt", "1\n2\n3\n");
  workspace_.commit([](Overlay& o) {
    OK(o.move(rel("a.txt"), rel("b.txt")));
    OK(o.write(rel("b.txt"), "1\n2\n3\n4\n"));
  });
  EXPECT_EQ(origins("b.txt"), (Words{"1", "1", "1", "2"}));
  workspace_.commit([](Overlay& o) {
    OK(o.copy(rel("b.txt"), rel("c.txt")));
    OK(o.write(rel("c.txt"), "0\n1\n2\n3\n4\n"));
  });
  EXPECT_EQ(origins("c.txt"), (Words{"3", "1", "1", "1", "2"}));
  const auto found = blame(workspace_.history(), workspace_.root(), rel("b.txt"));
  EXPECT_EQ(found->lines[0].path, rel("a.txt"));
}

TEST_F(BlameTest, AModeChangeIsNotTheOriginOfALine) {
  workspace_.commit_file("a.txt", "1\n");
  workspace_.commit([](Overlay& o) { OK(o.set_mode(rel("a.txt"), 0755)); });
  workspace_.write("a.txt", "1\n2\n");
  EXPECT_EQ(origins("a.txt"), (Words{"1", "+1"}));
}

TEST_F(BlameTest, AFileCreatedAgainHasNoLinesFromBeforeItsDeletion) {
  workspace_.commit_file("a.txt", "1\n");
  workspace_.commit([](Overlay& o) { OK(o.remove(rel("a.txt"))); });
  workspace_.commit_file("a.txt", "1\n");
  EXPECT_EQ(origins("a.txt"), (Words{"3"}));
}

TEST_F(BlameTest, LinesOfAFileCreatedByHandAfterItsDeletionAreForeign) {
  workspace_.commit_file("a.txt", "1\n");
  workspace_.commit([](Overlay& o) { OK(o.remove(rel("a.txt"))); });
  workspace_.write("a.txt", "1\n");
  EXPECT_EQ(origins("a.txt"), (Words{"+2"}));
}

TEST_F(BlameTest, AFileWithoutHistoryIsOlderAndABinaryFileIsRefused) {
  workspace_.write("a.txt", "1\n2\n");
  workspace_.write("empty", "");
  workspace_.write("bin", std::string("\0\1", 2));
  EXPECT_EQ(origins("a.txt"), (Words{"-", "-"}));
  EXPECT_TRUE(origins("empty").empty());
  EXPECT_EQ(blame(workspace_.history(), workspace_.root(), rel("bin")).error().reason,
            "blame.binary");
  EXPECT_EQ(blame(workspace_.history(), workspace_.root(), rel("none")).error().kind,
            ErrorKind::kNotFound);
}

}  // namespace
}  // namespace galley
