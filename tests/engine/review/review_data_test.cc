#include "engine/review/review_data.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "staging/overlay/overlay.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using Json = nlohmann::ordered_json;

std::string numbered(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

class ReviewDataTest : public ::testing::Test {
 protected:
  Json data(const ReviewSubject& subject = {}, const ProposalDiffOptions& options = {}) {
    auto made = review_data(Proposal::freeze(overlay_), subject, options);
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
  void write(const std::string& path, const std::string& text) {
    EXPECT_TRUE(overlay_.write(rel(path), text));
  }
  static RelPath rel(const std::string& path) { return *RelPath::parse(path); }

  TempDirectory tree_;
  SystemClock clock_;
  Overlay overlay_{tree_.directory(), make_memory_store(), clock_};
};

TEST_F(ReviewDataTest, AHunkHasItsLinesAndNumbers) {
  tree_.write("a.txt", numbered(1, 20));
  std::string changed = numbered(1, 20);
  changed.replace(changed.find("line 10\n"), 8, "row 10\n");
  write("a.txt", changed);
  const Json file = data()["files"][0];
  EXPECT_EQ(file["added"], 1);
  ASSERT_EQ(file["parts"].size(), 3U);
  EXPECT_EQ(file["parts"][0]["kind"], "gap");
  EXPECT_EQ(file["parts"][0]["count"], 6);
  EXPECT_EQ(file["parts"][1]["new"], 7);
  EXPECT_EQ(file["parts"][1]["lines"], (Json{" line 7", " line 8", " line 9", "-line 10", "+row 10",
                                             " line 11", " line 12", " line 13"}));
  EXPECT_EQ(file["parts"][2]["lines"].size(), 7U);
}

TEST_F(ReviewDataTest, ALineWithoutANewlineIsMarked) {
  tree_.write("a.txt", "one");
  write("a.txt", "one\n");
  EXPECT_EQ(data()["files"][0]["parts"][0]["lines"], (Json{"-one", "\\", "+one"}));
}

TEST_F(ReviewDataTest, InvisibleCharactersAreMarkedInNamesAndLines) {
  write("a\xe2\x80\xae.txt", "x\xe2\x80\xae\r\n\xff\n");
  const Json file = data()["files"][0];
  EXPECT_EQ(file["path"], "a<U+202E>.txt");
  EXPECT_EQ(file["parts"][0]["lines"],
            (Json{"+x\033[7m<U+202E>\033[27m\033[7m^M\033[27m", "+\033[7m\\xff\033[27m"}));
}

// Limit: kMaxReviewLineBytes of engine/review/review_data.h
TEST_F(ReviewDataTest, ALongLineIsCutBetweenCharacters) {
  std::string line(kMaxReviewLineBytes - 1, 'x');
  line += "\xc3\xa9tail";
  write("a.txt", line + "\n");
  const std::string shown = data()["files"][0]["parts"][0]["lines"][0];
  EXPECT_EQ(shown,
            "+" + std::string(kMaxReviewLineBytes - 1, 'x') + "\033[7m… 6 more bytes\033[27m");
}

// Limit: kMaxFoldedLines of engine/review/review_data.h
TEST_F(ReviewDataTest, ALongRunOfUnchangedLinesIsOnlyCounted) {
  tree_.write("a.txt", numbered(1, 3000));
  write("a.txt", numbered(1, 3000) + "more\n");
  const Json gap = data()["files"][0]["parts"][0];
  EXPECT_GT(gap["count"], kMaxFoldedLines);
  EXPECT_FALSE(gap.contains("lines"));
}

TEST_F(ReviewDataTest, EachHunkHasTheNumberOfItsPiece) {
  tree_.write("a.txt", numbered(1, 40));
  write("a.txt", "first\n" + numbered(2, 39) + "last\n");
  write("b.txt", "new\n");
  const auto pieces = ProposalPieces::split(Proposal::freeze(overlay_));
  ASSERT_TRUE(pieces);
  ReviewSubject subject;
  subject.pieces = &*pieces;
  ProposalDiffOptions options;
  options.find_renames = false;
  const Json files = data(subject, options)["files"];
  EXPECT_EQ(files[0]["parts"][0]["piece"], 0);
  EXPECT_EQ(files[0]["parts"][2]["piece"], 1);
  EXPECT_EQ(files[1]["piece"], 2);
}

// Limit: kMaxReviewLines of engine/review/review_data.h
TEST_F(ReviewDataTest, TooManyLinesAreOnlyCounted) {
  std::string many;
  for (size_t i = 0; i <= kMaxReviewLines; ++i) many += "x\n";
  write("big.txt", many);
  write("small.txt", "x\n");
  const Json files = data()["files"];
  EXPECT_EQ(files[0]["too_long"], true);
  EXPECT_TRUE(files[0]["parts"].empty());
  EXPECT_EQ(files[1]["parts"].size(), 1U);
}

}  // namespace
}  // namespace galley
