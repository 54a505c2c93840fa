#include "engine/stages/stored_stage.h"

#include <gtest/gtest.h>

#include "base/result.h"
#include "doubles/fault_directory.h"
#include "doubles/memory_directory.h"
#include "engine/commit/leftovers.h"
#include "engine/stages/savepoints.h"
#include "staging/fs/replace_file.h"
#include "support/commit_fixture.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

constexpr std::chrono::milliseconds kAtOnce{0};
const StageHeader kAbout{"tester", "to see what stays", 1};

/// A workspace in memory with one stored transaction that has a file staged.
class StoredStageTest : public testing::Test {
 protected:
  StoredStageTest() : tree_(std::make_shared<MemoryTree>()), root_(open_memory_tree(tree_)) {
    put_file(*root_, "a.txt", "old\n");
    const auto state = open_state(*root_);
    auto stage = StoredStage::create(state, kAbout);
    GALLEY_CHECK(stage.has_value());
    parent_ = stage->id();
    Overlay overlay(*root_, stage->contents(), clock_);
    GALLEY_CHECK(overlay.write(rel("a.txt"), "new\n").has_value());
    GALLEY_CHECK(stage->save(overlay.entries()).has_value());
  }

  static StateDirectory open_state(const WritableDirectory& root) {
    auto state = StateDirectory::open_or_create(root);
    GALLEY_CHECK(state.has_value());
    return *std::move(state);
  }
  StateDirectory state() const { return open_state(*root_); }

  /// Returns the text that a stored transaction proposes for a.txt, or an empty one if it cannot be
  /// resumed.
  std::string staged_in(const std::string& id) {
    auto stage = StoredStage::open(state(), id, kAtOnce);
    const auto entries = stage ? stage->load() : Result<Overlay::Entries>(stage.error());
    if (!entries) return "";
    Overlay overlay(*root_, stage->contents(), clock_);
    overlay.restore(*entries);
    const auto content = overlay.read(rel("a.txt"));
    return content ? **content : content.error().message;
  }
  std::string fork_of(const std::string& id) {
    auto stage = StoredStage::open(state(), id, kAtOnce);
    GALLEY_CHECK(stage.has_value());
    const auto child = stage->fork(state(), kAbout);
    GALLEY_CHECK(child.has_value());
    return child->id();
  }
  Result<void> drop(const WritableDirectory& root, const std::string& id) {
    const StateDirectory there = open_state(root);
    GALLEY_ASSIGN(StoredStage stage, StoredStage::open(there, id, kAtOnce));
    return StoredStage::remove(there, std::move(stage));
  }
  LeftoverReport collect(std::chrono::hours max_age) {
    const StateDirectory there = state();
    auto lock = WriterLock::take(there, clock_, kAtOnce);
    GALLEY_CHECK(lock.has_value());
    auto report = clear_leftovers(*root_, there, *lock, clock_, {max_age});
    GALLEY_CHECK(report.has_value());
    return *std::move(report);
  }
  std::vector<std::string> names_below(const std::string& path) {
    const auto directory = state().root().open_writable_directory(state().own(path));
    std::vector<std::string> names;
    if (!directory) return names;
    const auto entries = (*directory)->list();
    GALLEY_CHECK(entries.has_value());
    for (const auto& entry : *entries) names.push_back(entry.name);
    return names;
  }

  static constexpr std::chrono::hours kLong{24 * 365 * 100};
  static constexpr std::chrono::hours kEverything{1};  // a memory tree's clock says 2001
  SystemClock clock_;
  std::shared_ptr<MemoryTree> tree_;
  std::unique_ptr<WritableDirectory> root_;
  std::string parent_;
};

// Limit: kMaxGitMessageBytes of engine/stages/stored_stage.h
TEST(GitMessage, IsKeptUpToTheLimit) {
  const auto stage = make_memory_directory();
  const std::string message(kMaxGitMessageBytes, 'x');
  ASSERT_TRUE(write_git_message(*stage, message).has_value());
  EXPECT_EQ(write_git_message(*stage, message + "x").error().reason, "limit.git_message");
  EXPECT_EQ(*read_git_message(*stage), message);
}

