// The installed headers as a program uses them: nothing else of Galley is included here.
#include <galley/galley.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "support/temp_directory.h"
#include "tests/engine/pipeline/any_object.h"
#include "tests/support/skip_without_walls.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kFrontDoorConfig = R"(
[policy]
protected = ["fixed/"]

[agents.reader]
capabilities = ["fs:read", "!fs:read:secret/", "fs:write:src/**"]

[agents."*"]
)";

class FrontDoor : public ::testing::Test {
 protected:
  FrontDoor() {
    tree_.write("galley.toml", kFrontDoorConfig);
    tree_.write("a.txt", "one\ntwo\nthree\n");
    tree_.write("secret/key", "k\n");
    tree_.write("fixed/f", "f\n");
  }
  Workspace& open(WorkspaceOptions options = {}) {
    auto opened = Workspace::open(tree_.path(), std::move(options));
    EXPECT_TRUE(opened) << opened.error().message;
    workspace_ = *std::move(opened);
    return *workspace_;
  }
  /// Commits one file and returns the number of the commit.
  std::string commit(const std::string& path, const std::string& content) {
    auto transaction = workspace_->begin({.agent = "ann", .message = "why"});
    EXPECT_TRUE(transaction->write(path, content));
    const auto outcome = transaction->commit();
    EXPECT_TRUE(outcome) << outcome.error().message;
    const auto* receipt = std::get_if<Receipt>(&*outcome);
    EXPECT_NE(receipt, nullptr);
    return receipt != nullptr ? receipt->id.str() : "";
  }

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
};

// --- staging ----------------------------------------------------------------------------------

TEST_F(FrontDoor, AnEditThatDoesNotFitReturnsFalseWithItsPlace) {
  auto transaction = open().begin();
  const auto edited = transaction->edit("a.txt", "tow", "TWO");
  ASSERT_FALSE(edited);
  EXPECT_FALSE(edited.is_staged());
  EXPECT_THAT(edited.error().reason, HasSubstr("patch."));
  EXPECT_EQ(edited.error().path, "a.txt");
  EXPECT_THAT(edited.report(), HasSubstr("a.txt"));
  EXPECT_THAT(edited.json(), HasSubstr("\"files\""));
  EXPECT_TRUE(transaction->preview()->proposal.is_empty());
  EXPECT_TRUE(transaction->edit("a.txt", "two", "TWO"));
}

TEST_F(FrontDoor, RejectStagesFittingEditsAndReturnsFalse) {
  auto transaction = open().begin();
  const std::string patch =
      "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n@@ -3 +3 @@\n-tree\n+THREE\n";
  EXPECT_FALSE(transaction->apply(patch).is_staged());
  const auto partly = transaction->apply(patch, {.reject = true});
  EXPECT_FALSE(partly);
  EXPECT_TRUE(partly.is_staged());
  EXPECT_EQ(*transaction->read("a.txt"), "ONE\ntwo\nthree\n");
}

TEST_F(FrontDoor, ADocumentThatCannotBeReadIsAnErrorWithAReport) {
  auto transaction = open().begin();
  const auto edited = transaction->apply("no patch at all\n");
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().reason, "edit.not_a_patch");
  EXPECT_THAT(edited.report(), HasSubstr(edited.error().message));
  EXPECT_EQ(edited.json(), "{}");
}

TEST_F(FrontDoor, SelectingAPathThatIsNotInTheDocumentIsAnError) {
  auto transaction = open().begin();
  const auto edited = transaction->apply("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n",
                                         {.only = {"b.txt"}});
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().reason, "edit.unknown_path");
}

TEST_F(FrontDoor, TheDiffOfAProposalHasGitsFormat) {
  auto transaction = open().begin();
  ASSERT_TRUE(transaction->edit("a.txt", "two", "TWO"));
  const auto diff = render_diff(transaction->preview()->proposal);
  ASSERT_TRUE(diff);
  EXPECT_THAT(*diff, HasSubstr("-two\n+TWO\n"));
}

