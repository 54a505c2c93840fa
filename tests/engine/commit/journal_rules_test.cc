#include "engine/commit/journal_rules.h"

#include <gtest/gtest.h>

#include "doubles/memory_directory.h"
#include "staging/fs/user_state.h"
#include "support/commit_fixture.h"

namespace galley {
namespace {

constexpr uint32_t kStranger = 4711;
const ExtendedAttribute kCapability{"security.capability", "any"};

/// A workspace with one file, and a journal that says something about `path`.
class JournalRules : public testing::Test {
 protected:
  void SetUp() override {
    put_file(*workspace_, "a", "old");
    state_.emplace(*StateDirectory::open_or_create(*workspace_));
    journal_.id = TxId{9};
    own_ = *workspace_->stat(rel("a"));
  }

  [[nodiscard]] JournalSide side(FileKind kind, const std::string& content = "") {
    JournalSide made;
    made.node = Node{kind, 0644, ContentId::of(content), content.size()};
    made.uid = own_.uid;
    made.gid = own_.gid;
    journal_.images.emplace(made.node.content, std::make_shared<const std::string>(content));
    return made;
  }
  void change(std::string_view path, JournalSide before, JournalSide after) {
    JournalOp op;
    op.path = rel(path);
    op.before = std::move(before);
    op.after = std::move(after);
    journal_.ops.push_back(std::move(op));
  }
  [[nodiscard]] std::string broken(JournalTrust trust = JournalTrust::kOwn) {
    const auto found = broken_rule(*workspace_, *state_, journal_, trust);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or("an error");
  }