// Limit: kMaxCommentsBytes of engine/stages/stored_stage.h
TEST(ReviewComments, AreKeptUpToTheLimitAndReplaceEarlierOnes) {
  const auto stage = make_memory_directory();
  EXPECT_TRUE(read_comments(*stage)->empty());
  const std::vector<ReviewComment> few = {{"a\tb:3", "why\n\"so\"?"}, {"d", "\xc3\xa9"}};
  ASSERT_TRUE(write_comments(*stage, few));
  EXPECT_EQ(*read_comments(*stage), few);
  const std::vector<ReviewComment> many(kMaxCommentsBytes / 1000, {"a", std::string(1000, 'x')});
  EXPECT_EQ(write_comments(*stage, many).error().reason, "limit.comments");
  EXPECT_EQ(*read_comments(*stage), few);
  ASSERT_TRUE(write_comments(*stage, {}));
  EXPECT_TRUE(read_comments(*stage)->empty());
  for (const std::string_view text : {"", "[1]", "{}", "[{\"on\":1,\"text\":\"x\"}]"}) {
    ASSERT_TRUE(replace_file(*stage, "comments", std::string(text)));
    EXPECT_EQ(read_comments(*stage).error().reason, "stage.damaged") << text;
  }
}

TEST_F(StoredStageTest, AStageWhoseCommitIsInTheHistoryHasEnded) {
  const Proposal proposal = ChangeBuilder(*root_).write("a.txt", "new\n").proposal();
  const auto note = [&](uint64_t number) {
    const auto stage = StoredStage::open(state(), parent_, kAtOnce);
    ASSERT_TRUE(stage && stage->note_commit(TxId{number}, proposal.id()));
  };
  note(1);
  EXPECT_EQ(staged_in(parent_), "new\n") << "noted, and then not committed";
  const auto done = publish(*root_, proposal);
  ASSERT_TRUE(done && std::holds_alternative<Receipt>(*done));
  const auto gone = StoredStage::open(state(), parent_, kAtOnce);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().reason, "stage.not_found");
  EXPECT_FALSE(StoredStage::look_at(state(), parent_));
}

TEST_F(StoredStageTest, AForkDoesNotNeedItsParent) {
  const std::string child = fork_of(parent_);
  const std::string grandchild = fork_of(child);
  ASSERT_TRUE(drop(*root_, parent_));
  EXPECT_EQ(staged_in(child), "new\n");
  ASSERT_TRUE(drop(*root_, child));
  EXPECT_TRUE(collect(kLong).files.empty());
  EXPECT_EQ(staged_in(grandchild), "new\n");
  ASSERT_TRUE(drop(*root_, grandchild));
  EXPECT_TRUE(names_below("contents").empty()) << "the last one takes the contents along";
}

TEST_F(StoredStageTest, AForkDoesNotChangeItsParent) {
  const std::string child = fork_of(parent_);
  {
    auto stage = StoredStage::open(state(), child, kAtOnce);
    ASSERT_TRUE(stage);
    Overlay overlay(*root_, stage->contents(), clock_);
    ASSERT_TRUE(overlay.write(rel("a.txt"), "another\n"));
    ASSERT_TRUE(stage->save(overlay.entries()));
  }
  EXPECT_EQ(staged_in(parent_), "new\n");
  EXPECT_EQ(staged_in(child), "another\n");
  ASSERT_TRUE(drop(*root_, child));
  EXPECT_EQ(staged_in(parent_), "new\n");
}

TEST_F(StoredStageTest, AForkCopiesAndLinksNoContent) {
  const auto before = names_below("contents");
  const auto plan = std::make_shared<FaultPlan>();
  const auto counted = make_fault_directory(open_memory_tree(tree_), plan);
  const StateDirectory there = open_state(*counted);
  const auto calls_of_a_fork = [&] {
    auto stage = StoredStage::open(there, parent_, kAtOnce);
    plan->calls.clear();
    EXPECT_TRUE(stage->fork(there, kAbout));
    return plan->calls.size();
  };
  const size_t with_one = calls_of_a_fork();
  {
    auto stage = StoredStage::open(there, parent_, kAtOnce);
    Overlay overlay(*root_, stage->contents(), clock_);
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(overlay.write(rel("f" + std::to_string(i)), std::to_string(i)));
    }
    ASSERT_TRUE(stage->save(overlay.entries()));
  }
  EXPECT_EQ(calls_of_a_fork(), with_one);
  EXPECT_EQ(names_below("contents"), before);
}

