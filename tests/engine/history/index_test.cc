#include "engine/history/index.h"

#include <gtest/gtest.h>

#include "support/commit_fixture.h"
#include "tests/engine/history/history_workspace.h"

namespace galley {
namespace {

#define OK(expression) ASSERT_TRUE((expression).has_value())

std::string name(const TxSummary& summary) {
  std::string text = summary.id.str() + " " + std::to_string(summary.time_ns) + " " +
                     summary.agent + "/" + summary.tool + "/" + summary.message + " " +
                     summary.proposal.hex() + (summary.problem.empty() ? "" : " damaged");
  if (summary.undoes) text += " undoes " + summary.undoes->str();
  if (summary.undone_by) text += " undone by " + summary.undone_by->str();
  for (const TxId id : summary.partly_undone_by) text += " partly by " + id.str();
  for (const PathSummary& path : summary.paths) {
    text += "\n  " + std::string(1, path.status) + " " + path.path.str() + " " +
            (path.from ? path.from->str() : "") + " +" + std::to_string(path.added) + " -" +
            std::to_string(path.removed) + (path.is_binary ? " binary" : "") +
            (path.is_directory ? " directory" : "");
  }
  return text;
}

std::vector<std::string> names(const Result<std::vector<TxSummary>>& list) {
  std::vector<std::string> all;
  EXPECT_TRUE(list.has_value()) << list.error().message;
  if (list) {
    for (const TxSummary& summary : *list) all.push_back(name(summary));
  }
  return all;
}

class IndexTest : public testing::Test {
 protected:
  /// A history of every sort of change.
  IndexTest() {
    commit("coder", "Add A", [](Overlay& o) { OK(o.write(rel("src/a.c"), "1\n2\n3\n")); });
    commit("coder", "add b", [](Overlay& o) { OK(o.write(rel("src/b.c"), "1\n")); });
    commit("writer", "docs", [](Overlay& o) { OK(o.write(rel("docs/x.md"), "x\n")); });
    commit("coder", "move", [](Overlay& o) { OK(o.move(rel("src/a.c"), rel("lib/a.c"))); });
    commit("coder", "bin", [](Overlay& o) { OK(o.write(rel("src-x"), std::string("\0\1", 2))); });
    commit("", "", [](Overlay& o) {
      OK(o.set_mode(rel("src/b.c"), 0755));
      OK(o.make_symlink(rel("link"), "src/b.c"));
    });
    workspace_.undo(TxId{3});
    UndoOptions part;
    part.paths = {rel("link")};
    workspace_.undo(TxId{6}, part);
  }

  void commit(std::string agent, std::string message, const std::function<void(Overlay&)>& stage) {
    CommitMeta meta;
    meta.agent = std::move(agent);
    meta.tool = "apply";
    meta.message = std::move(message);
    workspace_.commit(stage, meta);
  }
  std::unique_ptr<HistoryIndex> open() {
    auto index = HistoryIndex::open(workspace_.history());
    if (!index) throw std::runtime_error(index.error().message);
    return *std::move(index);
  }
  /// The index says what the journals say.
  void expect_true_to_journals() {
    EXPECT_EQ(names(open()->list({})), names(workspace_.history().scan()));
  }
  Result<QueryResult> ask(std::string_view sql) {
    return open()->query(sql, Deadline(), workspace_.clock());
  }

