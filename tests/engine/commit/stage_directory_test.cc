#include "engine/commit/stage_directory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "doubles/fault_directory.h"
#include "doubles/memory_directory.h"
#include "engine/commit/leftovers.h"
#include "engine/commit/retire.h"
#include "support/commit_fixture.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

TEST(StageDirectory, CanBeAdoptedOnlyWhenItsHolderIsGone) {
  const auto workspace = make_memory_directory();
  const auto state = StateDirectory::open_or_create(*workspace);
  ASSERT_TRUE(state);
  std::string id;
  {
    auto stage = StageDirectory::create(*state);
    ASSERT_TRUE(stage) << stage.error().message;
    id = stage->id();
    put_file(stage->directory(), "overlay", "bytes");
    const auto busy = StageDirectory::adopt(*state, id);
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().reason, "stage.busy");
    EXPECT_TRUE(list_stages(*state)->at(0).is_held);
  }
  EXPECT_FALSE(list_stages(*state)->at(0).is_held);
  auto adopted = StageDirectory::adopt(*state, id);
  ASSERT_TRUE(adopted);
  EXPECT_EQ(read_file(adopted->directory(), rel("overlay"), 100).value(), "bytes");
  ASSERT_TRUE(StageDirectory::remove(*state, std::move(*adopted)));
  EXPECT_TRUE(list_stages(*state)->empty());
  for (const auto* hostile : {"../j", "0123456789ab", "", "x", "../../etc/passwd"}) {
    EXPECT_EQ(StageDirectory::adopt(*state, hostile).error().reason, "stage.not_found") << hostile;
  }
}

TEST(StageDirectory, ARemovedStateIsNamed) {
  const TempDirectory workspace;
  const auto state = StateDirectory::open_or_create(workspace.directory());
  ASSERT_TRUE(state);
  const std::string id = StageDirectory::create(*state)->id();
  std::filesystem::remove_all(workspace.path() + "/.galley");
  EXPECT_EQ(StageDirectory::create(*state).error().reason, "state.removed");
  EXPECT_EQ(StageDirectory::adopt(*state, id).error().reason, "state.removed");
}

TEST(StageDirectory, ModificationTimeIsThatOfItsNewestFile) {
  const auto workspace = make_memory_directory();
  const auto state = StateDirectory::open_or_create(*workspace);
  ASSERT_TRUE(state);
  const auto stage = StageDirectory::create(*state);
  ASSERT_TRUE(stage);
  put_file(stage->directory(), "overlay", "bytes");
  const int64_t before = list_stages(*state)->at(0).mtime_ns;
  const auto file = stage->directory().open_writable_file(rel("overlay"), OpenMode::kReadWrite);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at(5, " and more"));
  EXPECT_GT(list_stages(*state)->at(0).mtime_ns, before);
}

/// At each call of a creation another process lists the stages, and is slow to unlock them.
TEST(StageDirectory, CanBeCreatedWhileAnotherProcessListsStages) {
  for (size_t at = 1;; ++at) {
    const auto tree = std::make_shared<MemoryTree>();
    const auto raw = open_memory_tree(tree);
    auto plan = std::make_shared<FaultPlan>();
    const auto workspace = make_fault_directory(open_memory_tree(tree), plan);
    const auto state = StateDirectory::open_or_create(*workspace);
    ASSERT_TRUE(state);
    std::vector<std::unique_ptr<WritableFile>> locked;
    plan->at = plan->calls.size() + at;
    plan->before = [&] {
      const auto stages = raw->open_writable_directory(rel(".galley/" + state->own("stage").str()));
      const auto entries =
          stages ? (*stages)->list() : Result<std::vector<DirectoryEntry>>(Error());
      if (!entries) return;
      for (const DirectoryEntry& entry : *entries) {
        auto owner =
            (*stages)->open_writable_file(rel(entry.name + "/owner"), OpenMode::kReadWrite);
        if (!owner || !*(*owner)->try_lock(LockMode::kShared)) continue;
        locked.push_back(std::move(*owner));
      }
    };
    const auto stage = StageDirectory::create(*state);
    ASSERT_TRUE(stage) << at << ": " << stage.error().message;
    EXPECT_TRUE(locked.empty()) << at;
    EXPECT_EQ(StageDirectory::adopt(*state, stage->id()).error().reason, "stage.busy");
    if (plan->calls.size() < plan->at) break;
  }
}