TEST_F(StoredStageTest, AKillDuringAForkKeepsTheParentAndLeavesAWholeChildOrNone) {
  size_t whole = 0;
  for (size_t at = 1;; ++at) {
    const auto plan = std::make_shared<FaultPlan>();
    const auto spoiled = make_fault_directory(open_memory_tree(tree_), plan);
    {
      const StateDirectory there = open_state(*spoiled);
      auto stage = StoredStage::open(there, parent_, kAtOnce);
      ASSERT_TRUE(stage);
      plan->calls.clear();
      plan->at = at;
      plan->kills = true;
      static_cast<void>(stage->fork(there, kAbout));
    }
    const std::string where = "killed before call " + std::to_string(at);
    ASSERT_EQ(staged_in(parent_), "new\n") << where;
    const auto stages = list_stages(state());
    ASSERT_TRUE(stages) << where;
    for (const StageInfo& info : *stages) {
      if (info.id == parent_) continue;
      const std::string staged = staged_in(info.id);
      ASSERT_TRUE(staged.empty() || staged == "new\n") << where << ": " << staged;
      if (!staged.empty()) ++whole;
      const auto stage = StageDirectory::adopt(state(), info.id);
      ASSERT_TRUE(stage) << where;
    }
    // The parent is old, but a process holds it, so it stays with its contents.
    {
      auto held = StoredStage::open(state(), parent_, kAtOnce);
      ASSERT_TRUE(held);
      collect(kEverything);
    }
    ASSERT_EQ(names_below("stage"), std::vector<std::string>{parent_}) << where;
    ASSERT_EQ(names_below("contents"), std::vector<std::string>{parent_}) << where;
    ASSERT_EQ(staged_in(parent_), "new\n") << where;
    if (!plan->is_dead) break;
  }
  EXPECT_GE(whole, 1U);
}

TEST_F(StoredStageTest, AKillDuringTheRemovalOfItsParentKeepsAForkWhole) {
  for (size_t at = 1;; ++at) {
    const std::string doomed = fork_of(parent_);
    const std::string child = fork_of(doomed);
    const auto plan = std::make_shared<FaultPlan>();
    const auto spoiled = make_fault_directory(open_memory_tree(tree_), plan);
    plan->at = at;
    plan->kills = true;
    {
      auto there = StateDirectory::open_or_create(*spoiled);
      auto stage =
          there ? StoredStage::open(*there, doomed, kAtOnce) : Result<StoredStage>(there.error());
      if (stage) static_cast<void>(StoredStage::remove(*there, *std::move(stage)));
    }
    const std::string where = "killed before call " + std::to_string(at);
    ASSERT_EQ(staged_in(child), "new\n") << where;
    ASSERT_EQ(staged_in(parent_), "new\n") << where;
    if (!plan->is_dead) break;
    {
      auto held = StoredStage::open(state(), child, kAtOnce);
      auto parent = StoredStage::open(state(), parent_, kAtOnce);
      ASSERT_TRUE(held && parent) << where;
      collect(kEverything);
    }
    ASSERT_EQ(names_below("stage").size(), 2U) << where;
    ASSERT_EQ(staged_in(child), "new\n") << where;
    ASSERT_TRUE(drop(*root_, child)) << where;
  }
}

TEST_F(StoredStageTest, GcClearsTheContentsAfterAKillDuringTheLastRemoval) {
  for (size_t at = 1;; ++at) {
    const auto tree = std::make_shared<MemoryTree>();
    const auto root = open_memory_tree(tree);
    std::string id;
    {
      const auto there = open_state(*root);
      const auto stage = StoredStage::create(there, kAbout);
      ASSERT_TRUE(stage);
      ASSERT_TRUE(stage->contents()->put("bytes"));
      id = stage->id();
    }
    const auto plan = std::make_shared<FaultPlan>();
    const auto spoiled = make_fault_directory(open_memory_tree(tree), plan);
    plan->at = at;
    plan->kills = true;
    {
      auto there = StateDirectory::open_or_create(*spoiled);
      auto stage =
          there ? StoredStage::open(*there, id, kAtOnce) : Result<StoredStage>(there.error());
      if (stage) static_cast<void>(StoredStage::remove(*there, *std::move(stage)));
    }
    const StateDirectory there = open_state(*root);
    auto lock = WriterLock::take(there, clock_, kAtOnce);
    ASSERT_TRUE(lock);
    ASSERT_TRUE(clear_leftovers(*root, there, *lock, clock_, {kEverything}));
    for (const char* folder : {"stage", "contents"}) {
      const auto left = there.root().open_writable_directory(there.own(folder));
      ASSERT_TRUE(!left || (*left)->list()->empty()) << at << ": " << folder;
    }
    if (!plan->is_dead) break;
  }
}

/// A workspace on the disk, where a removed directory accepts no file, with one empty transaction.
class EndingStage : public testing::Test {
 protected:
  EndingStage()
      : state_(opened(tree_.directory())), id_(StoredStage::create(state_, kAbout)->id()) {}