TEST_F(FrontDoor, AConfigurationIsCheckedWithItsPlace) {
  EXPECT_TRUE(check_config("[policy]\nprotected = [\"a\"]\n"));
  const auto flaw = check_config("[polcy]\n");
  ASSERT_FALSE(flaw);
  EXPECT_EQ(flaw.error().reason, "config.unknown_key");
  EXPECT_THAT(flaw.error().message, HasSubstr("galley.toml:1"));
}

TEST_F(FrontDoor, AProgramRunsOnTheStagedFilesAndItsChangesAreListed) {
  auto transaction = open().begin();
  ASSERT_TRUE(transaction->write("src/b.txt", "b\n"));
  const auto ran = transaction->run({"sh", "-c", "cat src/b.txt; echo no >&2; echo c > src/c.txt"});
  if (!ran && ran.error().reason == "sandbox.unavailable") {
    return skip_without_walls(ran.error().message);
  }
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->exit_code, 0);
  EXPECT_FALSE(ran->breach);
  EXPECT_EQ(ran->standard_output, "b\n");
  EXPECT_EQ(ran->standard_error, "no\n");
  EXPECT_TRUE(ran->is_staged);
  EXPECT_EQ(ran->staged_paths, 1U);
  EXPECT_THAT(*transaction->list("src"), ElementsAre("b.txt", "c.txt"));
  EXPECT_THAT(*transaction->list(""),
              ElementsAre("a.txt", "fixed/", "galley.toml", "secret/", "src/"));
  EXPECT_EQ(transaction->run({"false"})->exit_code, 1);
}

TEST_F(FrontDoor, AConflictIsStagedWithMarkers) {
  Workspace& workspace = open();
  auto mine = workspace.begin_stored({.agent = "ann"});
  ASSERT_TRUE(mine->edit("a.txt", "two", "mine"));
  tree_.write("a.txt", "one\ntheirs\nthree\n");
  const auto outcome = mine->commit();
  ASSERT_TRUE(outcome && std::holds_alternative<Conflict>(*outcome));
  const auto without_lines = mine->stage_with_markers(outcome->proposal);
  ASSERT_TRUE(without_lines) << without_lines.error().message;
  EXPECT_THAT(*without_lines, IsEmpty());
  EXPECT_THAT(*mine->read("a.txt"), HasSubstr("theirs\n"));
  EXPECT_THAT(*mine->read("a.txt"), HasSubstr("mine\n>>>>>>>"));
  tree_.write("bin", std::string("\0\1", 2));
  auto other = workspace.begin_stored({.agent = "ann"});
  ASSERT_TRUE(other->write("bin", std::string("\0\2", 2)));
  tree_.write("bin", std::string("\0\3", 2));
  const auto lines = other->stage_with_markers(other->proposal());
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 1U);
  EXPECT_EQ(lines->front().path.str(), "bin");
}

TEST_F(FrontDoor, FixStagesTheFixesAndReturnsThemAsAProposal) {
  tree_.write("galley.toml",
              "[[validator]]\nname = \"upper\"\nfix = true\npaths = [\"*.txt\"]\n"
              "command = [\"sed\", \"-i\", \"s/two/TWO/\", \"a.txt\"]\n");
  auto transaction = open({.trusts_configuration = true}).begin();
  ASSERT_TRUE(transaction->edit("a.txt", "one", "1"));
  const auto fixed = transaction->fix();
  if (!fixed && fixed.error().reason == "sandbox.unavailable") {
    return skip_without_walls(fixed.error().message);
  }
  ASSERT_TRUE(fixed) << fixed.error().message;
  ASSERT_EQ(fixed->changes().size(), 1U);
  EXPECT_EQ(*transaction->read("a.txt"), "1\nTWO\nthree\n");
}