/// Its creator replaces `owner` by the file that it has locked, after another process opened it.
TEST(StageDirectory, AnOwnerFileThatWasReplacedGivesNoHold) {
  const auto tree = std::make_shared<MemoryTree>();
  const auto raw = open_memory_tree(tree);
  const auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(open_memory_tree(tree), plan);
  const auto state = StateDirectory::open_or_create(*workspace);
  ASSERT_TRUE(state);
  const std::string id = StageDirectory::create(*state)->id();
  plan->calls.clear();
  ASSERT_TRUE(StageDirectory::adopt(*state, id));
  const auto lock = std::find_if(plan->calls.begin(), plan->calls.end(),
                                 [](const FaultCall& call) { return call.name == "try_lock"; });
  plan->at = plan->calls.size() + static_cast<size_t>(lock - plan->calls.begin()) + 1;
  std::unique_ptr<WritableFile> locked;
  plan->before = [&] {
    const auto stage =
        raw->open_writable_directory(rel(".galley/" + state->own("stage/" + id).str()));
    locked = (*stage)->open_writable_file(rel("owner.new"), OpenMode::kCreateNew, 0600).value();
    ASSERT_TRUE(*locked->try_lock(LockMode::kExclusive));
    ASSERT_TRUE((*stage)->rename(rel("owner.new"), **stage, rel("owner"), RenameMode::kReplace));
  };
  EXPECT_EQ(StageDirectory::adopt(*state, id).error().reason, "stage.busy");
  EXPECT_NE(locked, nullptr);
}

TEST(Leftovers, OldStagesAreRemovedAndHeldOnesStay) {
  const auto workspace = make_memory_directory();
  const auto state = StateDirectory::open_or_create(*workspace);
  ASSERT_TRUE(state);
  const auto held = StageDirectory::create(*state);
  ASSERT_TRUE(held);
  ASSERT_TRUE(StageDirectory::create(*state));
  put_file(state->root(), "format.0000", "left by a kill");
  put_file(state->root(), "wait/0000", "");
  const SystemClock clock;
  auto lock = WriterLock::take(*state, clock, std::chrono::milliseconds(0));
  ASSERT_TRUE(lock);
  // The clock of a memory tree says 2001, so everything in it is old.
  const auto dry = clear_leftovers(*workspace, *state, *lock, clock, {std::chrono::hours(1), true});
  ASSERT_TRUE(dry) << dry.error().message;
  EXPECT_EQ(dry->stages.size(), 1U);
  EXPECT_EQ(dry->files.size(), 2U);
  EXPECT_EQ(list_stages(*state)->size(), 2U);
  const auto done = clear_leftovers(*workspace, *state, *lock, clock, {std::chrono::hours(1)});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->stages, dry->stages);
  ASSERT_EQ(list_stages(*state)->size(), 1U);
  EXPECT_EQ(list_stages(*state)->at(0).id, held->id());
  EXPECT_EQ(state->root().stat(rel("format.0000"))->kind, FileKind::kAbsent);
}

TEST(Leftovers, AStageThatACommandUsedSinceTheListStays) {
  const SystemClock clock;
  for (size_t at = 1;; ++at) {
    const TempDirectory tree;
    const auto plain = StateDirectory::open_or_create(tree.directory());
    ASSERT_TRUE(plain);
    std::string id;
    {
      const auto stage = StageDirectory::create(*plain);
      put_file(stage->directory(), "about", "a transaction");
      put_file(stage->directory(), "overlay", "old");
      id = stage->id();
    }
    const std::string folder = tree.path() + "/.galley/" + plain->own("stage/" + id).str();
    const auto long_ago = std::filesystem::last_write_time(folder) - std::chrono::hours(48);
    std::filesystem::last_write_time(folder + "/overlay", long_ago);
    std::filesystem::last_write_time(folder, long_ago);
    const auto plan = std::make_shared<FaultPlan>();
    const auto root = make_fault_directory(*open_writable_disk_directory(tree.path()), plan);
    const auto state = StateDirectory::open(*root);
    ASSERT_TRUE(state && *state);
    auto lock = WriterLock::take(**state, clock, std::chrono::milliseconds(0));
    plan->calls.clear();
    plan->at = at;
    bool is_used = false;
    plan->before = [&] {
      const auto stage = StageDirectory::adopt(*plain, id);
      // A stage whose removal has begun has lost its description, and is not used.
      if (!stage || stage->directory().stat(rel("about"))->kind == FileKind::kAbsent) return;
      put_file(stage->directory(), "overlay", "new");
      is_used = true;
    };
    ASSERT_TRUE(clear_leftovers(*root, **state, *lock, clock, {std::chrono::hours(24)}));
    EXPECT_EQ(std::filesystem::exists(folder), is_used) << "used at call " << at;
    if (plan->calls.size() < at) break;
  }
}

