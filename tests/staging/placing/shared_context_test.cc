// Hunks that show the same lines: what only one of them changes is clear, all else is refused.
#include <gtest/gtest.h>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

constexpr std::string_view kFile = "one\ntwo\nthree\nfour\nfive\nsix\n";

/// The file after the hunks, with the leniencies behind it; or the reason of the first refusal.
std::string placed(const std::string& hunks, MatchOptions options = {}) {
  const auto set = read_unified("--- a/f\n+++ b/f\n" + hunks, {});
  EXPECT_TRUE(set.has_value());
  if (!set) return {};
  const PlacedEdits made = place_edits(kFile, set->files.front(), options);
  if (!made.failures.empty()) return made.failures.front().reason;
  std::string out = made.splices.apply(kFile);
  for (const Leniency& leniency : made.leniencies) out += leniency.rule + "\n";
  return out;
}

const std::string kFirst = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";

TEST(SharedContext, AContextLineMayBelongToTwoHunks) {
  EXPECT_EQ(placed(kFirst + "@@ -3,3 +3,3 @@\n three\n-four\n+FOUR\n five\n"),
            "one\nTWO\nthree\nFOUR\nfive\nsix\nshared_context\n");
}

TEST(SharedContext, ALineThatOneHunkChangesMayBeContextOfTheOther) {
  EXPECT_EQ(placed(kFirst + "@@ -2,3 +2,3 @@\n two\n three\n-four\n+FOUR\n"),
            "one\nTWO\nthree\nFOUR\nfive\nsix\nshared_context\n");
  EXPECT_EQ(placed("@@ -1,4 +1,4 @@\n one\n-two\n+TWO\n three\n four\n"
                   "@@ -3,3 +3,3 @@\n three\n-four\n+FOUR\n five\n"),
            "one\nTWO\nthree\nFOUR\nfive\nsix\nshared_context\n");
}

TEST(SharedContext, TheSecondHunkMayShowTheLinesOfTheFirst) {
  EXPECT_EQ(placed(kFirst + "@@ -2,3 +2,3 @@\n TWO\n three\n-four\n+FOUR\n"),
            "one\nTWO\nthree\nFOUR\nfive\nsix\nshared_context\nshared_context\n");
}

TEST(SharedContext, HunksThatChangeTheSameLinesOrNeighboursAreRefused) {
  EXPECT_EQ(placed(kFirst + "@@ -2,2 +2,2 @@\n-two\n+zwei\n three\n"), "patch.out_of_order");
  EXPECT_EQ(placed("@@ -1,2 +1,3 @@\n one\n+1\n two\n@@ -1,2 +1,3 @@\n one\n+2\n two\n"),
            "patch.out_of_order")
      << "which of the new lines comes first?";
}

TEST(SharedContext, CanBeSwitchedOff) {
  MatchOptions options;
  options.strict = {"shared_context"};
  EXPECT_EQ(placed(kFirst + "@@ -3,3 +3,3 @@\n three\n-four\n+FOUR\n five\n", options),
            "patch.out_of_order");
}

}  // namespace
}  // namespace galley