// --- history ----------------------------------------------------------------------------------

TEST_F(FrontDoor, UndoAndRedoAreNewCommits) {
  Workspace& workspace = open();
  commit("a.txt", "changed\n");
  const auto undone = workspace.undo("", {}, {.agent = "bob"});
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_EQ(std::get<Receipt>(*undone).id.str(), "2");
  EXPECT_EQ(tree_.read("a.txt"), "one\ntwo\nthree\n");
  ASSERT_TRUE(workspace.redo());
  EXPECT_EQ(tree_.read("a.txt"), "changed\n");
  const auto log = workspace.log();
  ASSERT_TRUE(log);
  ASSERT_EQ(log->size(), 3U);
  EXPECT_EQ(log->at(1).agent, "bob");
  EXPECT_EQ(log->at(1).tool, "undo");
  EXPECT_EQ(log->at(0).tool, "redo");
}

TEST_F(FrontDoor, AnUndoIsJudgedByTheGate) {
  Workspace& workspace = open();
  commit("lib/x", "x\n");
  const auto undone = workspace.undo("1", {}, {.agent = "reader"});  // may write src/ only
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_TRUE(std::holds_alternative<Refused>(*undone));
  EXPECT_EQ(tree_.read("lib/x"), "x\n");
}

TEST_F(FrontDoor, AnUndoThatDoesNotFitIsAConflictWithItsPaths) {
  Workspace& workspace = open();
  commit("a.txt", "one\nTWO\nthree\n");
  commit("a.txt", "one\nZWEI\nthree\n");
  const auto undone = workspace.undo("1");
  ASSERT_TRUE(undone) << undone.error().message;
  const auto* conflict = std::get_if<Conflict>(&*undone);
  ASSERT_NE(conflict, nullptr);
  EXPECT_EQ(conflict->reason, "undo.conflict");
  ASSERT_EQ(conflict->paths.size(), 1U);
  EXPECT_EQ(conflict->paths[0].path.str(), "a.txt");
}

TEST_F(FrontDoor, HistoryFunctionsReportAnEmptyHistory) {
  Workspace& workspace = open();
  EXPECT_THAT(*workspace.log(), IsEmpty());
  EXPECT_EQ(workspace.undo().error().reason, "history.empty");
  EXPECT_EQ(workspace.redo().error().reason, "history.empty");
  EXPECT_EQ(workspace.blame("a.txt").error().reason, "history.empty");
}

TEST_F(FrontDoor, ShowAndBlameHideFilesThatAnAgentMayNotRead) {
  Workspace& workspace = open();
  commit("secret/key", "new\n");
  EXPECT_EQ(workspace.show("1")->changes().size(), 1U);
  EXPECT_TRUE(workspace.show("1", "reader")->is_empty());
  EXPECT_EQ(workspace.blame("secret/key")->lines.size(), 1U);
  EXPECT_EQ(workspace.blame("secret/key", "reader").error().reason, "policy.capability");
}

TEST_F(FrontDoor, AQueryReturnsRows) {
  Workspace& workspace = open();
  commit("a.txt", "changed\n");
  const auto answer = workspace.query("SELECT count(*) FROM transactions");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(std::get<int64_t>(answer->rows.at(0).at(0)), 1);
}

// --- own tools --------------------------------------------------------------------------------

ToolDefinition reading_tool(
    const std::string& name, std::function<Result<std::string>(ToolRun&)> run = [](ToolRun&) {
      return Result<std::string>("{}");
    }) {
  ToolDefinition made;
  made.info.name = name;
  made.info.description = "Does what the test wants.";
  made.info.input_schema = made.info.output_schema = kAnyObject;
  made.info.capabilities = {"fs:read"};
  made.run = std::move(run);
  return made;
}

