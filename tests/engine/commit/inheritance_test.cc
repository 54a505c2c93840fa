#include "engine/commit/inheritance.h"

#include <gtest/gtest.h>

#include "doubles/memory_directory.h"
#include "support/commit_fixture.h"

namespace galley {
namespace {

constexpr uint32_t kUserGroup = 1000;
constexpr uint32_t kMine = 2000;
constexpr uint32_t kForeign = 3000;
constexpr uint32_t kKeep = UINT32_MAX;

/// A workspace of a user who is not root.
class InheritanceFacts : public testing::Test {
 protected:
  void SetUp() override {
    tree_ = std::make_shared<MemoryTree>();
    tree_->user = MemoryUser{geteuid(), kUserGroup, {kMine}};
    workspace_ = open_memory_tree(tree_);
  }

  void make_file(std::string_view name, uint32_t mode, uint32_t gid) {
    put_file(*workspace_, name, "old", mode);
    const AsRoot as_root(*workspace_);
    ASSERT_TRUE(workspace_->set_owner(rel(name), kKeep, gid));
  }

  Receipt commit(const Proposal& proposal, const CommitMeta& meta = {}) {
    auto outcome = publish(*workspace_, proposal, test_options(), meta);
    EXPECT_TRUE(outcome && std::holds_alternative<Receipt>(*outcome))
        << (outcome ? "a conflict" : outcome.error().message);
    return std::get<Receipt>(*outcome);
  }

  /// Removes a file and undoes that.
  Receipt remove_and_undo(std::string_view name) {
    const Proposal back = [&] {
      ChangeBuilder change(*workspace_);
      change.remove(name);
      const Proposal removal = change.proposal();
      Change reverse = removal.changes().front();
      std::swap(reverse.before, reverse.after);
      CommitMeta meta;
      removed_ = commit(removal, meta).id;
      reverse.base = {};
      return Proposal::from({reverse}, removal.store());
    }();
    CommitMeta undo;
    undo.undoes = removed_;
    return commit(back, undo);
  }

  FileStat stat(std::string_view name) { return *workspace_->stat(rel(name)); }

