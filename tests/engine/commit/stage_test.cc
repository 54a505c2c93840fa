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

/// So that the next commit finds nothing to retire: that is not its own work.
void retire_first(const Directory& workspace) {
  const SystemClock clock;
  const auto state = StateDirectory::open(workspace);
  const auto lock = WriterLock::take(**state, clock, std::chrono::milliseconds(0));
  EXPECT_TRUE(retire(workspace, **state, *lock, {TxId{1}}, kBoot));
}

size_t flushes_of(Durability durability, int files) {
  auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(make_memory_directory(), plan);
  EXPECT_TRUE(publish(*workspace, ChangeBuilder(*workspace).write("first", "1").proposal()));
  ChangeBuilder change(*workspace);
  change.directory("d");
  for (int i = 0; i < files; ++i) change.write("d/f" + std::to_string(i), std::to_string(i));
  const Proposal proposal = change.proposal();
  retire_first(*workspace);
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

TEST(Publisher, ChangesNoPathBeforeTheJournalAndItsDirectoryAreSynced) {
  auto plan = std::make_shared<FaultPlan>();
  const auto workspace = make_fault_directory(make_memory_directory(), plan);
  put_file(*workspace, "a", "old");
  put_file(*workspace, "b", "old");
  ASSERT_TRUE(publish(*workspace, ChangeBuilder(*workspace).write("first", "1").proposal()));
  const Proposal proposal = ChangeBuilder(*workspace).write("a", "new").remove("b").proposal();
  retire_first(*workspace);
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