/// Writes `text` to `path` and returns the content that the file had before.
Result<std::string> swap_text(ToolRun& call) {
  const auto before = call.read(call.text("path"));
  if (!before) return before.error();
  if (auto written = call.write(call.text("path"), call.text("text")); !written) {
    return written.error();
  }
  return "{\"bytes\": " + std::to_string(before->size()) + "}";
}

TEST_F(FrontDoor, ACallOfAnOwnToolIsStagedAndRecorded) {
  Workspace& workspace = open({.tools = {reading_tool("Swap", swap_text)}});
  auto transaction = workspace.begin_stored({.agent = "ann"});
  const auto called = transaction->call("Swap", R"({"path": "a.txt", "text": "new\n"})");
  ASSERT_TRUE(called) << called.error().message;
  EXPECT_EQ(called.json(), R"({"bytes":14})");
  EXPECT_EQ(*transaction->read("a.txt"), "new\n");
  EXPECT_EQ(tree_.read("a.txt"), "one\ntwo\nthree\n");
  EXPECT_THAT(tree_.read(".galley/audit.jsonl"), HasSubstr("\"Swap\""));
}

TEST_F(FrontDoor, AnOwnToolThatFailsStagesNothing) {
  Workspace& workspace =
      open({.tools = {reading_tool("Half", [](ToolRun& call) -> Result<std::string> {
              EXPECT_TRUE(call.write("half", "x"));
              return Error{ErrorKind::kRefused, "half.way", "no further"};
            })}});
  auto transaction = workspace.begin();
  const auto called = transaction->call("Half", "{}");
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().reason, "half.way");
  EXPECT_EQ(transaction->read("half").error().kind, ErrorKind::kNotFound);
}

TEST_F(FrontDoor, AnOwnToolHasThePermissionsOfItsCaller) {
  Workspace& workspace = open({.tools = {reading_tool("Swap", swap_text)}});
  const auto reason = [&](const std::string& agent, const std::string& args) {
    const auto called = workspace.begin({.agent = agent})->call("Swap", args);
    return called ? "" : called.error().reason;
  };
  EXPECT_NE(reason("reader", R"({"path": "secret/key"})"), "");
  EXPECT_NE(reason("reader", R"({"path": "a.txt"})"), "") << "reader may write src/ only";
  EXPECT_EQ(reason("", R"({"path": "a.txt"})"), "");
  EXPECT_NE(reason("", R"({"path": "fixed/f"})"), "");
  EXPECT_NE(reason("", R"({"path": ".galley/x"})"), "");
  EXPECT_EQ(reason("", R"({"path": "../outside"})"), "path.outside");
}

TEST_F(FrontDoor, AReadOnlyToolMayNotWrite) {
  ToolDefinition swap = reading_tool("Swap", swap_text);
  swap.info.annotations.read_only = true;
  auto transaction = open({.tools = {swap}}).begin();
  EXPECT_EQ(transaction->call("Swap", R"({"path": "a.txt"})").error().reason, "tool.read_only");
}

TEST_F(FrontDoor, ANameThatIsTakenOrABadSchemaIsAnErrorThatNamesTheTool) {
  const auto refused = [&](ToolDefinition definition) {
    const auto opened = Workspace::open(tree_.path(), {.tools = {std::move(definition)}});
    return opened ? std::string() : opened.error().reason + " " + opened.error().message;
  };
  EXPECT_THAT(refused(reading_tool("Read")), HasSubstr("tool.exists a tool named 'Read'"));
  EXPECT_THAT(refused(reading_tool("no name")), HasSubstr("tool.name 'no name'"));
  ToolDefinition bad = reading_tool("Bad");
  bad.info.input_schema = R"({"type": "objekt"})";
  EXPECT_THAT(refused(bad), HasSubstr("tool.schema"));
  EXPECT_THAT(refused(bad), HasSubstr("'Bad'"));
  EXPECT_THAT(refused(reading_tool("Empty", nullptr)),
              HasSubstr("tool.no_function the tool 'Empty'"));
  Workspace& workspace = open();
  EXPECT_THAT(workspace.add_tool(reading_tool("Edit")).error().message, HasSubstr("'Edit'"));
}

