// Edits that do not fit say which earlier version of the file they were made on.
#include "staging/overlay/earlier_version.h"

#include <gtest/gtest.h>

#include "staging/formats/read_edits.h"
#include "staging/overlay/stage_edits.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

constexpr const char* kOld = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
constexpr const char* kNow = "one\n2\nthree\nfour\nfive\nsix\nseven\n";
constexpr const char* kPatch =
    "--- a/f\n+++ b/f\n@@ ... @@\n one\n-two\n three\n@@ ... @@\n five\n-six\n+6\n seven\n";
/// Changes a line that stands apart from the one that changed since.
constexpr const char* kApart =
    "--- a/f\n+++ b/f\n@@ ... @@\n one\n two\n three\n four\n five\n-six\n+6\n seven\n";

std::vector<EarlierVersion> versions() {
  return {{"2", false, std::make_shared<const std::string>(kNow)},
          {"2", true, std::make_shared<const std::string>("nothing like it\n")},
          {"1", false, std::make_shared<const std::string>(kOld)}};
}

class EarlierVersionTest : public ::testing::Test {
 protected:
  EditOutcome stage(const std::string& patch, const std::string& now) {
    tree_.write("f", now);
    const auto set = read_unified(patch, {});
    EXPECT_TRUE(set) << set.error().message;
    StageOptions options;
    options.match.last_step = MatchStep::kOffset;
    options.earlier = [this](const RelPath& path) {
      asked_.push_back(path.str());
      return versions();
    };
    Overlay overlay(tree_.directory(), make_memory_store(), clock_);
    auto outcome = stage_edits(overlay, *set, options);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return *outcome;
  }

  TempDirectory tree_;
  SystemClock clock_;
  std::vector<std::string> asked_;
};

TEST_F(EarlierVersionTest, IsReportedWithTheLaterChangesAndARebasedEdit) {
  const EditOutcome outcome = stage(kApart, kNow);
  ASSERT_EQ(outcome.files.size(), 1U);
  const auto& earlier = outcome.files[0].earlier;
  ASSERT_TRUE(earlier);
  EXPECT_EQ(earlier->transaction, "1");
  EXPECT_FALSE(earlier->is_before);
  EXPECT_NE(earlier->changes.find("-two\n+2\n"), std::string::npos) << earlier->changes;
  // The suggested edit makes the intended change.
  tree_.write("f", kNow);
  const EditOutcome again = stage(earlier->rebased, kNow);
  EXPECT_TRUE(again.is_staged) << earlier->rebased << describe(again);
  EXPECT_NE(describe(outcome).find("as it was after transaction 1"), std::string::npos)
      << describe(outcome);
}

TEST_F(EarlierVersionTest, IsReportedWithoutARebaseWhenBothChangedTheSameLines) {
  const EditOutcome outcome = stage(kPatch, kNow);
  ASSERT_TRUE(outcome.files[0].earlier);
  EXPECT_EQ(outcome.files[0].earlier->transaction, "1");
  EXPECT_EQ(outcome.files[0].earlier->rebased, "");
}

TEST_F(EarlierVersionTest, IsNotSearchedWhenTheEditsFit) {
  const EditOutcome outcome = stage(kPatch, kOld);
  EXPECT_TRUE(outcome.is_staged);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(EarlierVersionTest, IsAbsentWhenNoVersionFits) {
  const EditOutcome outcome = stage("--- a/f\n+++ b/f\n@@ ... @@\n-never was\n+x\n", kNow);
  EXPECT_EQ(asked_, std::vector<std::string>{"f"});
  EXPECT_FALSE(outcome.files[0].earlier);
}

}  // namespace
}  // namespace galley