  HistoryWorkspace workspace_;
};

// The index is read while the commit swaps files. Then the commit is taken back.
TEST_F(IndexTest, ANumberThatIsGivenAgainHasTheNewCommit) {
  workspace_.write("contested", "old\n");
  ChangeBuilder taken_back(workspace_.root());
  taken_back.write("contested", "mine\n");
  PublisherOptions options;
  options.before_apply = [&] {
    EXPECT_EQ(open()->list({})->front().agent, "loser");
    workspace_.write("contested", "saved\n");
  };
  CommitMeta meta;
  meta.agent = "loser";
  const auto outcome = publish(workspace_.root(), taken_back.proposal(), options, meta);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  ASSERT_TRUE(std::holds_alternative<Conflict>(*outcome));
  commit("winner", "the same number", [](Overlay& o) { OK(o.write(rel("w"), "w\n")); });
  EXPECT_EQ(open()->list({})->front().agent, "winner");
  expect_true_to_journals();
}

TEST_F(IndexTest, QueriesCannotCallThePathspecFunction) {
  const auto answer = ask("SELECT pathspec_names('*a*a*a*b', path) FROM changes");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "query.sql");
  EXPECT_NE(answer.error().message.find("not authorized"), std::string::npos)
      << answer.error().message;
}

TEST_F(IndexTest, EveryFilterGivesTheSameAsTheJournals) {
  std::vector<HistoryFilter> filters(15);
  filters[1].paths = {rel("src")};
  filters[2].paths = {rel("lib/a.c"), rel("docs")};
  filters[3].agent = "coder";
  filters[4].message = "ADD";
  filters[5].limit = 2;
  filters[6].tool = kUndoTool;
  filters[7].with_lines = false;
  filters[8].paths = {RelPath::root(), rel("src")};
  filters[8].agent = "writer";
  const auto all = workspace_.history().list();
  ASSERT_TRUE(all.has_value()) << all.error().message;
  filters[9].since_ns = all->at(3).time_ns;
  filters[10].until_ns = filters[9].since_ns;
  filters[11].paths = {rel("link")};
  filters[11].tool = "apply";
  filters[12].paths = {rel("*.c")};
  filters[13].paths = {rel("li[bn]?/*"), rel("src")};
  filters[14].paths = {rel("[!s]*")};
  for (size_t i = 0; i < filters.size(); ++i) {
    const auto found = names(open()->list(filters[i]));
    EXPECT_EQ(found, names(workspace_.history().scan(filters[i]))) << i;
    EXPECT_FALSE(found.empty()) << i;
  }
}

TEST_F(IndexTest, FollowsCommitsAndPruning) {
  expect_true_to_journals();
  workspace_.redo();
  expect_true_to_journals();
  workspace_.retire_all();
  ASSERT_TRUE(workspace_.state().undo().remove_file(journal_name(TxId{1})).has_value());
  expect_true_to_journals();
}

TEST_F(IndexTest, IsMadeAgainWhenDeletedDamagedOrOfAnotherWorkspace) {
  expect_true_to_journals();
  const std::string good = workspace_.read(".galley/index.db");
  ASSERT_GT(good.size(), 4096U);
  workspace_.write(".galley/index.db", "this is no database at all, not even nearly one");
  expect_true_to_journals();
  workspace_.write(".galley/index.db", good.substr(0, good.size() / 2));
  expect_true_to_journals();
  std::string zeroed = good;
  std::fill(zeroed.begin() + 4096, zeroed.begin() + 12288, '\0');
  workspace_.write(".galley/index.db", zeroed);
  expect_true_to_journals();
  HistoryWorkspace other;
  other.write(".galley/index.db", good);
  EXPECT_TRUE((*HistoryIndex::open(other.history()))->list({})->empty());
}

TEST_F(IndexTest, WorksInMemoryIfItCannotBeWrittenToDisk) {
  ASSERT_TRUE(workspace_.root().make_symlink(rel(".galley/index.db"), "elsewhere").has_value());
  expect_true_to_journals();
  EXPECT_FALSE(workspace_.exists(".galley/elsewhere"));
}

TEST_F(IndexTest, DamagedJournalIsListedWithItsProblem) {
  workspace_.retire_all();
  const auto file =
      workspace_.state().undo().open_writable_file(journal_name(TxId{2}), OpenMode::kReadWrite);
  ASSERT_TRUE((*file)->write_at(80, "XXXX").has_value());
  expect_true_to_journals();
}

TEST_F(IndexTest, LongHistoriesAreListedThroughIt) {
  for (size_t i = 0; i < HistoryIndex::kWorthwhile; ++i) {
    workspace_.commit_file("n.txt", std::to_string(i) + "\n");
  }
  EXPECT_FALSE(workspace_.exists(".galley/index.db"));
  HistoryFilter few;
  few.limit = 3;
  EXPECT_EQ(workspace_.history().list(few)->size(), 3U);
  EXPECT_FALSE(workspace_.exists(".galley/index.db"));
  HistoryFilter by_path;
  by_path.paths = {rel("src/a.c")};
  EXPECT_EQ(names(workspace_.history().list(by_path)), names(workspace_.history().scan(by_path)));
  EXPECT_TRUE(workspace_.exists(".galley/index.db"));
}

TEST_F(IndexTest, AnswersQueries) {
  const auto answer = ask("SELECT agent, transactions FROM agents ORDER BY 2 DESC, 1 LIMIT 1");
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->columns, (std::vector<std::string>{"agent", "transactions"}));
  ASSERT_EQ(answer->rows.size(), 1U);
  EXPECT_EQ(std::get<std::string>(answer->rows[0][0]), "coder");
  EXPECT_EQ(std::get<int64_t>(answer->rows[0][1]), 4);
  EXPECT_EQ(ask("SELECT * FROM log")->rows.size(), 8U);
  EXPECT_EQ(ask("SELECT * FROM files WHERE path = 'src/b.c';")->rows.size(), 1U);
  EXPECT_EQ(ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 5) "
                "SELECT i FROM n")
                ->rows.size(),
            5U);
}

