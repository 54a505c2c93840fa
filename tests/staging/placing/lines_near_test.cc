// Hunks with a mistake that add a line which the file has near the place.
#include <gtest/gtest.h>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

constexpr std::string_view kEntries =
    "{\"undo\", [](World& w) {\n"
    "   w.undo();\n"
    " }},\n"
    "{\"redo\", [](World& w) {\n"
    "   w.redo();\n"
    "   w.commit();\n"
    " }},\n"
    "{\"begin\", begins},\n"
    "{\"retry\", retries},\n"
    "{\"end\", ends},\n";

/// The file after the hunk, or the reason of its refusal.
std::string placed_among_entries(const std::string& lines) {
  const auto set = read_unified("--- a/f\n+++ b/f\n@@ @@\n" + lines, {});
  EXPECT_TRUE(set.has_value());
  if (!set) return {};
  const PlacedEdits made = place_edits(kEntries, set->files.front(), {});
  return made.failures.empty() ? made.splices.apply(kEntries) : made.failures.front().reason;
}

TEST(LinesNear, DoNotMatterIfAllLinesOfTheHunkAreThere) {
  std::string wanted(kEntries);
  wanted.insert(wanted.find("{\"begin\""), "{\"other\", [](World& w) {\n   w.redo();\n }},\n");
  EXPECT_EQ(placed_among_entries(" 6:    w.commit();\n 7:  }},\n+8: {\"other\", [](World& w) {\n"
                                 "+9:    w.redo();\n+10:  }},\n 11: {\"begin\", begins},\n"),
            wanted)
      << "with line numbers";
}

TEST(LinesNear, FarFromTheirOwnPlaceTheyAreNoEvidence) {
  std::string wanted(kEntries);
  wanted.insert(wanted.find("{\"end\""), "   w.undo();\n");
  EXPECT_EQ(placed_among_entries(
                " {\"undo\", [](World& w) {\n ...\n {\"begin\", begins},\n {\"retry\", retries},\n"
                "+   w.undo();\n {\"end\", ends},\n"),
            wanted);
}

TEST(LinesNear, AreEvidenceOfAnAppliedPart) {
  EXPECT_EQ(placed_among_entries(
                " {\"undo\", [](World& w) {\n ...\n {\"begin\", begins},\n {\"retry\", retries},\n"
                "+   w.commit();\n {\"end\", ends},\n"),
            "patch.doubtful_place");
}

}  // namespace
}  // namespace galley