size_t flushes_of(Durability durability, int files) {
  auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(make_memory_directory(), plan);
  EXPECT_TRUE(publish(*workspace, ChangeBuilder(*workspace).write("first", "1").proposal()));
  ChangeBuilder change(*workspace);
  change.directory("d");
  for (int i = 0; i < files; ++i) change.write("d/f" + std::to_string(i), std::to_string(i));
  const Proposal proposal = change.proposal();
  // Retiring the first is not the second's own work.
  EXPECT_TRUE(retire_all(*workspace));
  plan->calls.clear();
  PublisherOptions options = test_options();
  options.durability = durability;
  EXPECT_TRUE(publish(*workspace, proposal, options));
  return static_cast<size_t>(std::count_if(plan->calls.begin(), plan->calls.end(),
                                           [](const auto& call) { return call.is_sync(); }));
}

TEST(Publisher, FlushesAtMostTwiceForAnyNumberOfFiles) {
  for (const int files : {1, 10, 100}) {
    EXPECT_EQ(flushes_of(Durability::kFull, files), 2U) << files;
    EXPECT_EQ(flushes_of(Durability::kGroup, files), 1U) << files;
    EXPECT_EQ(flushes_of(Durability::kNone, files), 0U) << files;
  }
}

/// How the tree is flushed when a commit of `files` new files retires: one by one, and all at once.
std::pair<size_t, size_t> retiring_flushes(int files, bool adds_link) {
  auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(make_memory_directory(), plan);
  ChangeBuilder change(*workspace);
  change.directory("d");
  for (int i = 0; i < files; ++i) change.write("d/f" + std::to_string(i), std::to_string(i));
  if (adds_link) change.link("link", "d");
  EXPECT_TRUE(publish(*workspace, change.proposal()));
  plan->calls.clear();
  EXPECT_TRUE(retire_all(*workspace));
  const auto count = [&](bool is_whole) {
    return static_cast<size_t>(
        std::count_if(plan->calls.begin(), plan->calls.end(), [&](const auto& call) {
          return call.is_sync() && (call.name == "sync_file_system") == is_whole;
        }));
  };
  return {count(false), count(true)};
}

TEST(Retire, FewFilesAreFlushedOneByOneAndManyTogether) {
  using Flushes = std::pair<size_t, size_t>;
  // Each file, its directory, and the root that got the directory.
  EXPECT_EQ(retiring_flushes(1, false), Flushes(3, 0));
  EXPECT_EQ(retiring_flushes(6, false), Flushes(8, 0));
  EXPECT_EQ(retiring_flushes(7, false), Flushes(0, 1));
  // A link cannot be opened to flush it.
  EXPECT_EQ(retiring_flushes(1, true), Flushes(0, 1));
}

TEST(Retire, AMissingFileCausesAFlushOfTheWholeFileSystem) {
  auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(make_memory_directory(), plan);
  ASSERT_TRUE(publish(*workspace, ChangeBuilder(*workspace).write("a", "1").proposal()));
  ASSERT_TRUE(workspace->remove_file(rel("a")));
  plan->calls.clear();
  ASSERT_TRUE(retire_all(*workspace));
  EXPECT_TRUE(std::any_of(plan->calls.begin(), plan->calls.end(),
                          [](const auto& call) { return call.name == "sync_file_system"; }));
}

/// A committed "a" and "dir/b" whose first flush, when they are retired, fails.
class UnflushedCommit : public testing::Test {
 protected:
  void SetUp() override { commit_and_fail(); }

  void commit_and_fail() {
    plan_ = std::make_shared<FaultPlan>();
    workspace_ = make_fault_directory(make_memory_directory(), plan_);
    plan_->os_error = EIO;
    plan_->is_lasting = true;
    plan_->affects = [](const FaultCall& call) { return call.is_sync(); };
    put_file(*workspace_, "a", "old");
    put_file(*workspace_, "dir/c", "another's");
    const auto proposal = ChangeBuilder(*workspace_).write("a", "1").write("dir/b", "2").proposal();
    ASSERT_TRUE(publish(*workspace_, proposal));
    fail_syncs(true);
    EXPECT_EQ(retire_all(*workspace_).error().os_error, EIO);
    fail_syncs(false);
    ASSERT_EQ(pending(), 1U);
  }