TEST_F(IndexTest, QueriesCannotWriteAttachOrLoad) {
  for (const char* sql :
       {"DELETE FROM changes", "INSERT INTO meta VALUES ('a', 'b')", "DROP TABLE meta",
        "ATTACH '/tmp/other.db' AS other", "PRAGMA journal_mode = WAL", "VACUUM",
        "CREATE TEMP TABLE t (a)", "BEGIN", "UPDATE transactions SET agent = ''"}) {
    const auto answer = ask(sql);
    ASSERT_FALSE(answer.has_value()) << sql;
    EXPECT_EQ(answer.error().reason, "query.not_read_only") << sql;
    EXPECT_EQ(answer.error().kind, ErrorKind::kUsage) << sql;
  }
  EXPECT_FALSE(ask("SELECT load_extension('x')").has_value());
  EXPECT_EQ(ask("SELECT 1; SELECT 2").error().reason, "query.sql");
  EXPECT_EQ(ask("").error().reason, "query.sql");
  EXPECT_EQ(ask("SELEKT").error().reason, "query.sql");
  EXPECT_EQ(ask("SELECT nothing FROM nowhere").error().reason, "query.sql");
  EXPECT_EQ(ask(std::string(HistoryIndex::kMaxSqlBytes + 1, ' ')).error().reason, "query.sql");
  expect_true_to_journals();
}

/// Its steady time goes on by a second a look.
class RacingClock final : public Clock {
 public:
  [[nodiscard]] int64_t wall_ns() const override { return 0; }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::time_point(std::chrono::seconds(++looks_));
  }

 private:
  mutable int looks_ = 0;
};

// Limit: kMaxRows of engine/history/index.h
// Limit: kMaxSqlBytes of engine/history/index.h
TEST_F(IndexTest, EndlessAndHugeQueriesAreStopped) {
  const RacingClock clock;
  const auto endless = open()->query(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) "
      "SELECT count(*) FROM n",
      Deadline::after(clock, std::chrono::seconds(20)), clock);
  ASSERT_FALSE(endless.has_value());
  EXPECT_EQ(endless.error().reason, "query.timeout");
  const auto wide = ask("SELECT randomblob(1000000000)");
  ASSERT_FALSE(wide.has_value());
  const auto many =
      ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT "
          "200000) SELECT i FROM n");
  ASSERT_TRUE(many.has_value());
  EXPECT_TRUE(many->is_cut);
  EXPECT_EQ(many->rows.size(), HistoryIndex::kMaxRows);
}

// Limit: kMaxAnswerBytes of engine/history/index.h
TEST_F(IndexTest, AnAnswerEndsBeforeTheRowThatExceedsTheLimit) {
  const std::string value = "printf('%.*c', 1000000, 'x')";
  const auto narrow = ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT " +
                          value + " FROM n");
  ASSERT_TRUE(narrow.has_value()) << narrow.error().message;
  EXPECT_TRUE(narrow->is_cut);
  EXPECT_EQ(narrow->rows.size(), HistoryIndex::kMaxAnswerBytes / 1'000'000);
  std::string columns = value;
  for (int i = 0; i < 19; ++i) columns += ", " + value;
  const auto wide = ask("SELECT " + columns);
  ASSERT_TRUE(wide.has_value()) << wide.error().message;
  EXPECT_TRUE(wide->is_cut);
  EXPECT_TRUE(wide->rows.empty());
}

// Limit: kMaxQueryMemoryBytes of engine/history/index.h
TEST_F(IndexTest, AQueryOverTheMemoryLimitFailsAndTheNextOneWorks) {
  const auto index = open();
  const auto sorted = index->query(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 100000) "
      "SELECT i, printf('%.*c', 100000, 'x') AS s FROM n ORDER BY s, i DESC",
      Deadline(), workspace_.clock());
  ASSERT_FALSE(sorted.has_value());
  EXPECT_EQ(sorted.error().reason, "query.memory");
  const auto next =
      index->query("SELECT count(*) FROM transactions", Deadline(), workspace_.clock());
  ASSERT_TRUE(next.has_value()) << next.error().message;
  EXPECT_EQ(next->rows.size(), 1U);
}

TEST_F(IndexTest, AQueryCanCallAtMostSixtyFourFunctions) {
  std::string columns = "abs(1)";
  for (int i = 1; i < 64; ++i) columns += ", abs(1)";
  EXPECT_TRUE(ask("SELECT " + columns).has_value());
  const auto more = ask("SELECT " + columns + ", abs(1)");
  ASSERT_FALSE(more.has_value());
  EXPECT_EQ(more.error().reason, "query.sql");
  EXPECT_NE(more.error().message.find("64 functions"), std::string::npos);
}

}  // namespace
}  // namespace galley