  static StateDirectory opened(const WritableDirectory& root) {
    auto state = StateDirectory::open_or_create(root);
    GALLEY_CHECK(state.has_value());
    return *std::move(state);
  }
  [[nodiscard]] Result<void> drop() const {
    GALLEY_ASSIGN(StoredStage stage, StoredStage::open(state_, id_, kAtOnce));
    return StoredStage::remove(state_, std::move(stage));
  }
  /// A second view of the same files, whose calls follow the plan.
  [[nodiscard]] std::unique_ptr<WritableDirectory> planned(std::shared_ptr<FaultPlan> plan) const {
    return make_fault_directory(open_writable_disk_directory(tree_.path()).value(),
                                std::move(plan));
  }

  TempDirectory tree_;
  StateDirectory state_;
  std::string id_;
};

TEST_F(EndingStage, IsNotFoundByAProcessThatOpensItMeanwhile) {
  size_t ended = 0;
  for (size_t at = 1;; ++at) {
    const auto plan = std::make_shared<FaultPlan>();
    const auto root = planned(plan);
    const StateDirectory there = opened(*root);
    bool is_dropped = false;
    plan->at = plan->calls.size() + at;
    plan->before = [&] { is_dropped = drop().has_value(); };
    const auto stage = StoredStage::open(there, id_, kAtOnce);
    EXPECT_NE(stage.has_value(), is_dropped) << at;
    if (!stage) {
      EXPECT_EQ(stage.error().reason, "stage.not_found") << at << stage.error().message;
      ended += stage.error().message.find("has just ended") != std::string::npos ? 1 : 0;
    }
    if (plan->calls.size() < plan->at) break;
    if (is_dropped) id_ = StoredStage::create(state_, kAbout)->id();
  }
  EXPECT_GE(ended, 1U);
}

TEST_F(EndingStage, IsRemovedWholeWhileOtherProcessesTryToOpenIt) {
  for (size_t at = 1;; ++at) {
    const auto plan = std::make_shared<FaultPlan>();
    const auto root = planned(plan);
    const StateDirectory there = opened(*root);
    auto stage = StoredStage::open(there, id_, kAtOnce);
    ASSERT_TRUE(stage);
    plan->at = plan->calls.size() + at;
    plan->before = [&] {
      const auto other = StoredStage::open(state_, id_, kAtOnce);
      ASSERT_FALSE(other) << at;
      const std::string& reason = other.error().reason;
      EXPECT_TRUE(reason == "stage.busy" || reason == "stage.not_found")
          << at << other.error().message;
    };
    const auto removed = StoredStage::remove(there, *std::move(stage));
    EXPECT_TRUE(removed) << at << ": " << removed.error().message;
    EXPECT_TRUE(list_stages(state_)->empty()) << at;
    if (plan->calls.size() < plan->at) break;
    id_ = StoredStage::create(state_, kAbout)->id();
  }
}

/// An entry that needs no file.
Overlay::Entry made(uint64_t size) {
  Overlay::Entry entry;
  entry.now = Node{FileKind::kRegular, 0644, ContentId::of(std::to_string(size)), size};
  return entry;
}

TEST_F(StoredStageTest, ASaveWritesOnlyChangesSinceTheLastSave) {
  const auto plan = std::make_shared<FaultPlan>();
  const auto root = make_fault_directory(open_memory_tree(tree_), plan);
  auto stage = StoredStage::open(open_state(*root), parent_, kAtOnce);
  ASSERT_TRUE(stage);
  auto entries = stage->load();
  ASSERT_TRUE(entries);
  constexpr size_t kCalls = 4000;
  size_t most_calls = 0;
  size_t wholes = 0;
  uint64_t grown = 0;
  uint64_t size = stage->directory().stat(rel("overlay"))->size;
  uint64_t inode = stage->directory().stat(rel("overlay"))->inode;
  for (size_t call = 0; call < kCalls; ++call) {
    entries->insert_or_assign(rel("f" + std::to_string(call)), made(call));
    const size_t before = plan->calls.size();
    ASSERT_TRUE(stage->save(*entries));
    most_calls = std::max(most_calls, plan->calls.size() - before);
    const FileStat stat = *stage->directory().stat(rel("overlay"));
    if (stat.inode != inode) {
      ++wholes;
    } else {
      grown = std::max(grown, stat.size - size);
    }
    inode = stat.inode;
    size = stat.size;
  }
  EXPECT_LE(wholes, 7U) << "each is twice as long as the one before, from 64 KiB on";
  EXPECT_LE(grown, 300U) << "bytes of one save";
  EXPECT_LE(most_calls, 8U);
  EXPECT_EQ(*stage->load(), *entries);
}