  TxId removed_;
  std::shared_ptr<MemoryTree> tree_;
  std::unique_ptr<WritableDirectory> workspace_;
};

TEST_F(InheritanceFacts, AChangedFileKeepsAGroupOfItsUser) {
  make_file("f", 0664, kMine);
  const Receipt receipt = commit(ChangeBuilder(*workspace_).write("f", "new", 0664).proposal());
  EXPECT_EQ(stat("f").gid, kMine);
  EXPECT_EQ(stat("f").mode, 0664U);
  EXPECT_TRUE(receipt.warnings.empty());
}

TEST_F(InheritanceFacts, AFileThatLosesItsGroupGivesNoUserMoreRights) {
  make_file("f", 0675, kForeign);
  const Receipt receipt = commit(ChangeBuilder(*workspace_).write("f", "new", 0675).proposal());
  EXPECT_EQ(stat("f").gid, kUserGroup);
  EXPECT_EQ(stat("f").mode, 0655U);
  ASSERT_EQ(receipt.warnings.size(), 1U);
  EXPECT_NE(receipt.warnings[0].find("'f' could not be given its group 3000"), std::string::npos)
      << receipt.warnings[0];
  EXPECT_NE(receipt.warnings[0].find("655 instead of 675"), std::string::npos);
}

TEST_F(InheritanceFacts, TheJournalRecordsTheActualMetadata) {
  make_file("f", 0660, kForeign);
  commit(ChangeBuilder(*workspace_).write("f", "new", 0660).proposal());
  const auto before = picture_of(*workspace_);
  EXPECT_EQ(before.at("f"), "f 600 new");
  // Under another boot every path is compared once more.
  ASSERT_TRUE(reopen(*workspace_, "the next boot"));
  EXPECT_EQ(picture_of(*workspace_), before);
}

TEST_F(InheritanceFacts, UndoingADeletionRestoresTheGroup) {
  make_file("f", 0660, kMine);
  const Receipt receipt = remove_and_undo("f");
  EXPECT_EQ(stat("f").gid, kMine);
  EXPECT_EQ(stat("f").mode, 0660U);
  EXPECT_TRUE(receipt.warnings.empty());
}

TEST_F(InheritanceFacts, UndoingADeletionWithoutItsGroupGivesNoUserMoreRights) {
  make_file("f", 0670, kForeign);
  const Receipt receipt = remove_and_undo("f");
  EXPECT_EQ(stat("f").gid, kUserGroup);
  EXPECT_EQ(stat("f").mode, 0600U);
  EXPECT_EQ(receipt.warnings.size(), 1U);
}

TEST_F(InheritanceFacts, UndoingADeletionRestoresAttributes) {
  make_file("f", 0644, kUserGroup);
  ASSERT_TRUE(workspace_->set_attribute(rel("f"), {"user.note", "mine"}));
  remove_and_undo("f");
  const auto attributes = workspace_->attributes(rel("f"));
  ASSERT_TRUE(attributes);
  EXPECT_EQ(*attributes, (std::vector<ExtendedAttribute>{{"user.note", "mine"}}));
}

TEST_F(InheritanceFacts, NewDirectoriesInheritTheSetGroupIdBitAndTheGroup) {
  ASSERT_TRUE(workspace_->make_directory(rel("shared"), 0775));
  ASSERT_TRUE(workspace_->set_owner(rel("shared"), kKeep, kMine));
  ASSERT_TRUE(workspace_->set_mode(rel("shared"), 02775));
  ChangeBuilder change(*workspace_);
  change.directory("shared/d").directory("shared/d/e").write("shared/d/e/f", "f");
  change.directory("plain");
  commit(change.proposal());
  for (const auto* name : {"shared/d", "shared/d/e"}) {
    EXPECT_EQ(stat(name).mode, 02755U) << name;
    EXPECT_EQ(stat(name).gid, kMine) << name;
  }
  EXPECT_EQ(stat("shared/d/e/f").gid, kMine);
  EXPECT_EQ(stat("plain").mode, 0755U);
}

TEST_F(InheritanceFacts, AMovedDirectoryKeepsWhatProtectsIt) {
  for (const auto* name : {"d", "d/in", "other"}) {
    ASSERT_TRUE(workspace_->make_directory(rel(name), 0775));
    ASSERT_TRUE(workspace_->set_owner(rel(name), kKeep, kMine));
    ASSERT_TRUE(workspace_->set_mode(rel(name), 03775));
  }
  make_file("d/in/f", 0644, kMine);
  make_file("d/g", 0644, kMine);
  make_file("other/h", 0644, kMine);
  ChangeBuilder change(*workspace_);
  change.directory("new").directory("new/e", 0775).directory("new/e/in", 0775);
  change.rename("d/in/f", "new/e/in/f").rename("d/g", "new/e/g");
  change.remove("d/in").remove("d");
  // If some files move and their directory stays, the directory was not moved.
  change.directory("part", 0775).rename("other/h", "part/h");
  commit(change.proposal());
  for (const auto* name : {"new/e", "new/e/in"}) {
    EXPECT_EQ(stat(name).mode, 03775U) << name;
    EXPECT_EQ(stat(name).gid, kMine) << name;
  }
  EXPECT_EQ(stat("new").mode, 0755U);
  EXPECT_EQ(stat("part").mode, 0775U);
}

TEST_F(InheritanceFacts, ADirectoryOfFilesFromSeveralIsNew) {
  for (const auto* name : {"a", "b"}) {
    ASSERT_TRUE(workspace_->make_directory(rel(name), 0775));
    ASSERT_TRUE(workspace_->set_mode(rel(name), 01775));
    make_file(std::string(name) + "/f" + name, 0644, kUserGroup);
  }
  ChangeBuilder change(*workspace_);
  change.directory("c", 0775).rename("a/fa", "c/fa").rename("b/fb", "c/fb").remove("a").remove("b");
  commit(change.proposal());
  EXPECT_EQ(stat("c").mode, 0775U);
}

}  // namespace
}  // namespace galley
