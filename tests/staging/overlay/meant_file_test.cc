// The file that is meant by an edit without a usable name.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "staging/formats/read_edits.h"
#include "staging/fs/memory_directory.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"

namespace galley {
namespace {

constexpr const char* kThreeLines = "one\ntwo\nthree\n";

/// Returns the file that an answer changes; "" if it is refused. The files are in the root.
std::string meant_file(const std::string& answer,
                       const std::vector<std::pair<std::string, std::string>>& files) {
  auto workspace = make_memory_directory();
  for (const auto& [name, text] : files) {
    auto opened =
        workspace->open_writable_file(*RelPath::parse(name), OpenMode::kOpenOrCreate, 0644);
    EXPECT_TRUE(opened && (*opened)->write_at(0, text));
  }
  auto edits = read_edits(answer, EditFormat::kAuto, {});
  EXPECT_TRUE(edits);
  SystemClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  const auto outcome = stage_edits(overlay, *edits, {});
  EXPECT_TRUE(outcome);
  return outcome->is_staged ? outcome->files.at(0).path : "";
}

constexpr const char* kNamelessDiff =
    "--- original\n+++ fixed\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

TEST(MeantFile, AFileByOneRuleIsNoBetterThanOneByAnother) {
  const std::string answer =
      "Unlike a.c, which is fine, fix the other.\n\n" + std::string(kNamelessDiff);
  EXPECT_EQ(meant_file(answer, {{"a.c", kThreeLines}, {"b.c", kThreeLines}}), "");
  EXPECT_EQ(meant_file(answer, {{"a.c", kThreeLines}, {"b.c", "other\n"}}), "a.c");
  EXPECT_EQ(meant_file(kNamelessDiff, {{"a.c", "other\n"}, {"b.c", kThreeLines}}), "b.c");
}

TEST(MeantFile, AFileThatIsNotMentionedIsNotTakenForOneThatDoesNotFit) {
  const std::string answer = "In a.c:\n\n" + std::string(kNamelessDiff);
  EXPECT_EQ(meant_file(answer, {{"a.c", "other\n"}, {"b.c", kThreeLines}}), "");
}

}  // namespace
}  // namespace galley
