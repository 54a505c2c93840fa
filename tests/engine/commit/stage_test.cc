#include "engine/commit/stage.h"

#include <gtest/gtest.h>

#include "engine/commit/leftovers.h"
#include "engine/commit/retire.h"
#include "staging/fs/fault_directory.h"
#include "staging/fs/memory_directory.h"
#include "support/commit_fixture.h"

namespace galley {
namespace {

TEST(Stage, IsHeldByOneAndAdoptedWhenItsStagerIsGone) {
  const auto workspace = make_memory_directory();
  const auto state = StateDirectory::open_or_create(*workspace);
  ASSERT_TRUE(state);
  std::string id;
  {
    auto stage = Stage::create(*state);
    ASSERT_TRUE(stage) << stage.error().message;
    id = stage->id();
    put_file(stage->directory(), "overlay", "bytes");
    const auto busy = Stage::adopt(*state, id);
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().reason, "stage.busy");
    EXPECT_TRUE(list_stages(*state)->at(0).is_held);
  }
  EXPECT_FALSE(list_stages(*state)->at(0).is_held);
  auto adopted = Stage::adopt(*state, id);
  ASSERT_TRUE(adopted);
  EXPECT_EQ(read_file(adopted->directory(), rel("overlay"), 100).value(), "bytes");
  ASSERT_TRUE(Stage::remove(*state, std::move(*adopted)));
  EXPECT_TRUE(list_stages(*state)->empty());
  for (const auto* hostile : {"../j", "0123456789ab", "", "x", "../../etc/passwd"}) {
    EXPECT_EQ(Stage::adopt(*state, hostile).error().reason, "stage.not_found") << hostile;
  }
}

TEST(Leftovers, OldStagesGoAndHeldOnesStay) {
  const auto workspace = make_memory_directory();
  const auto state = StateDirectory::open_or_create(*workspace);
  ASSERT_TRUE(state);
  const auto held = Stage::create(*state);
  ASSERT_TRUE(held);
  ASSERT_TRUE(Stage::create(*state));
  put_file(state->root(), "format.0000", "left by a kill");
  put_file(state->root(), "wait/0000", "");
  const SystemClock clock;
  const auto lock = WriterLock::take(*state, clock, std::chrono::milliseconds(0));
  ASSERT_TRUE(lock);
  // A memory tree's clock stands in 2001: everything in it is old.
  const auto dry = clear_leftovers(*workspace, *state, *lock, clock, std::chrono::hours(1), true);
  ASSERT_TRUE(dry) << dry.error().message;
  EXPECT_EQ(dry->stages.size(), 1U);
  EXPECT_EQ(dry->files.size(), 2U);
  EXPECT_EQ(list_stages(*state)->size(), 2U);
  const auto done = clear_leftovers(*workspace, *state, *lock, clock, std::chrono::hours(1), false);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->stages, dry->stages);
  ASSERT_EQ(list_stages(*state)->size(), 1U);
  EXPECT_EQ(list_stages(*state)->at(0).id, held->id());
  EXPECT_EQ(state->root().stat(rel("format.0000"))->kind, FileKind::kAbsent);
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

TEST(Publisher, FlushesTwiceHoweverManyFiles) {
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

TEST(Retire, FewFilesAreFlushedOneByOneAndManyAtOnce) {
  using Flushes = std::pair<size_t, size_t>;
  // Each file, its directory, and the root that got the directory.
  EXPECT_EQ(retiring_flushes(1, false), Flushes(3, 0));
  EXPECT_EQ(retiring_flushes(6, false), Flushes(8, 0));
  EXPECT_EQ(retiring_flushes(7, false), Flushes(0, 1));
  // A link has no descriptor to flush.
  EXPECT_EQ(retiring_flushes(1, true), Flushes(0, 1));
}

TEST(Retire, AFileThatIsGoneSinceIsFlushedWithEverything) {
  auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(make_memory_directory(), plan);
  ASSERT_TRUE(publish(*workspace, ChangeBuilder(*workspace).write("a", "1").proposal()));
  ASSERT_TRUE(workspace->remove_file(rel("a")));
  plan->calls.clear();
  ASSERT_TRUE(retire_all(*workspace));
  EXPECT_TRUE(std::any_of(plan->calls.begin(), plan->calls.end(),
                          [](const auto& call) { return call.name == "sync_file_system"; }));
}

TEST(Retire, AFlushThatFailsKeepsTheJournal) {
  auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(make_memory_directory(), plan);
  ASSERT_TRUE(publish(*workspace, ChangeBuilder(*workspace).write("a", "1").proposal()));
  plan->at = 1;
  plan->os_error = EIO;
  plan->is_lasting = true;
  plan->affects = [](const FaultCall& call) { return call.is_sync(); };
  plan->calls.clear();
  EXPECT_FALSE(retire_all(*workspace));
  const auto state = StateDirectory::open(*workspace);
  ASSERT_TRUE(state && *state);
  EXPECT_EQ(journal_ids((*state)->journals())->size(), 1U);
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

TEST(WriterLock, GoesToTheFirstThatWaitsAndDeadWaitersArePassedOver) {
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
