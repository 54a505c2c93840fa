#include "engine/agent_tools/graph_query.h"

#include <gtest/gtest.h>

#include "support/temp_directory.h"

namespace galley {
namespace {

TEST(GraphTables, AreMadeOnlyForAQueryThatNamesThem) {
  EXPECT_TRUE(names_table("SELECT * FROM tree", "tree"));
  EXPECT_TRUE(names_table("select path from TREE where 1", "tree"));
  EXPECT_TRUE(names_table("SELECT 1 FROM subtree, tree", "tree"));
  EXPECT_FALSE(names_table("SELECT 1 FROM subtree", "tree"));
  EXPECT_FALSE(names_table("SELECT trees FROM log", "tree"));
  EXPECT_FALSE(names_table("", "tree"));
}

TEST(GraphTables, AnInvalidAuditRecordIsAnError) {
  TempDirectory state;
  state.write("audit.jsonl", "{\"seq\":1,\"kind\":\"call\",\"tool\":\"Read\",\"duration_ms\":3}\n");
  const auto table = audit_table(&state.directory());
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 1U);
  EXPECT_EQ(table->rows[0].size(), table->columns.size());
  EXPECT_EQ(table->rows[0][0], QueryValue(int64_t{1}));
  state.write("audit.jsonl", "nothing\n");
  EXPECT_EQ(audit_table(&state.directory()).error().reason, "audit.malformed");
}

TEST(GraphTables, TheAuditTableHasNoRowsWithoutALog) {
  const auto none = audit_table(nullptr);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->rows.empty());
  TempDirectory state;
  EXPECT_TRUE(audit_table(&state.directory())->rows.empty()) << "no log yet";
}

TEST(GraphTables, TheGitTablesFailWithoutARepository) {
  TempDirectory tree;
  const auto commits = git_commits_table(tree.path(), "HEAD");
  ASSERT_FALSE(commits);
  EXPECT_EQ(commits.error().reason, "git.no_repository");
}

}  // namespace
}  // namespace galley
