// Every patch of fixtures/patches: the good ones have the result that git apply has, and the
// hostile ones change nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "staging/formats/read_edits.h"
#include "staging/overlay/stage_edits.h"
#include "support/temp_directory.h"
#include "support/tree_state.h"

namespace galley {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> patches_in(const std::string& folder) {
  std::vector<fs::path> out;
  for (const auto& entry :
       fs::directory_iterator(GALLEY_SOURCE_DIR "/fixtures/patches/" + folder)) {
    if (entry.path().extension() == ".patch") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string test_name(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

void copy_project(const fs::path& to) {
  fs::copy(GALLEY_SOURCE_DIR "/fixtures/demo-project", to,
           fs::copy_options::recursive | fs::copy_options::copy_symlinks |
               fs::copy_options::overwrite_existing);
}

class GoodPatch : public ::testing::TestWithParam<fs::path> {};

TEST_P(GoodPatch, TheTreeEqualsThatOfGitApply) {
  const std::string text = slurp(GetParam());
  ReadOptions read;
  std::string flags;
  const std::string name = GetParam().filename().string();
  if (name == "16-p0.patch") {
    read.strip = 0;
    flags = "-p0 ";
  }
  if (name == "17-unidiff-zero.patch") {
    read.unidiff_zero = true;
    flags = "--unidiff-zero ";
  }
  TempDirectory ours;
  TempDirectory theirs;
  copy_project(ours.path());
  copy_project(theirs.path());
  const auto git = run_program(theirs.path(), "git apply " + flags + "-", text);
  ASSERT_EQ(git.status, 0) << git.output;
  SystemClock clock;
  Overlay overlay(ours.directory(), make_memory_store(), clock);
  const auto edits = read_edits(text, EditFormat::kAuto, read);
  ASSERT_TRUE(edits) << edits.error().message;
  const auto outcome = stage_edits(overlay, *edits, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(outcome->is_staged) << describe(*outcome);
  EXPECT_EQ(tree_state(overlay), tree_state(theirs.path()));
}
INSTANTIATE_TEST_SUITE_P(Fixtures, GoodPatch, ::testing::ValuesIn(patches_in("good")), test_name);

class HostilePatch : public ::testing::TestWithParam<fs::path> {};

TEST_P(HostilePatch, StagesNothingThatEscapes) {
  TempDirectory ours;
  copy_project(ours.path());
  SystemClock clock;
  Overlay overlay(ours.directory(), make_memory_store(), clock);
  const auto edits = read_edits(slurp(GetParam()), EditFormat::kAuto, {});
  if (!edits) {
    EXPECT_EQ(edits.error().kind, ErrorKind::kInvalid) << edits.error().message;
    return;
  }
  const auto outcome = stage_edits(overlay, *edits, {});
  if (GetParam().stem() == "symlink-outside") return;  // the gate's, not the overlay's, to refuse
  if (outcome) {
    EXPECT_FALSE(outcome->is_staged);
    EXPECT_FALSE(describe(*outcome).empty());
  } else {
    EXPECT_EQ(outcome.error().kind, ErrorKind::kInvalid) << outcome.error().message;
  }
  EXPECT_TRUE(overlay.changes().empty());
}
INSTANTIATE_TEST_SUITE_P(Fixtures, HostilePatch, ::testing::ValuesIn(patches_in("hostile")),
                         test_name);

}  // namespace
}  // namespace galley
