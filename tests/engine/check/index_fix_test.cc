#include "engine/check/index_fix.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "staging/fs/fault_directory.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

/// A work tree with one file, whose fix is put into it while others write to it.
class FollowIndexTest : public ::testing::Test {
 protected:
  FollowIndexTest() { tree_.write("sub/a.txt", kJudged, 0755); }

  /// Follows. Right before the rename with each of these numbers somebody else writes the file.
  Result<bool> follow(const std::vector<size_t>& renames = {}) {
    auto plan = std::make_shared<FaultPlan>();
    auto opened = open_writable_disk_directory(tree_.path());
    const auto directory = make_fault_directory(*std::move(opened), plan);
    size_t written = 0;
    plan->before = [&] {
      tree_.write("sub/a.txt", "written " + std::to_string(++written) + "\n");
      plan->at = written < renames.size() ? renames[written] : 0;
    };
    plan->at = renames.empty() ? 0 : renames.front();
    auto followed = follow_index(*directory, {rel("sub/a.txt"), kJudged, kFixed, 0755});
    renames_.clear();
    for (size_t i = 0; i < plan->calls.size(); ++i) {
      if (plan->calls[i].name == "rename") renames_.push_back(i + 1);
    }
    return followed;
  }
  void put_back() { tree_.write("sub/a.txt", kJudged, 0755); }
  /// The names that lie beside the file.
  [[nodiscard]] std::vector<std::string> beside() const {
    std::vector<std::string> names;
    const auto folder = tree_.directory().open_directory(rel("sub"));
    const auto entries = (*folder)->list();
    for (const DirectoryEntry& entry : *entries) {
      if (entry.name != "a.txt") names.push_back("sub/" + entry.name);
    }
    return names;
  }

  static constexpr const char* kJudged = "judged\n";
  static constexpr const char* kFixed = "fixed\n";
  TempDirectory tree_;
  std::vector<size_t> renames_;  ///< numbers of the calls of the last run that renamed
};

TEST_F(FollowIndexTest, AFileThatHoldsWhatWasJudgedGetsTheFixAndKeepsItsMode) {
  const auto followed = follow();
  ASSERT_TRUE(followed.has_value()) << followed.error().message;
  EXPECT_TRUE(*followed);
  EXPECT_EQ(tree_.read("sub/a.txt"), kFixed);
  EXPECT_EQ(tree_.directory().stat(rel("sub/a.txt"))->mode & 0777U, 0755U);
  EXPECT_TRUE(beside().empty());
}

TEST_F(FollowIndexTest, AFileThatHoldsSomethingElseIsLeftAlone) {
  tree_.write("sub/a.txt", "other\n");
  const auto followed = follow();
  ASSERT_TRUE(followed.has_value());
  EXPECT_FALSE(*followed);
  EXPECT_EQ(tree_.read("sub/a.txt"), "other\n");
  EXPECT_TRUE(beside().empty());
}

TEST_F(FollowIndexTest, WhatIsWrittenWhileItIsFixedGoesBack) {
  ASSERT_TRUE(follow().has_value());
  ASSERT_EQ(renames_.size(), 1U);
  put_back();
  const auto followed = follow({renames_[0]});
  ASSERT_TRUE(followed.has_value()) << followed.error().message;
  EXPECT_FALSE(*followed);
  EXPECT_EQ(tree_.read("sub/a.txt"), "written 1\n");
  EXPECT_TRUE(beside().empty());
}

TEST_F(FollowIndexTest, WhatASecondOneWritesInBetweenIsKeptBesideAndNamed) {
  ASSERT_TRUE(follow().has_value());
  put_back();
  ASSERT_TRUE(follow({renames_[0]}).has_value());
  ASSERT_EQ(renames_.size(), 2U);
  put_back();
  const auto followed = follow({renames_[0], renames_[1]});
  ASSERT_FALSE(followed.has_value());
  EXPECT_EQ(followed.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(followed.error().reason, "check.file_changed");
  EXPECT_EQ(tree_.read("sub/a.txt"), "written 1\n");
  ASSERT_EQ(beside().size(), 1U);
  EXPECT_EQ(tree_.read(beside().front()), "written 2\n");
  EXPECT_NE(followed.error().message.find(beside().front()), std::string::npos)
      << followed.error().message;
}

}  // namespace
}  // namespace galley
