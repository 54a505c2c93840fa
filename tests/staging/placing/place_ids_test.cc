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

}  // namespace
}  // namespace galley
