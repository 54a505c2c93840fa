// The promises of Galley::testing, through its installed headers.
#include <galley/testing/testing.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TemporaryWorkspace tree_of(const std::map<std::string, std::string>& files,
                           WorkspaceOptions options = {}) {
  auto made = TemporaryWorkspace::make(files, std::move(options));
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

TEST(TemporaryWorkspace, HasItsFilesAndIsRemovedAtTheEnd) {
  std::string path;
  {
    const TemporaryWorkspace tree = tree_of({{"a.txt", "a\n"}, {"d/b.txt", "b\n"}});
    path = tree.path();
    ASSERT_TRUE(tree.write("c.txt", "c\n"));
    EXPECT_THAT(*tree.files(),
                ElementsAre(Pair("a.txt", "a\n"), Pair("c.txt", "c\n"), Pair("d/b.txt", "b\n")));
    auto transaction = tree.workspace().begin();
    ASSERT_TRUE(transaction->write("a.txt", "A\n"));
    EXPECT_EQ(*tree.read("a.txt"), "a\n");
    ASSERT_TRUE(transaction->commit());
    EXPECT_EQ(*tree.read("a.txt"), "A\n");
    EXPECT_EQ(tree.read("../x").error().reason.substr(0, 5), "path.");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryWorkspace, CanBeReopenedAsByAnotherProcess) {
  TemporaryWorkspace tree = tree_of({});
  const std::string id = tree.workspace().begin_stored()->id();
  ASSERT_TRUE(tree.reopen());
  EXPECT_EQ(tree.workspace().stages()->front().id, id);
}

TEST(FakeClock, MovesOnlyWhenAdvanced) {
  FakeClock clock;
  WorkspaceOptions options;
  options.clock = clock.clock();
  const TemporaryWorkspace tree = tree_of({}, std::move(options));
  auto transaction = tree.workspace().begin();
  ASSERT_TRUE(transaction->write("a", "a"));
  const auto outcome = transaction->commit();
  EXPECT_EQ(std::get<Receipt>(*outcome).time_ns, FakeClock::kStart);
  clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(clock.wall_ns(), FakeClock::kStart + 1'000'000'000);
}

TEST(MockTool, ReturnsPreparedAnswersAndRecordsItsCalls) {
  MockTool mock("mock.file_reader");
  mock.answer(R"({"path": "a", "n": 1})", R"({"content": "Mock content for a", "size": 100})");
  mock.fail(R"({"path": "b"})", Error{ErrorKind::kNotFound, "path.not_found", "no b", "b", 0});
  WorkspaceOptions options;
  options.tools.push_back(mock.definition());
  const TemporaryWorkspace tree = tree_of({}, std::move(options));
  auto transaction = tree.workspace().begin();
  const auto answered = transaction->call("mock.file_reader", R"({"n":1,"path":"a"})");
  EXPECT_TRUE(json_is(answered.json(), R"({"size": 100, "content": "Mock content for a"})"));
  EXPECT_EQ(transaction->call("mock.file_reader", R"({"path":"b"})").error().reason,
            "path.not_found");
  const auto unknown = transaction->call("mock.file_reader", R"({"path":"c"})");
  EXPECT_EQ(unknown.error().reason, "mock.no_answer");
  EXPECT_THAT(unknown.error().message, HasSubstr(R"({"path":"c"})"));
  mock.answer_all("{}");
  EXPECT_TRUE(transaction->call("mock.file_reader", R"({"path":"c"})"));
  EXPECT_EQ(mock.calls().size(), 4U);
  EXPECT_EQ(mock.calls().back(), R"({"path":"c"})");
}

TEST(MockGraph, ReturnsResultsInTheFormatOfGraphQuery) {
  MockGraph graph("graph.mock");
  graph.answer("SELECT path FROM files", R"([{"path": "a"}])");
  WorkspaceOptions options;
  options.tools.push_back(graph.definition());
  const TemporaryWorkspace tree = tree_of({}, std::move(options));
  auto transaction = tree.workspace().begin();
  const auto answered = transaction->call(
      "graph.mock", R"({"query": "SELECT path FROM files", "params": {"a": 1}, "commit": "@"})");
  ASSERT_TRUE(answered) << answered.error().message;
  EXPECT_TRUE(json_is(answered.json(), R"({"results": [{"path": "a"}]})"));
  EXPECT_EQ(transaction->call("graph.mock", R"({"query": "SELECT 1"})").error().reason,
            "mock.no_answer");
  EXPECT_THAT(graph.queries(), ElementsAre("SELECT path FROM files", "SELECT 1"));
}

TEST(MockChronicle, ReturnsTheMatchingEvents) {
  MockChronicle chronicle;
  ASSERT_TRUE(chronicle.add(R"({"execution_id": "exec-1", "tool": "fs.write"})"));
  ASSERT_TRUE(chronicle.add(R"({"execution_id": "exec-2", "tool": "fs.read"})"));
  EXPECT_EQ(chronicle.add("[]").error().reason, "mock.event");
  WorkspaceOptions options;
  options.tools.push_back(chronicle.definition());
  const TemporaryWorkspace tree = tree_of({}, std::move(options));
  auto transaction = tree.workspace().begin();
  const auto some = transaction->call("chronicle", R"({"where": {"tool": "fs.read"}})");
  EXPECT_TRUE(
      json_is(some.json(), R"({"events": [{"execution_id": "exec-2", "tool": "fs.read"}]})"));
}

TEST(Assertions, DiffsAreComparedWithoutHashesAndADifferenceShowsBothSides) {
  const TemporaryWorkspace tree = tree_of({{"a.txt", "one\ntwo\nthree\n"}});
  auto transaction = tree.workspace().begin();
  ASSERT_TRUE(transaction->edit("a.txt", "two", "TWO"));
  const std::string diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
  EXPECT_TRUE(diff_is(transaction->proposal(), diff));
  std::string other = diff;
  other.replace(other.find("+TWO"), 4, "+2");
  const Assertion wrong = diff_is(transaction->proposal(), other);
  EXPECT_FALSE(wrong);
  EXPECT_THAT(wrong.message, HasSubstr("-+2\n++TWO\n"));
  EXPECT_THAT(wrong.message, Not(HasSubstr("index ")));
}

TEST(Assertions, ADifferenceInAFileOrInJsonIsShownWithItsPlace) {
  const TemporaryWorkspace tree = tree_of({{"a.txt", "one\ntwo\n"}});
  auto transaction = tree.workspace().begin();
  EXPECT_TRUE(file_is(*transaction, "a.txt", "one\ntwo\n"));
  EXPECT_THAT(file_is(*transaction, "a.txt", "one\n2\n").message,
              HasSubstr("line 2:\n one\n-2\n+two"));
  EXPECT_THAT(file_is(*transaction, "b.txt", "").message, HasSubstr("cannot be read"));
  EXPECT_TRUE(is_absent(*transaction, "b.txt"));
  EXPECT_FALSE(is_absent(*transaction, "a.txt"));
  EXPECT_TRUE(json_is(R"({"b": 1.0, "a": [1]})", R"({"a": [1], "b": 1})"));
  EXPECT_THAT(
      json_is(R"({"a": [1, 2], "x/y": 1})", R"({"a": [1, 3], "z": 0})").message,
      AllOf(HasSubstr("/a/1: expected 3, found 2\n"), HasSubstr("/z: expected 0, found nothing\n"),
            HasSubstr("/x~1y: expected nothing, found 1\n")));
  EXPECT_THAT(json_is("{", "{}").message, HasSubstr("not JSON"));
}

TEST(ToolTester, RunsATableOfCasesAndReportsThoseThatFail) {
  MockTool mock("mock.tool");
  mock.answer(R"({"a": 1})", R"({"b": 2})");
  WorkspaceOptions options;
  options.tools.push_back(mock.definition());
  const TemporaryWorkspace tree = tree_of({{"a.txt", "a\n"}}, std::move(options));
  const ToolTester tester(tree.workspace(), "mock.tool");
  const Assertion good =
      tester.test({{.name = "answers",
                    .input = R"({"a": 1})",
                    .expected = R"({"b": 2})",
                    .files = {{"a.txt", "a\n"}}},
                   {.name = "by code", .input = "[]", .error = "EVALIDATION"},
                   {.name = "by reason", .input = R"({"a": 2})", .error = "mock.no_answer"}});
  EXPECT_TRUE(good) << good.message;
  const auto outcomes =
      tester.run({{.name = "other answer", .input = R"({"a": 1})", .expected = R"({"b": 3})"},
                  {.name = "no failure", .input = R"({"a": 1})", .error = "ERUNTIME"},
                  {.name = "other failure", .input = "{}", .error = "EQUOTA"},
                  {.name = "failure", .input = "{}"},
                  {.name = "file", .input = R"({"a": 1})", .files = {{"a.txt", "b\n"}}}});
  std::string text;
  for (const ToolTester::Outcome& outcome : outcomes) {
    EXPECT_FALSE(outcome.passed) << outcome.name;
    text += outcome.message;
  }
  EXPECT_THAT(text, AllOf(HasSubstr("/b: expected 3, found 2"),
                          HasSubstr("it has to fail with ERUNTIME and answered"),
                          HasSubstr("it has to fail with EQUOTA and failed with ERUNTIME"),
                          HasSubstr("it has to succeed and failed with mock.no_answer"),
                          HasSubstr("a.txt is not as expected")));
}

TEST(Assertions, ARecordedTranscriptReplays) {
  const TemporaryWorkspace first = tree_of({{"a.txt", "one\n"}});
  const TemporaryWorkspace place = tree_of({});
  const std::string file = place.path() + "/calls.jsonl";
  {
    auto transaction = first.workspace().begin();
    ASSERT_TRUE(transaction->transcribe_to(file));
    ASSERT_TRUE(transaction->call(
        "Edit", R"({"file_path": "a.txt", "old_string": "one", "new_string": "two"})"));
  }
  const std::string text = *place.read("calls.jsonl");
  const TemporaryWorkspace same = tree_of({{"a.txt", "one\n"}});
  auto equal = same.workspace().begin();
  const Assertion again = replays(same.workspace(), *equal, text);
  EXPECT_TRUE(again) << again.message;
  const TemporaryWorkspace other = tree_of({{"a.txt", "three\n"}});
  auto different = other.workspace().begin();
  EXPECT_THAT(replays(other.workspace(), *different, text).message,
              HasSubstr("before it a.txt: expected"));
}

}  // namespace
}  // namespace galley
