// Properties of undo on random histories: undo then redo is the identity, and undoing everything
// from the newest back gives every earlier tree.
#include <gtest/gtest.h>

#include <random>

#include "doubles/memory_directory.h"
#include "engine/commit/publisher.h"
#include "engine/history/index.h"
#include "tests/engine/history/approve.h"
#include "tests/engine/history/history_workspace.h"

namespace galley {
namespace {

constexpr unsigned kSeeds = 15;
constexpr int kTransactions = 8;

/// Does random things to a tree of few names, so that they meet.
class RandomEdits {
 public:
  explicit RandomEdits(unsigned seed) : random_(seed) {}

  void stage(Overlay& overlay) {
    const int count = 1 + static_cast<int>(random_() % 5);
    for (int i = 0; i < count; ++i) one(overlay);
    // Something always differs.
    ASSERT_TRUE(overlay.write(rel("always"), std::to_string(++version_) + "\n").has_value());
  }

 private:
  RelPath name() {
    static const char* const kNames[] = {"a", "b", "d", "d/a", "d/b", "d/e", "d/e/x", "f/g/h"};
    return rel(kNames[random_() % std::size(kNames)]);
  }
  /// A step that is impossible (a file where a directory is wanted) is skipped.
  void one(Overlay& overlay) {
    const RelPath path = name();
    switch (random_() % 7) {
      case 0:
        (void)overlay.remove_tree(path);
        break;
      case 1:
        (void)overlay.remove(path);
        break;
      case 2:
        (void)overlay.move(path, name());
        break;
      case 3:  // a directory stays one that its owner can look into
        (void)overlay.set_mode(path, random_() % 2 == 0 ? 0755 : 0740);
        break;
      case 4:
        (void)overlay.make_symlink(path, "a");
        break;
      default:
        (void)overlay.write(path, "text " + std::to_string(random_() % 4) + "\n");
    }
  }
  std::mt19937 random_;
  int version_ = 0;
};

TEST(UndoProperties, UndoAndRedoPassThroughEveryTree) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    HistoryWorkspace workspace;
    workspace.write("a", "first\n");
    workspace.write("d/b", "second\n");
    RandomEdits edits(seed);
    std::vector<std::map<std::string, std::string>> trees = {workspace.tree()};
    std::vector<TxId> ids;
    for (int i = 0; i < kTransactions; ++i) {
      ids.push_back(workspace.commit([&](Overlay& overlay) { edits.stage(overlay); }));
      trees.push_back(workspace.tree());
    }
    for (size_t i = ids.size(); i-- > 0;) {
      workspace.undo(ids[i]);
      ASSERT_EQ(workspace.tree(), trees[i]) << "undo of " << ids[i].str();
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      workspace.redo();
      ASSERT_EQ(workspace.tree(), trees[i + 1]) << "redo of " << ids[i].str();
    }
  }
}

TEST(UndoProperties, UndoOfAnyTransactionThenRedoIsTheIdentity) {
  int done = 0;
  for (unsigned seed = 100; seed < 100 + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    HistoryWorkspace workspace;
    workspace.write("a", "first\n");
    RandomEdits edits(seed);
    std::vector<TxId> ids;
    for (int i = 0; i < kTransactions; ++i) {
      ids.push_back(workspace.commit([&](Overlay& overlay) { edits.stage(overlay); }));
    }
    const auto tree = workspace.tree();
    const TxId id = ids[seed % ids.size()];
    // `always` was changed by all of them: leave it out.
    UndoOptions options;
    const auto proposal = workspace.history().proposal_of(id);
    for (const Change& change : proposal->changes()) {
      if (change.path != rel("always")) options.paths.push_back(change.path);
    }
    if (options.paths.empty()) continue;
    const auto outcome =
        plan_undo(workspace.history(), workspace.root(), id, workspace.clock(), options);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    if (!std::holds_alternative<UndoPlan>(*outcome)) {
      EXPECT_EQ(workspace.tree(), tree);
      continue;
    }
    const TxId undo = workspace.publish_plan(outcome);
    workspace.undo(undo);
    EXPECT_EQ(workspace.tree(), tree);
    ++done;
  }
  EXPECT_GT(done, 0);
}

TEST(UndoProperties, HoldInTheMemoryDirectory) {
  const auto root = make_memory_directory();
  const SystemClock clock;
  const auto publish = [&](const Proposal& proposal, const CommitMeta& meta) {
    PublisherOptions options;
    options.durability = Durability::kNone;
    const auto outcome =
        Publisher(*root, clock, options).publish(proposal, approve(proposal, *root, clock), meta);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  };
  Overlay overlay(*root, make_memory_store(), clock);
  ASSERT_TRUE(overlay.write(rel("d/a"), "1\n").has_value());
  publish(Proposal::freeze(overlay), {});
  auto state = StateDirectory::open(*root);
  ASSERT_TRUE(state.has_value() && state->has_value());
  const History history(**state);
  const auto outcome = plan_undo(history, *root, TxId{1}, clock);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  const auto& plan = std::get<UndoPlan>(*outcome);
  CommitMeta meta;
  meta.undoes = plan.undoes;
  meta.tool = plan.tool;
  publish(plan.proposal, meta);
  EXPECT_EQ(root->stat(rel("d"))->kind, FileKind::kAbsent);
  // Without a path for SQLite the index is in memory.
  const auto index = HistoryIndex::open(history);
  ASSERT_TRUE(index.has_value()) << index.error().message;
  EXPECT_EQ((*index)->list({})->size(), 2U);
  EXPECT_EQ((*index)->list({})->back().undone_by, TxId{2});
}

}  // namespace
}  // namespace galley
