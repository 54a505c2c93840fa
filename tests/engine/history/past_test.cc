#include "engine/history/history.h"

#include <gtest/gtest.h>

#include "tests/engine/history/history_workspace.h"

namespace galley {
namespace {

#define OK(expression) ASSERT_TRUE((expression).has_value())

/// Returns the tree after publishing the change to the past.
std::map<std::string, std::string> tree_at(HistoryWorkspace& workspace, TxId id) {
  const auto past =
      proposal_to_tree_after(workspace.history(), workspace.root(), id, workspace.clock());
  if (!past) {
    ADD_FAILURE() << past.error().message;
    return {};
  }
  if (!past->is_empty()) workspace.publish(*past, {});
  return workspace.tree();
}

TEST(Past, EveryTreeOfAHistoryCanBeShown) {
  HistoryWorkspace workspace;
  workspace.write("keep", "k\n");
  workspace.write("a", "0\n");
  std::vector<std::map<std::string, std::string>> trees = {workspace.tree()};
  const std::vector<std::function<void(Overlay&)>> steps = {
      [](Overlay& o) { OK(o.write(rel("a"), "1\n")); },
      [](Overlay& o) { OK(o.write(rel("d/b"), "2\n")); },
      [](Overlay& o) { OK(o.move(rel("a"), rel("d/a"))); },
      [](Overlay& o) { OK(o.remove_tree(rel("d"))); },
      [](Overlay& o) { OK(o.make_symlink(rel("d"), "keep")); },
      [](Overlay& o) { OK(o.set_mode(rel("keep"), 0700)); },
  };
  for (const auto& step : steps) {
    workspace.commit(step);
    trees.push_back(workspace.tree());
  }
  for (const uint64_t id : {6U, 4U, 1U, 3U, 5U, 2U}) {
    EXPECT_EQ(tree_at(workspace, TxId{id}), trees.at(id)) << id;
  }
}

TEST(Past, FilesThatNoTransactionTouchedStay) {
  HistoryWorkspace workspace;
  workspace.commit_file("a", "1\n");
  workspace.commit_file("d/b", "2\n");
  workspace.write("d/outside", "3\n");
  const auto tree = tree_at(workspace, TxId{1});
  EXPECT_TRUE(tree.contains("d/outside"));
  EXPECT_FALSE(tree.contains("d/b"));
}

TEST(Past, HasTheContentOfAFileWhoseModeOnlyChanged) {
  HistoryWorkspace workspace;
  workspace.write("run", "1\n", 0644);
  workspace.commit_file("other", "1\n");
  workspace.commit([](Overlay& o) { OK(o.set_mode(rel("run"), 0755)); });
  workspace.write("run", "by hand\n", 0755);
  EXPECT_EQ(tree_at(workspace, TxId{1}).at("run"), "file 420 1\n");
}

TEST(Past, UnknownTransactionIsNotFound) {
  HistoryWorkspace workspace;
  const auto past =
      proposal_to_tree_after(workspace.history(), workspace.root(), TxId{7}, workspace.clock());
  ASSERT_FALSE(past.has_value());
  EXPECT_EQ(past.error().reason, "history.not_found");
}

}  // namespace
}  // namespace galley