TEST_F(StoredStageTest, AnIncompleteSaveIsIgnored) {
  auto stage = StoredStage::open(state(), parent_, kAtOnce);
  ASSERT_TRUE(stage);
  auto entries = stage->load();
  ASSERT_TRUE(entries);
  const Overlay::Entries before = *entries;
  entries->insert_or_assign(rel("more.txt"), made(1));
  ASSERT_TRUE(stage->save(*entries));
  auto text = read_file(stage->directory(), rel("overlay"), 1U << 20U);
  ASSERT_TRUE(text);
  put_file(stage->directory(), "overlay", text->substr(0, text->size() - 20));
  auto loaded = stage->load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*loaded, before);
  ASSERT_TRUE(stage->save(*entries));
  EXPECT_EQ(*stage->load(), *entries);
  EXPECT_EQ(*read_file(stage->directory(), rel("overlay"), 1U << 20U), *text);
}

TEST_F(StoredStageTest, ASaveIsNotSeenInAFork) {
  auto stage = StoredStage::open(state(), parent_, kAtOnce);
  ASSERT_TRUE(stage);
  auto entries = stage->load();
  ASSERT_TRUE(entries);
  const Overlay::Entries before = *entries;
  entries->insert_or_assign(rel("more.txt"), made(1));
  ASSERT_TRUE(stage->save(*entries));  // at the end of the file
  const Overlay::Entries forked = *entries;
  auto child = stage->fork(state(), kAbout);
  ASSERT_TRUE(child);
  entries->erase(rel("more.txt"));
  ASSERT_TRUE(stage->save(*entries));
  EXPECT_EQ(*child->load(), forked);
  ASSERT_TRUE(child->save({}));
  EXPECT_EQ(*stage->load(), before);
  EXPECT_TRUE(child->load()->empty());
}

TEST_F(StoredStageTest, ADamagedReferenceIsReportedAndNothingIsLost) {
  const std::string child = fork_of(parent_);
  put_file(state().root(), state().own("stage/" + child + "/pool").str(), "../../etc\n");
  EXPECT_EQ(StoredStage::open(state(), child, kAtOnce).error().reason, "stage.damaged");
  EXPECT_TRUE(collect(kLong).files.empty());
  EXPECT_EQ(staged_in(parent_), "new\n");
}

TEST_F(StoredStageTest, CallsAreAppendedAndAForkHasItsOwn) {
  Change change;
  change.path = rel("a.txt");
  auto stage = StoredStage::open(state(), parent_, kAtOnce);
  ASSERT_TRUE(stage);
  EXPECT_TRUE(stage->load_steps()->empty());
  ASSERT_TRUE(stage->add_steps({{"exec-1", "Write", {change}}}));
  const auto child = stage->fork(state(), kAbout);
  ASSERT_TRUE(child);
  ASSERT_TRUE(stage->add_steps({{"exec-2", "Edit", {change}}, {"exec-3", "Edit", {change}}}));
  ASSERT_TRUE(child->add_steps({{"exec-4", "Edit", {change}}}));
  ASSERT_EQ(stage->load_steps()->size(), 3U);
  EXPECT_EQ(stage->load_steps()->back().execution_id, "exec-3");
  ASSERT_EQ(child->load_steps()->size(), 2U);
  EXPECT_EQ(child->load_steps()->back().execution_id, "exec-4");
}

TEST_F(StoredStageTest, TheOldestCallsAreDroppedBeyondTwiceTheLimit) {
  Change change;
  change.path = rel("a.txt");
  auto stage = StoredStage::open(state(), parent_, kAtOnce);
  ASSERT_TRUE(stage);
  const ChangeSet half(kMaxStepPaths / 2, change);
  for (int call = 0; call < 5; ++call) {
    ASSERT_TRUE(stage->add_steps({{"exec-" + std::to_string(call), "Write", half}}));
  }
  EXPECT_EQ(stage->load_steps()->size(), 5U);
  ASSERT_TRUE(stage->add_steps({{"exec-5", "Write", {change}}}));
  ASSERT_EQ(stage->load_steps()->size(), 2U);
  EXPECT_EQ(stage->load_steps()->front().execution_id, "exec-4");
}

TEST_F(StoredStageTest, ADamagedFileOfCallsIsReportedAndNotChanged) {
  auto stage = StoredStage::open(state(), parent_, kAtOnce);
  ASSERT_TRUE(stage);
  put_file(stage->directory(), "calls", "nonsense");
  Change change;
  change.path = rel("a.txt");
  ASSERT_TRUE(stage->add_steps({{"exec-1", "Write", {change}}}));
  EXPECT_EQ(stage->load_steps().error().reason, "stage.damaged");
}

}  // namespace
}  // namespace galley
