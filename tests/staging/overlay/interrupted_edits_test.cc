#include <gtest/gtest.h>

#include "doubles/memory_directory.h"
#include "staging/formats/read_edits.h"
#include "staging/overlay/stage_edits.h"

namespace galley {
namespace {

/// A file of numbered lines, and hunks of it whose line numbers are all wrong.
class InterruptedEdits : public ::testing::Test {
 protected:
  static constexpr int kLines = 200;
  InterruptedEdits() {
    std::string text;
    for (int i = 0; i < kLines; ++i) text += "line " + std::to_string(i) + "\n";
    EXPECT_TRUE(overlay_.write(*RelPath::parse("a.txt"), std::move(text)));
  }
  static std::string hunk(int line) {
    const std::string number = std::to_string(line);
    return "@@ -1 +1 @@\n-line " + number + "\n+LINE " + number + "\n";
  }
  static std::string patch() {
    return "--- a/a.txt\n+++ b/a.txt\n" + hunk(20) + hunk(80) + hunk(140);
  }
  /// Stages, and says no to going on after so many questions.
  Result<EditOutcome> stage(const std::string& document, int questions) {
    const auto set = read_edits(document, EditFormat::kUnified, {});
    EXPECT_TRUE(set);
    StageOptions options;
    asked_ = 0;
    options.is_over = [this, questions] { return ++asked_ > questions; };
    return stage_edits(overlay_, *set, options);
  }
  std::string content() { return **overlay_.read(*RelPath::parse("a.txt")); }

  SystemClock clock_;
  std::unique_ptr<WritableDirectory> workspace_ = make_memory_directory();
  Overlay overlay_{*workspace_, make_memory_store(), clock_};
  int asked_ = 0;
};

TEST_F(InterruptedEdits, AStopBetweenHunksStagesNothing) {
  const std::string before = content();
  const auto whole = stage(patch(), 1'000'000);
  ASSERT_TRUE(whole);
  ASSERT_TRUE(whole->is_complete) << describe(*whole);
  const int needed = asked_;
  EXPECT_GE(needed, 4) << "it is asked before each hunk";
  EXPECT_TRUE(overlay_.write(*RelPath::parse("a.txt"), before));
  for (int questions = 0; questions < needed; ++questions) {
    const auto stopped = stage(patch(), questions);
    ASSERT_FALSE(stopped) << questions;
    EXPECT_EQ(stopped.error().kind, ErrorKind::kTimeout);
    EXPECT_EQ(stopped.error().reason, "edit.interrupted");
    EXPECT_EQ(content(), before) << questions;
  }
}

TEST_F(InterruptedEdits, AStopBetweenFilesStagesNothing) {
  std::string document;
  for (int i = 0; i < 3; ++i) {
    document += "--- /dev/null\n+++ b/new" + std::to_string(i) + "\n@@ -0,0 +1 @@\n+x\n";
  }
  const ChangeSet before = overlay_.changes();
  const auto stopped = stage(document, 3);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().reason, "edit.interrupted");
  EXPECT_EQ(overlay_.changes(), before);
}

}  // namespace
}  // namespace galley