  void fail_syncs(bool fails) {
    plan_->calls.clear();
    plan_->at = fails ? 1 : 0;
    plan_->has_failed = false;
  }
  [[nodiscard]] size_t pending() const {
    const auto state = StateDirectory::open(*workspace_);
    return journal_ids((*state)->journals())->size();
  }
  [[nodiscard]] uint64_t inode(std::string_view path) const {
    return workspace_->stat(rel(path))->inode;
  }

  std::shared_ptr<FaultPlan> plan_;
  std::unique_ptr<WritableDirectory> workspace_;
};

// The kernel tells a failed write-back once: flushing the same inode again would succeed falsely.
TEST_F(UnflushedCommit, IsRewrittenBeforeItIsFlushedAgain) {
  const TreePicture committed = picture_of(*workspace_);
  for (int failures = 0; failures < 3; ++failures) {
    const uint64_t a = inode("a");
    const uint64_t b = inode("dir/b");
    const bool fails = failures < 2;
    // The first flush of what is retired: the new files are flushed one by one before it.
    plan_->affects = [](const FaultCall& call) { return call.is_sync() && call.path == "a"; };
    fail_syncs(fails);
    EXPECT_EQ(reopen(*workspace_).has_value(), !fails);
    EXPECT_NE(inode("a"), a);
    EXPECT_NE(inode("dir/b"), b);
    EXPECT_EQ(picture_of(*workspace_), committed);
  }
  EXPECT_EQ(pending(), 0U);
}

TEST_F(UnflushedCommit, IsNotRetiredBeforeARecovery) {
  const uint64_t a = inode("a");
  ASSERT_TRUE(retire_all(*workspace_));
  EXPECT_EQ(pending(), 1U);
  EXPECT_EQ(inode("a"), a);
}

TEST_F(UnflushedCommit, IsRewrittenByTheNextCommit) {
  const uint64_t a = inode("a");
  ASSERT_TRUE(publish(*workspace_, ChangeBuilder(*workspace_).write("c", "3").proposal()));
  EXPECT_NE(inode("a"), a);
  EXPECT_EQ(pending(), 1U);
}

TEST_F(UnflushedCommit, DoesNotRewriteFilesThatTheUserChangedSince) {
  save_file(*workspace_, "a", "mine");
  put_file(*workspace_, "a.old", "old");
  const uint64_t a = inode("a");
  const uint64_t b = inode("dir/b");
  const auto report = reopen(*workspace_);
  ASSERT_TRUE(report);
  EXPECT_EQ(inode("a"), a);
  EXPECT_NE(inode("dir/b"), b);
  EXPECT_EQ(read_file(*workspace_, rel("a"), 100).value(), "mine");
  EXPECT_EQ(pending(), 0U);
}

TEST_F(UnflushedCommit, ADryRunReportsTheFilesToRewrite) {
  const uint64_t a = inode("a");
  const auto report = reopen(*workspace_, kBoot, true);
  ASSERT_TRUE(report);
  EXPECT_EQ(
      std::count_if(report->actions.begin(), report->actions.end(),
                    [](const auto& action) { return action.kind == RecoveryAction::Kind::kPut; }),
      2);
  EXPECT_EQ(inode("a"), a);
}

TEST_F(UnflushedCommit, SurvivesAKillBeforeEveryCallOfItsRecovery) {
  const TreePicture committed = picture_of(*workspace_);
  size_t kills = 0;
  for (bool was_killed = true; was_killed; ++kills) {
    commit_and_fail();
    const uint64_t a = inode("a");
    plan_->calls.clear();
    plan_->at = kills + 1;
    plan_->kills = true;
    static_cast<void>(reopen(*workspace_));
    was_killed = plan_->is_dead;
    plan_->is_dead = false;
    plan_->at = 0;
    ASSERT_TRUE(reopen(*workspace_)) << kills;
    ASSERT_TRUE(retire_all(*workspace_)) << kills;
    EXPECT_EQ(picture_of(*workspace_), committed) << kills;
    EXPECT_NE(inode("a"), a) << kills;
    EXPECT_EQ(pending(), 0U) << kills;
  }
  EXPECT_GT(kills, 50U);
}

TEST_F(UnflushedCommit, IsNotRewrittenAfterARebootIfTheDiskIsCorrect) {
  const uint64_t a = inode("a");
  ASSERT_TRUE(reopen(*workspace_, "the-next-boot"));
  EXPECT_EQ(inode("a"), a);
  EXPECT_EQ(pending(), 0U);
}

