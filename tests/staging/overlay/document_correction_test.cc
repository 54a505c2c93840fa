// The correction of a whole document makes the same edit, or there is none.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "doubles/memory_directory.h"
#include "staging/formats/read_edits.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"

namespace galley {
namespace {

constexpr const char* kMadeAlready =
    "diff --git a/made b/made\n--- a/made\n+++ b/made\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

/// The correction of a document whose last edit was made already. "" if there is none.
std::string correction_with(const std::string& first_edit) {
  auto workspace = make_memory_directory();
  for (const auto& [name, text] : {std::pair{"made", "one\n2\nthree\n"}, {"a", "x\n"}}) {
    auto opened =
        workspace->open_writable_file(*RelPath::parse(name), OpenMode::kOpenOrCreate, 0644);
    EXPECT_TRUE(opened && (*opened)->write_at(0, text));
  }
  auto edits = read_edits(first_edit + kMadeAlready, EditFormat::kUnified, {});
  EXPECT_TRUE(edits) << edits.error().message;
  SystemClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  StageOptions options;
  options.is_corrected = true;
  const auto outcome = stage_edits(overlay, *edits, options);
  EXPECT_TRUE(outcome && !outcome->is_complete);
  return outcome->correction ? outcome->correction->document : "";
}

TEST(DocumentCorrection, LosesNoModeLinkOrEmptyFile) {
  const std::string hunk = "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-x\n+y\n";
  const std::string file = "--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+y\n";
  EXPECT_EQ(correction_with(hunk), hunk);
  EXPECT_EQ(correction_with(file), file);
  EXPECT_EQ(correction_with("diff --git a/a b/a\nold mode 100644\nnew mode 100755\n" + hunk), "");
  for (const std::string mode : {"100755", "120000"}) {
    EXPECT_EQ(correction_with("diff --git a/new b/new\nnew file mode " + mode + "\n" + file), "")
        << mode;
  }
  EXPECT_EQ(correction_with(hunk + "diff --git a/new b/new\nnew file mode 100644\n"), "");
}

}  // namespace
}  // namespace galley