TEST_F(FrontDoor, AToolIsAddedAndRemovedWhileTheWorkspaceIsOpen) {
  Workspace& workspace = open();
  auto transaction = workspace.begin();
  EXPECT_EQ(transaction->call("Mine", "{}").error().reason, "tool.unknown");
  ASSERT_TRUE(workspace.add_tool(reading_tool("Mine", [&](ToolRun&) -> Result<std::string> {
    EXPECT_TRUE(workspace.remove_tool("Mine"));  // a call that runs goes on
    return std::string("{\"still\": \"here\"}");
  })));
  EXPECT_EQ(workspace.tools()->back().name, "Mine");
  EXPECT_EQ(transaction->call("Mine", "{}").json(), R"({"still":"here"})");
  EXPECT_EQ(transaction->call("Mine", "{}").error().reason, "tool.unknown");
  EXPECT_EQ(workspace.remove_tool("Mine").error().reason, "tool.unknown");
}

TEST_F(FrontDoor, HasToolAndClearToolsSeeAllTools) {
  Workspace& workspace = open();
  EXPECT_TRUE(workspace.has_tool("Read"));
  EXPECT_FALSE(workspace.has_tool("Mine"));
  ASSERT_TRUE(workspace.clear_tools());
  EXPECT_FALSE(workspace.has_tool("Read"));
  EXPECT_TRUE(workspace.tools()->empty());
  ASSERT_TRUE(workspace.add_tool(reading_tool("Mine")));
  EXPECT_TRUE(workspace.has_tool("Mine"));
}

TEST_F(FrontDoor, InvalidAnswersAndExceptionsOfAnOwnToolAreErrors) {
  Workspace& workspace = open();
  ASSERT_TRUE(workspace.add_tool(
      reading_tool("NoJson", [](ToolRun&) { return Result<std::string>("x"); })));
  ASSERT_TRUE(workspace.add_tool(
      reading_tool("Array", [](ToolRun&) { return Result<std::string>("[]"); })));
  ASSERT_TRUE(workspace.add_tool(reading_tool(
      "Throws", [](ToolRun&) -> Result<std::string> { throw std::runtime_error("thrown"); })));
  auto transaction = workspace.begin();
  EXPECT_EQ(transaction->call("NoJson", "{}").error().reason, "tool.output");
  EXPECT_EQ(transaction->call("Array", "{}").error().reason, "tool.output");
  EXPECT_EQ(transaction->call("Throws", "{}").error().reason, "tool.threw");
}

TEST_F(FrontDoor, AnOwnToolSeesItsArgumentsAndTheTree) {
  Workspace& workspace = open(
      {.tools = {reading_tool("Look", [](ToolRun& call) -> Result<std::string> {
         EXPECT_EQ(call.text("name"), "n");
         EXPECT_EQ(call.text("count", "none"), "none");
         EXPECT_EQ(call.number("count"), 7);
         EXPECT_TRUE(call.flag("yes"));
         EXPECT_EQ(call.agent(), "ann");
         EXPECT_FALSE(call.should_stop());
         EXPECT_THAT(*call.list("."), ElementsAre("a.txt", "fixed/", "galley.toml", "secret/"));
         EXPECT_EQ(*call.kind("fixed"), FileKind::kDirectory);
         EXPECT_EQ(*call.kind("gone"), FileKind::kAbsent);
         EXPECT_TRUE(call.move("a.txt", "b.txt"));
         EXPECT_TRUE(call.remove("b.txt"));
         return call.arguments();
       })}});
  const auto called =
      workspace.begin({.agent = "ann"})->call("Look", R"({"name":"n","count":7,"yes":true})");
  ASSERT_TRUE(called) << called.error().message;
}

}  // namespace
}  // namespace galley