TEST_F(UnflushedCommit, IsRewrittenIfItsCompletionCouldNotBeRecorded) {
  plan_ = std::make_shared<FaultPlan>();
  workspace_ = make_fault_directory(make_memory_directory(), plan_);
  put_file(*workspace_, "a", "old");
  const auto proposal = ChangeBuilder(*workspace_).write("a", "1").proposal();
  // The journal is written in one go; what is written to it next is APPLIED.
  PublisherOptions options = test_options();
  options.before_apply = [&] {
    plan_->calls.clear();
    plan_->at = 1;
    plan_->os_error = ENOSPC;
    plan_->is_lasting = true;
    plan_->affects = [](const FaultCall& call) {
      return call.name == "write_at" && call.path == "1.j";
    };
  };
  ASSERT_TRUE(publish(*workspace_, proposal, options));
  ASSERT_TRUE(plan_->has_failed);
  plan_->os_error = EIO;
  plan_->affects = [](const FaultCall& call) { return call.is_sync(); };
  fail_syncs(true);
  EXPECT_EQ(retire_all(*workspace_).error().os_error, EIO);
  fail_syncs(false);
  const uint64_t a = inode("a");
  ASSERT_TRUE(reopen(*workspace_));
  EXPECT_NE(inode("a"), a) << "flushed again, which succeeds falsely";
  EXPECT_EQ(picture_of(*workspace_)["a"], "f 644 1");
  EXPECT_EQ(pending(), 0U);
}

TEST(Session, IsTheBootAndTheMount) {
  const std::string here = "boot@7@mnt:[1]";
  EXPECT_TRUE(is_same_session(here, here));
  EXPECT_FALSE(is_same_session("other@7@mnt:[1]", here));
  EXPECT_FALSE(is_same_session("boot@8@mnt:[1]", here)) << "mounted anew";
  EXPECT_TRUE(is_same_session("boot@8@mnt:[2]", here)) << "a container's mount of the same";
  EXPECT_TRUE(is_same_session("boot", here)) << "noted by an older Galley";
  EXPECT_FALSE(is_same_session("other", here));
  EXPECT_FALSE(is_same_session("", ""));
  EXPECT_FALSE(is_same_session("", here));
}

TEST(Recovery, NeverFlushesAJournalWhoseFlushMayHaveFailed) {
  auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(make_memory_directory(), plan);
  PublisherOptions options = test_options();
  options.before_apply = [&] { plan->at = plan->calls.size() + 1; };
  plan->kills = true;
  EXPECT_FALSE(publish(*workspace, ChangeBuilder(*workspace).write("a", "1").proposal(), options));
  plan->is_dead = false;
  plan->kills = false;
  plan->at = 0;
  const auto state = StateDirectory::open(*workspace);
  const auto ids = journal_ids((*state)->journals());
  ASSERT_EQ(ids->size(), 1U);
  const auto inode = [&](const WritableDirectory& directory) {
    return directory.stat(journal_name(ids->front()))->inode;
  };
  const uint64_t written = inode((*state)->journals());
  ASSERT_TRUE(reopen(*workspace));
  EXPECT_NE(inode((*state)->undo()), written);
  EXPECT_EQ(read_file(*workspace, rel("a"), 100).value(), "1");
}

TEST(Publisher, ChangesNoPathBeforeTheJournalAndItsDirectoryAreSynced) {
  auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(make_memory_directory(), plan);
  put_file(*workspace, "a", "old");
  put_file(*workspace, "b", "old");
  ASSERT_TRUE(publish(*workspace, ChangeBuilder(*workspace).write("first", "1").proposal()));
  const Proposal proposal = ChangeBuilder(*workspace).write("a", "new").remove("b").proposal();
  ASSERT_TRUE(retire_all(*workspace));
  plan->calls.clear();
  ASSERT_TRUE(publish(*workspace, proposal));
  int syncs = 0;
  int renames = 0;
  for (const auto& call : plan->calls) {
    if (call.is_sync()) ++syncs;
    if (call.name != "rename") continue;
    ++renames;
    EXPECT_EQ(syncs, 2) << call.path;
  }
  EXPECT_EQ(renames, 2);
}

TEST(WriterLock, DeadWaitersAreSkippedAndRemoved) {
  const auto workspace = make_memory_directory();
  const auto state = StateDirectory::open_or_create(*workspace);
  const SystemClock clock;
  put_file(state->root(), "wait/0000000000000000-dead", "");
  const auto lock = WriterLock::take(*state, clock, std::chrono::milliseconds(1000));
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_EQ(state->root().stat(rel("wait/0000000000000000-dead"))->kind, FileKind::kAbsent);
}

}  // namespace
}  // namespace galley
