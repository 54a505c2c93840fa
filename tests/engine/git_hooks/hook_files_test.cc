#include "engine/git_hooks/hook_files.h"

#include <gtest/gtest.h>

#include "doubles/memory_directory.h"

namespace galley {
namespace {

const std::string kTheirs = "#!/bin/sh\nexit 0\n";

RelPath name(const std::string& text) { return RelPath::parse(text).value(); }

class HookFilesTest : public testing::Test {
 protected:
  void put(const std::string& file, const std::string& text, uint32_t mode) {
    const auto made = hooks_->open_writable_file(name(file), OpenMode::kCreateNew, mode).value();
    ASSERT_TRUE(made->write_at(0, text));
    ASSERT_TRUE(made->set_mode(mode));
  }
  std::string text(const std::string& file) {
    return read_file(*hooks_, name(file), kMaxHookScriptBytes).value_or("(none)");
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    const std::vector<DirectoryEntry> entries = hooks_->list().value();
    for (const DirectoryEntry& entry : entries) found.push_back(entry.name);
    return found;
  }
  Result<std::vector<HookChange>> install() {
    GALLEY_ASSIGN(auto changes, files_.plan_install({kind_}));
    GALLEY_TRY(files_.carry_out(changes));
    return changes;
  }
  Result<std::vector<HookChange>> uninstall() {
    GALLEY_ASSIGN(auto changes, files_.plan_uninstall({kind_}));
    GALLEY_TRY(files_.carry_out(changes));
    return changes;
  }

  std::unique_ptr<WritableDirectory> hooks_ = make_memory_directory();
  HookFiles files_{*hooks_};
  const HookKind* kind_ = find_hook_kind("pre-commit");
};

TEST_F(HookFilesTest, AMissingHookIsWrittenAndRemovedAgain) {
  EXPECT_EQ(install().value().front().step, HookStep::kWrite);
  EXPECT_EQ(text("pre-commit"), hook_script(*kind_));
  EXPECT_EQ(hooks_->stat(name("pre-commit")).value().mode, 0755U);
  EXPECT_EQ(install().value().front().step, HookStep::kNothing);
  EXPECT_EQ(uninstall().value().front().step, HookStep::kRemove);
  EXPECT_TRUE(names().empty());
}

// Limit: kMaxHookScriptBytes of engine/git_hooks/hook_files.h
TEST_F(HookFilesTest, AFileBeyondTheLimitIsAnotherProgramsHook) {
  std::string large = hook_script(*kind_);
  large.resize(kMaxHookScriptBytes + 1, '\n');
  put("pre-commit", large, 0755);
  EXPECT_EQ(install().value().front().step, HookStep::kWriteAndKeep);
  EXPECT_EQ(hooks_->stat(name("pre-commit.before-galley")).value().size, large.size());
}

TEST_F(HookFilesTest, AForeignHookIsKeptAndRestoredUnchanged) {
  put("pre-commit", kTheirs, 0711);
  const FileStat before = hooks_->stat(name("pre-commit")).value();
  EXPECT_EQ(install().value().front().step, HookStep::kWriteAndKeep);
  EXPECT_EQ(names(), (std::vector<std::string>{"pre-commit", "pre-commit.before-galley"}));
  EXPECT_EQ(text("pre-commit.before-galley"), kTheirs);
  EXPECT_EQ(uninstall().value().front().step, HookStep::kRestore);
  EXPECT_EQ(names(), std::vector<std::string>{"pre-commit"});
  const FileStat after = hooks_->stat(name("pre-commit")).value();
  EXPECT_EQ(after.inode, before.inode);
  EXPECT_EQ(after.mode, before.mode);
  EXPECT_EQ(text("pre-commit"), kTheirs);
}

TEST_F(HookFilesTest, ALinkIsKeptAsALink) {
  ASSERT_TRUE(hooks_->make_symlink(name("pre-commit"), "../tool"));
  ASSERT_TRUE(install());
  EXPECT_EQ(hooks_->read_link(name("pre-commit.before-galley")).value(), "../tool");
  ASSERT_TRUE(uninstall());
  EXPECT_EQ(hooks_->read_link(name("pre-commit")).value(), "../tool");
}

TEST_F(HookFilesTest, AChangedHookIsNeitherReplacedNorRemoved) {
  put("pre-commit", hook_script(*kind_) + "echo mine\n", 0755);
  EXPECT_EQ(install().error().reason, "hook.changed");
  EXPECT_EQ(uninstall().error().reason, "hook.changed");
  EXPECT_EQ(text("pre-commit"), hook_script(*kind_) + "echo mine\n");
}

TEST_F(HookFilesTest, AnExistingFileWithTheNameOfTheKeptHookIsNotReplaced) {
  put("pre-commit", kTheirs, 0755);
  put("pre-commit.before-galley", "somebody's\n", 0644);
  EXPECT_EQ(install().error().reason, "hook.kept_exists");
  EXPECT_EQ(text("pre-commit"), kTheirs);
  EXPECT_EQ(text("pre-commit.before-galley"), "somebody's\n");
}

TEST_F(HookFilesTest, AnErrorInThePlanLeavesAllHooksUnchanged) {
  put("pre-push", hook_script(*find_hook_kind("pre-push")) + "x", 0755);
  EXPECT_FALSE(files_.plan_install({kind_, find_hook_kind("pre-push")}));
  EXPECT_EQ(names(), std::vector<std::string>{"pre-push"});
}

TEST_F(HookFilesTest, UninstallLeavesForeignHooks) {
  put("pre-commit", kTheirs, 0755);
  EXPECT_EQ(uninstall().value().front().step, HookStep::kNothing);
  EXPECT_EQ(text("pre-commit"), kTheirs);
}

TEST_F(HookFilesTest, AHookThatIsNotExecutableIsRenewed) {
  put("pre-commit", hook_script(*kind_), 0644);
  EXPECT_EQ(install().value().front().step, HookStep::kRenew);
  EXPECT_EQ(hooks_->stat(name("pre-commit")).value().mode, 0755U);
}

TEST_F(HookFilesTest, InstallCompletesAndUninstallRevertsAnInterruptedInstall) {
  for (const bool installs : {true, false}) {
    hooks_ = make_memory_directory();
    files_ = HookFiles(*hooks_);
    put("pre-commit", kTheirs, 0755);
    // Killed before the rename: the new file is there, and the old one has two names.
    put("pre-commit.galley-new", "half", 0600);
    ASSERT_TRUE(
        hooks_->make_hard_link(name("pre-commit"), *hooks_, name("pre-commit.before-galley")));
    ASSERT_TRUE(installs ? install() : uninstall());
    if (installs) {
      EXPECT_EQ(text("pre-commit"), hook_script(*kind_));
      EXPECT_EQ(text("pre-commit.before-galley"), kTheirs);
      ASSERT_TRUE(uninstall());
    }
    EXPECT_EQ(text("pre-commit"), kTheirs);
    EXPECT_EQ(text("pre-commit.before-galley"), "(none)");
  }
}

}  // namespace
}  // namespace galley