  std::unique_ptr<WritableDirectory> workspace_ = make_memory_directory();
  std::optional<StateDirectory> state_;
  Journal journal_;
  FileStat own_;
};

TEST_F(JournalRules, AFileMayKeepOnlyAttributesThatItHad) {
  JournalSide before = side(FileKind::kRegular, "old");
  before.attributes = {kCapability};
  JournalSide after = side(FileKind::kRegular, "new");
  after.attributes = {kCapability, {"user.note", "any"}};
  change("a", before, after);
  EXPECT_EQ(broken(), "");
  // The existing file has none, and a foreign journal does not prove that it had one.
  EXPECT_NE(broken(JournalTrust::kForeign), "");
  ASSERT_TRUE(workspace_->set_attribute(rel("a"), kCapability));
  EXPECT_EQ(broken(JournalTrust::kForeign), "");
  journal_.ops[0].after.attributes[0].value = "another";
  EXPECT_NE(broken(), "");
}

TEST_F(JournalRules, ANewFileMustNotGetATrustedAttribute) {
  JournalSide after = side(FileKind::kRegular, "new");
  after.attributes = {{"trusted.overlay.opaque", "y"}};
  change("b", JournalSide{}, after);
  EXPECT_NE(broken(), "");
}

TEST_F(JournalRules, AnUndoMayRestoreTheAttributesOfADeletedFile) {
  ASSERT_TRUE(workspace_->set_attribute(rel("a"), kCapability));
  const auto done = publish(*workspace_, ChangeBuilder(*workspace_).remove("a").proposal());
  ASSERT_TRUE(done && std::holds_alternative<Receipt>(*done));
  JournalSide after = side(FileKind::kRegular, "old");
  after.attributes = {kCapability};
  change("a", JournalSide{}, after);
  EXPECT_EQ(broken(), "");
  EXPECT_NE(broken(JournalTrust::kForeign), "");
  journal_.ops[0].path = rel("b");
  EXPECT_NE(broken(), "");
}

TEST_F(JournalRules, AnUndoMayRestoreALinkThatLedOutside) {
  ASSERT_TRUE(workspace_->make_symlink(rel("python"), "/usr/bin/python3"));
  const auto done = publish(*workspace_, ChangeBuilder(*workspace_).remove("python").proposal());
  ASSERT_TRUE(done && std::holds_alternative<Receipt>(*done));
  change("python", JournalSide{}, side(FileKind::kSymlink, "/usr/bin/python3"));
  EXPECT_EQ(broken(), "");
  EXPECT_NE(broken(JournalTrust::kForeign), "");
  journal_.ops[0].path = rel("b");
  EXPECT_NE(broken(), "");
  journal_.ops.clear();
  change("python", JournalSide{}, side(FileKind::kSymlink, "/etc/passwd"));
  EXPECT_NE(broken(), "");
}

TEST_F(JournalRules, AFileMustNotGetAnOwnerThatItDidNotHave) {
  if (!is_root_user()) GTEST_SKIP() << "only root can give files away";
  JournalSide after = side(FileKind::kRegular, "new");
  after.uid = kStranger;
  change("a", side(FileKind::kRegular, "old"), after);
  EXPECT_NE(broken(), "");
  journal_.ops[0].before.uid = kStranger;
  EXPECT_EQ(broken(), "");
  EXPECT_NE(broken(JournalTrust::kForeign), "");
  ASSERT_TRUE(workspace_->set_owner(rel("a"), kStranger, own_.gid));
  EXPECT_EQ(broken(JournalTrust::kForeign), "");
}

TEST_F(JournalRules, ARenamedDirectoryKeepsWhatTheOldOneHad) {
  JournalSide folder = side(FileKind::kDirectory);
  folder.node = Node{FileKind::kDirectory, 0755, {}, 0};
  folder.attributes = {kCapability};
  if (is_root_user()) folder.uid = kStranger;
  JournalSide file = side(FileKind::kRegular, "f");
  if (is_root_user()) file.uid = kStranger;
  change("d", folder, {});
  change("d/e", folder, {});
  change("d/e/f", file, {});
  change("z", {}, folder);
  change("z/e", {}, folder);
  change("z/e/f", {}, file);
  journal_.ops.back().renamed_from = rel("d/e/f");
  EXPECT_EQ(broken(), "");
  EXPECT_NE(broken(JournalTrust::kForeign), "");
  journal_.ops.back().renamed_from = rel("d/e");
  EXPECT_NE(broken(), "") << "no file shows that z was d";
}

TEST_F(JournalRules, AStagedOwnerCountsOnlyInAnOwnJournal) {
  if (!is_root_user()) GTEST_SKIP() << "only root can give files away";
  JournalSide after = side(FileKind::kRegular, "old");
  after.uid = kStranger;
  after.node.owner = Node::Owner{after.uid, after.gid};
  change("a", side(FileKind::kRegular, "old"), after);
  EXPECT_EQ(broken(), "");
  EXPECT_NE(broken(JournalTrust::kForeign), "");
}

TEST_F(JournalRules, ALinkMustNotLeadOutsideTheWorkspace) {
  change("l", JournalSide{}, side(FileKind::kSymlink, "a"));
  EXPECT_EQ(broken(), "");
  EXPECT_EQ(broken(JournalTrust::kForeign), "");
  for (const char* target : {"/etc", "../x", ".git/hooks", "d/../../x"}) {
    journal_.ops.clear();
    change("l", JournalSide{}, side(FileKind::kSymlink, target));
    EXPECT_NE(broken(), "") << target;
  }
  journal_.images.clear();
  EXPECT_NE(broken(), "");
}

TEST_F(JournalRules, AnAbortMayRestoreALinkThatLeadsOutside) {
  JournalSide before = side(FileKind::kSymlink, "/etc");
  change("l", before, JournalSide{});
  journal_.is_aborted = true;
  EXPECT_EQ(broken(), "");
  EXPECT_NE(broken(JournalTrust::kForeign), "");
  ASSERT_TRUE(workspace_->make_symlink(rel("l"), "/etc"));
  EXPECT_EQ(broken(JournalTrust::kForeign), "");
}

}  // namespace
}  // namespace galley
