// A choice is for one place. If the place is gone, the edit is not made elsewhere.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "doubles/memory_directory.h"
#include "staging/formats/read_edits.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"

namespace galley {
namespace {

constexpr const char* kTwoPlaces = "one\n  return 1;\ntwo\n  return 1;\n";
constexpr const char* kOnePlace = "one\n  return 1;\ntwo\n  return 9;\n";
constexpr const char* kBlockOfTwo =
    "f\n<<<<<<< SEARCH\n  return 1;\n=======\n  return 2;\n>>>>>>> REPLACE\n";
constexpr const char* kHunkOfTwo = "--- a/f\n+++ b/f\n@@ ... @@\n-  return 1;\n+  return 2;\n";

Result<EditOutcome> staged_with(const std::string& text, const std::string& document,
                                const StageOptions& options) {
  auto workspace = make_memory_directory();
  auto opened = workspace->open_writable_file(*RelPath::parse("f"), OpenMode::kOpenOrCreate, 0644);
  EXPECT_TRUE(opened && (*opened)->write_at(0, text));
  const auto edits = read_edits(document, EditFormat::kAuto, {});
  EXPECT_TRUE(edits);
  SystemClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  auto outcome = stage_edits(overlay, *edits, options);
  EXPECT_EQ(overlay.changes().empty(), !outcome || !outcome->is_staged);
  return outcome;
}

TEST(VoidChoice, AnEditIsNotMadeAtAnotherPlace) {
  for (const std::string document : {kBlockOfTwo, kHunkOfTwo}) {
    const auto asked = staged_with(kTwoPlaces, document, {});
    ASSERT_TRUE(asked);
    StageOptions options;
    options.match.choices = {asked->files.at(0).failures.at(0).candidates.at(1).id};
    const auto chosen = staged_with(kTwoPlaces, document, options);
    ASSERT_TRUE(chosen);
    EXPECT_TRUE(chosen->is_staged);
    EXPECT_EQ(chosen->files.at(0).placements.at(0).line, 4U);
    const auto refused = staged_with(kOnePlace, document, options);
    ASSERT_FALSE(refused) << document;
    EXPECT_EQ(refused.error().reason, "patch.choice_void");
    options.may_have_void_choices = true;
    const auto other = staged_with(kOnePlace, document, options);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->void_choices, options.match.choices);
    // An edit that is ambiguous again names its places instead.
    options.may_have_void_choices = false;
    const auto again = staged_with("new\n" + std::string(kTwoPlaces), document, options);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->files.at(0).failures.at(0).reason, "patch.ambiguous");
  }
}

}  // namespace
}  // namespace galley
