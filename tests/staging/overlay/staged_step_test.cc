#include "staging/overlay/staged_step.h"

#include <gtest/gtest.h>

#include "support/temp_directory.h"

namespace galley {
namespace {

class StagedStepTest : public ::testing::Test {
 protected:
  StagedStepTest() {
    tree_.write("a.txt", "one\n");
    tree_.write("b.txt", "b\n");
  }
  static std::vector<std::string> paths_of(const ChangeSet& changes) {
    std::vector<std::string> paths;
    for (const Change& change : changes) paths.push_back(change.path.str());
    return paths;
  }

  TempDirectory tree_;
  SystemClock clock_;
  Overlay overlay_{tree_.directory(), make_memory_store(), clock_};
};

using Paths = std::vector<std::string>;

TEST_F(StagedStepTest, ListsChangedPathsRelativeToEarlierStagedChanges) {
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "two\n"));
  const Node staged = *overlay_.node(rel("a.txt"));
  StepScope scope(&overlay_);
  ASSERT_TRUE(overlay_.read(rel("b.txt")));
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "three\n"));
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "four\n"));
  ASSERT_TRUE(overlay_.write(rel("d/new.txt"), "new\n"));
  const ChangeSet changes = scope.finish();
  EXPECT_EQ(paths_of(changes), (Paths{"a.txt", "d", "d/new.txt"}));
  EXPECT_EQ(changes[0].before, staged);
  EXPECT_EQ(changes[0].after.content, ContentId::of("four\n"));
  EXPECT_EQ(changes[2].before.kind, FileKind::kAbsent);
  EXPECT_TRUE(scope.finish().empty());
}

TEST_F(StagedStepTest, IsEmptyWhenAllItsChangesWereUndone) {
  const Overlay::Entries before = overlay_.entries();
  StepScope scope(&overlay_);
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "two\n"));
  ASSERT_TRUE(overlay_.remove(rel("b.txt")));
  overlay_.restore(before);
  EXPECT_TRUE(scope.finish().empty());
}

TEST_F(StagedStepTest, ARestoreWithinAStepIsItsChange) {
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "two\n"));
  ASSERT_TRUE(overlay_.write(rel("c.txt"), "c\n"));
  StepScope scope(&overlay_);
  overlay_.restore({});
  const ChangeSet changes = scope.finish();
  EXPECT_EQ(paths_of(changes), (Paths{"a.txt", "c.txt"}));
  EXPECT_EQ(changes[0].after.content, ContentId::of("one\n"));
  EXPECT_EQ(changes[1].after.kind, FileKind::kAbsent);
}

TEST_F(StagedStepTest, AnInnerStepHasItsOwnChangesAndTheOuterStepHasBoth) {
  StepScope outer(&overlay_);
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "two\n"));
  {
    StepScope inner(&overlay_);
    ASSERT_TRUE(overlay_.write(rel("b.txt"), "B\n"));
    EXPECT_EQ(paths_of(inner.finish()), Paths{"b.txt"});
  }
  EXPECT_EQ(paths_of(outer.finish()), (Paths{"a.txt", "b.txt"}));
}

TEST_F(StagedStepTest, TheTextFormIsReadBackAndADamagedOneRefused) {
  StepScope scope(&overlay_);
  ASSERT_TRUE(overlay_.write(rel("call me"), "new\n"));
  ASSERT_TRUE(overlay_.remove(rel("b.txt")));
  const std::vector<StagedStep> steps = {{"exec-1", "Write", scope.finish()}, {"exec-2", "x", {}}};
  const std::string text = encode_steps(steps);
  const auto read = decode_steps(text);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(read->at(0).execution_id, "exec-1");
  EXPECT_EQ(read->at(0).tool, "Write");
  EXPECT_EQ(read->at(0).changes, steps[0].changes);
  EXPECT_TRUE(read->at(1).changes.empty());
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = damaged[at] == '7' ? '8' : '7';
    EXPECT_EQ(decode_steps(damaged).error().reason, "stage.damaged") << at;
    const auto head = decode_steps(text.substr(0, at));
    const bool is_whole = tail_of_steps(text.substr(0, at)).has_value();
    EXPECT_EQ(head.has_value(), is_whole) << at;
    if (!head) {
      EXPECT_EQ(head.error().reason, "stage.damaged") << at;
    }
  }
}

// Limit: kMaxStepsTailBytes of staging/overlay/staged_step.h
TEST_F(StagedStepTest, NewStepsAreAppendedToTheText) {
  Change change;
  change.path = rel("a.txt");
  const StagedStep first{"exec-1", "Write", {change}};
  const StagedStep second{"exec-2", "Edit", {change, change}};
  const StagedStep third{"exec-3", "Edit", {change}};
  const std::string text = encode_steps({first});
  const auto tail = tail_of_steps(text);
  ASSERT_TRUE(tail);
  EXPECT_EQ(tail->paths, 1U);
  EXPECT_EQ(tail_of_steps(text.substr(text.size() - tail->line.size() - 1))->line, tail->line);
  EXPECT_LT(tail->line.size(), kMaxStepsTailBytes);
  const std::string more = encode_more_steps(*tail, {second, third});
  EXPECT_EQ(text + more, encode_steps({first, second, third}));
  EXPECT_EQ(decode_steps(text + more)->size(), 3U);
  // A block fits after its own predecessor only.
  EXPECT_EQ(decode_steps(text + encode_more_steps({"end 0\n", 1}, {third})).error().reason,
            "stage.damaged");
  EXPECT_EQ(decode_steps(text + more + more).error().reason, "stage.damaged");
  EXPECT_FALSE(tail_of_steps(""));
  EXPECT_FALSE(tail_of_steps(more + "x"));
  EXPECT_TRUE(decode_steps(encode_steps({}))->empty());
}

// Limit: kMaxStepPaths of staging/overlay/staged_step.h
TEST_F(StagedStepTest, TheOldestAreDroppedBeyondTheLimit) {
  Change change;
  change.path = rel("a.txt");
  std::vector<StagedStep> steps = {{"first", "x", ChangeSet(kMaxStepPaths, change)},
                                   {"second", "x", ChangeSet(kMaxStepPaths - 1, change)},
                                   {"third", "x", {}}};
  bound_steps(steps);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].execution_id, "second");
}

}  // namespace
}  // namespace galley
