// How tools are found and run (docs/tools.md), through the front door.
#include <galley/workspace.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <any>
#include <atomic>
#include <chrono>
#include <latch>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "doubles/fake_command_runner.h"
#include "engine/calls/executor.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/workspace_state.h"
#include "support/manual_clock.h"
#include "support/temp_directory.h"
#include "tests/engine/pipeline/any_object.h"

namespace galley {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ToolDefinition writing_tool(const std::string& name, ToolDefinition::Run run) {
  ToolDefinition made;
  made.info.name = name;
  made.info.description = "Does what the test wants.";
  made.info.input_schema = made.info.output_schema = kAnyObject;
  made.info.capabilities = {"fs:read", "fs:write"};
  made.run = std::move(run);
  return made;
}

ToolDefinition::Run answering(std::string text) {
  return [text = std::move(text)](ToolRun&) { return Result<std::string>(text); };
}

class ToolRuns : public ::testing::Test {
 protected:
  ToolRuns() {
    for (int i = 0; i < 20; ++i) {
      tree_.write("f" + std::to_string(i), "file " + std::to_string(i) + "\n");
    }
  }

  Workspace& open(WorkspaceOptions options = {}) {
    options.clock = &clock_;
    options.runner = &runner_;
    auto opened = Workspace::open(tree_.path(), std::move(options));
    EXPECT_TRUE(opened) << opened.error().message;
    workspace_ = *std::move(opened);
    return *workspace_;
  }
  std::vector<json> records() {
    std::vector<json> all;
    if (!tree_.exists(".galley/audit.jsonl")) return all;
    std::istringstream lines(tree_.read(".galley/audit.jsonl"));
    for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
    return all;
  }
  static std::string said(const CallResult& result) {
    return result ? result.json() : result.error().reason;
  }
  static std::vector<ToolCall> reads(const std::vector<std::string>& paths) {
    json calls = json::array();
    for (const std::string& path : paths) {
      calls.push_back({{"tool", "Read"}, {"args", {{"file_path", path}}}});
    }
    return *parse_calls(calls.dump());
  }

  TempDirectory tree_;
  ManualClock clock_;
  FakeCommandRunner runner_;
  std::unique_ptr<Workspace> workspace_;
};

// --- which tool a name means ------------------------------------------------------------------

TEST_F(ToolRuns, AFallbackAnswersIfAToolFails) {
  ToolDefinition broken = writing_tool("Search", [](ToolRun&) -> Result<std::string> {
    return fail(ErrorKind::kIo, "tool.garbage", "the index answered nonsense");
  });
  broken.priority = 5;
  broken.info.annotations.read_only = broken.info.annotations.idempotent = true;
  ToolDefinition away = writing_tool("Search", {});
  away.priority = 9;
  away.needs = {"index"};
  away.make = [](const ToolDefinition::Dependencies&) -> Result<ToolDefinition::Instance> {
    return ToolDefinition::Instance{answering(R"({"by":"index"})")};
  };
  ToolDefinition plain = writing_tool("Search", answering(R"({"by":"hand"})"));
  plain.info.annotations.read_only = plain.info.annotations.idempotent = true;
  Workspace& workspace = open({.tools = {plain, broken, away}});
  EXPECT_EQ(workspace.tools()->back().name, "Search");
  auto transaction = workspace.begin();
  const CallResult result = transaction->call("Search", "{}");
  EXPECT_EQ(said(result), R"({"by":"hand"})");
  EXPECT_THAT(result.result().meta.warnings, Contains(HasSubstr("tool.garbage")));
  EXPECT_THAT(result.result().meta.warnings, Contains(HasSubstr("tool.dependency")));
}

TEST_F(ToolRuns, AnAgentSeesItsOwnToolsAndTheGlobalOnes) {
  ToolDefinition own = writing_tool("Plan", answering(R"({"whose":"code"})"));
  own.agents = {"code"};
  Workspace& workspace = open({.tools = {own, writing_tool("Note", answering("{}"))}});
  const auto names = [&](const std::string& agent) {
    std::vector<std::string> all;
    const auto tools = workspace.tools(agent);
    for (const ToolInfo& info : *tools) all.push_back(info.name);
    return all;
  };
  EXPECT_THAT(names("code"), Contains("Plan"));
  EXPECT_THAT(names("docs"), Not(Contains("Plan")));
  EXPECT_THAT(names("docs"), Contains("Note"));
  auto code = workspace.begin({.agent = "code"});
  auto docs = workspace.begin({.agent = "docs"});
  EXPECT_EQ(said(code->call("Plan", "{}")), R"({"whose":"code"})");
  EXPECT_EQ(said(docs->call("Plan", "{}")), "tool.not_available");
}

TEST_F(ToolRuns, AToolIsAvailableWhileItsCapabilityIsGranted) {
  ToolDefinition deploy = writing_tool("Deploy", answering("{}"));
  deploy.required_capabilities = {"custom:deploy"};
  Workspace& workspace = open({.tools = {deploy}});
  const auto sees = [&](const std::string& agent) {
    const auto tools = workspace.tools(agent);
    return std::any_of(tools->begin(), tools->end(),
                       [](const ToolInfo& info) { return info.name == "Deploy"; });
  };
  auto bot = workspace.begin({.agent = "bot"});
  EXPECT_FALSE(sees("bot"));
  EXPECT_EQ(said(bot->call("Deploy", "{}")), "tool.not_available");
  ASSERT_TRUE(workspace.grant("bot", "custom:deploy", "ann"));
  EXPECT_TRUE(sees("bot"));
  EXPECT_FALSE(sees("other"));
  EXPECT_EQ(said(bot->call("Deploy", "{}")), "{}") << "in a transaction that was open before";
  ASSERT_TRUE(workspace.revoke("bot", "custom:deploy", "ann"));
  EXPECT_FALSE(sees("bot"));
  EXPECT_EQ(said(bot->call("Deploy", "{}")), "tool.not_available");
  EXPECT_TRUE(sees("")) << "people have every capability";
}

TEST_F(ToolRuns, TheTextOfAnExceptionIsNotInTheMessage) {
  ToolDefinition unmade = writing_tool("Unmade", {});
  unmade.make = [](const ToolDefinition::Dependencies&) -> Result<ToolDefinition::Instance> {
    throw std::runtime_error("the inside of the maker");
  };
  ToolDefinition odd = writing_tool("Odd", {});
  odd.make = [](const ToolDefinition::Dependencies&) -> Result<ToolDefinition::Instance> {
    throw 7;  // NOLINT(hicpp-exception-baseclass)
  };
  Workspace& workspace = open({.tools = {unmade, odd}});
  auto transaction = workspace.begin();
  for (const char* name : {"Unmade", "Odd"}) {
    const CallResult called = transaction->call(name, "{}");
    EXPECT_EQ(said(called), "tool.threw");
    EXPECT_THAT(called.error().message, Not(HasSubstr("inside")));
  }
  EXPECT_EQ(transaction->call("Unmade", "{}").result().error->cause, "the inside of the maker");
  EXPECT_EQ(transaction->call("Odd", "{}").result().error->cause,
            "an exception of an unknown type");
}

TEST_F(ToolRuns, AToolIsDisabledAndEnabledWhileTheWorkspaceIsOpen) {
  Workspace& workspace = open();
  auto transaction = workspace.begin();
  ASSERT_TRUE(workspace.enable_tool("Read", false));
  EXPECT_EQ(said(transaction->call("Read", R"({"file_path":"f1"})")), "tool.disabled");
  ASSERT_TRUE(workspace.enable_tool("Read", true));
  EXPECT_TRUE(transaction->call("Read", R"({"file_path":"f1"})"));
  EXPECT_EQ(workspace.enable_tool("Raed", true).error().reason, "tool.unknown");
}

TEST_F(ToolRuns, AToolThatTheConfigurationDisablesCannotBeEnabled) {
  tree_.write("galley.toml", "[tools.Bash]\nenabled = false\n");
  Workspace& workspace = open();
  auto transaction = workspace.begin();
  EXPECT_EQ(said(transaction->call("Bash", R"({"command":"true"})")), "tool.disabled");
  EXPECT_EQ(workspace.enable_tool("Bash", true).error().reason, "tool.disabled");
}

TEST_F(ToolRuns, ATableForAnUnknownToolGivesANotice) {
  tree_.write("galley.toml", "[tools.Raed]\ntimeout_ms = 10\n");
  EXPECT_THAT(open().notices(), Contains(HasSubstr("did you mean 'Read'?")));
}

TEST_F(ToolRuns, AFactoryGetsItsDependenciesAndItsConfiguration) {
  tree_.write("galley.toml", "[tools.Greet.config]\nlanguage = \"la\"\n");
  int made = 0;
  int closed = 0;
  ToolDefinition greet = writing_tool("Greet", {});
  greet.needs = {"name"};
  greet.make = [&](const ToolDefinition::Dependencies& given) -> Result<ToolDefinition::Instance> {
    ++made;
    EXPECT_FALSE(given.contains("unrelated"));
    const auto config = std::any_cast<std::map<std::string, std::string>>(given.at("config"));
    const std::string text =
        config.at("language") + " " + std::any_cast<std::string>(given.at("name"));
    return ToolDefinition::Instance{
        answering(R"({"said":")" + text + "\"}"), {}, [&] { ++closed; }};
  };
  WorkspaceOptions options;
  options.trusts_configuration = true;
  options.dependencies = {{"name", std::string("Ave")}, {"unrelated", 1}};
  options.tools = {greet};
  Workspace& workspace = open(std::move(options));
  auto transaction = workspace.begin();
  EXPECT_EQ(made, 0);
  EXPECT_EQ(said(transaction->call("Greet", "{}")), R"({"said":"la Ave"})");
  EXPECT_EQ(said(transaction->call("Greet", "{}")), R"({"said":"la Ave"})");
  EXPECT_EQ(made, 1);
  ASSERT_TRUE(workspace.remove_tool("Greet"));
  EXPECT_EQ(closed, 1);
}

TEST_F(ToolRuns, ToolHealthCallsTheHealthCheckOfTheTool) {
  Result<void> health;
  ToolDefinition greet = writing_tool("Greet", {});
  greet.make = [&](const ToolDefinition::Dependencies&) -> Result<ToolDefinition::Instance> {
    return ToolDefinition::Instance{answering("{}"), [&] { return health; }, {}};
  };
  WorkspaceOptions options;
  options.tools = {greet};
  Workspace& workspace = open(std::move(options));
  EXPECT_EQ(said(workspace.begin()->call("Greet", "{}")), "{}");
  EXPECT_TRUE(workspace.tool_health("Greet")->healthy);
  EXPECT_EQ(workspace.tool_health("Greet")->error, "");
  health = Error{ErrorKind::kIo, "greet.hoarse", "Workspace not accessible", "", 0};
  EXPECT_FALSE(workspace.tool_health("Greet")->healthy);
  EXPECT_THAT(workspace.tool_health("Greet")->error, HasSubstr("Workspace not accessible"));
  EXPECT_TRUE(workspace.tool_health("Read")->healthy);
  EXPECT_EQ(workspace.tool_health("Raed").error().reason, "tool.unknown");
}

TEST_F(ToolRuns, ArgumentsAreCheckedWithoutACall) {
  Workspace& workspace = open();
  EXPECT_THAT(workspace.check_call("Write", R"({"file":"a","content":"b"})")->errors,
              ElementsAre());
  EXPECT_THAT(workspace.check_call("Write", R"({"file":"a"})")->errors,
              ElementsAre(HasSubstr("'content' is missing")));
  EXPECT_THAT(workspace.check_call("Write", "{")->errors, ElementsAre(HasSubstr("JSON")));
  EXPECT_THAT(workspace.check_call("Write", R"({"file":"../a","content":"b"})")->errors,
              ElementsAre(HasSubstr("leads out")));
  EXPECT_TRUE(workspace.check_call("Write", R"({"file":"a","content":"b"})")->valid);
  EXPECT_FALSE(workspace.check_call("Write", "{}")->valid);
  EXPECT_EQ(workspace.check_call("Wirte", "{}").error().reason, "tool.unknown");
  EXPECT_FALSE(tree_.exists(".galley"));
}

TEST_F(ToolRuns, CommandsOfSeveralTransactionsRunSideBySide) {
  std::latch all(4);
  std::atomic<int> waited = 0;
  runner_ = FakeCommandRunner([&](const Command&, Overlay&) -> Result<CommandResult> {
    all.count_down();
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!all.try_wait() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    if (all.try_wait()) ++waited;
    CommandResult result;
    result.exit_code = 0;
    return result;
  });
  Workspace& workspace = open();
  std::atomic<int> done = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        auto transaction = workspace.begin();
        if (transaction->call("Bash", R"({"command": "make"})")) ++done;
      });
    }
  }
  EXPECT_EQ(done, 4);
  EXPECT_EQ(waited, 4) << "each may take 1 GiB";
}

TEST_F(ToolRuns, OneToolEqualsItsEntryInTheList) {
  Workspace& workspace = open();
  const auto tools = workspace.tools();
  for (const ToolInfo& listed : *tools) {
    const auto one = workspace.tool(listed.name);
    ASSERT_TRUE(one) << listed.name;
    EXPECT_EQ(one->description, listed.description);
    EXPECT_EQ(one->input_schema, listed.input_schema);
  }
  EXPECT_EQ(workspace.tool("Wirte").error().reason, "tool.unknown");
  ASSERT_TRUE(workspace.enable_tool("Write", false));
  EXPECT_EQ(workspace.tool("Write").error().reason, "tool.disabled");
}

// --- sessions that only read ------------------------------------------------------------------

TEST_F(ToolRuns, ASessionThatOnlyReadsStagesAndCommitsNothing) {
  Workspace& workspace = open();
  auto transaction = workspace.begin({.reads_only = true});
  EXPECT_TRUE(transaction->call("Read", R"({"file_path":"f1"})"));
  EXPECT_EQ(said(transaction->call("Write", R"({"file":"x","content":""})")), "tool.not_read_only");
  EXPECT_EQ(transaction->write("x", "").error().reason, "transaction.reads_only");
  Command command;
  command.argv = {"true"};
  EXPECT_EQ(inner(*transaction).run(command).error().reason, "transaction.reads_only");
  EXPECT_TRUE(runner_.commands().empty());
  EXPECT_EQ(transaction->commit().error().reason, "transaction.reads_only");
  EXPECT_TRUE(transaction->rollback());
}

TEST_F(ToolRuns, AWorkspaceThatOnlyReadsListsOnlyToolsThatRead) {
  Workspace& workspace = open({.reads_only = true});
  const auto tools = workspace.tools();
  for (const ToolInfo& info : *tools) EXPECT_TRUE(info.annotations.read_only) << info.name;
  auto transaction = workspace.begin();
  EXPECT_EQ(said(transaction->call("Delete", R"({"path":"f1"})")), "tool.not_read_only");
}

TEST_F(ToolRuns, ADeterministicCallSaysWhichClockItsProgramsSaw) {
  Workspace& workspace = open({.is_deterministic = true});
  auto transaction = workspace.begin();
  const CallResult result = transaction->call("Bash", R"({"command":"date"})");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(runner_.commands().at(0).is_deterministic);
  EXPECT_THAT(result.result().meta.warnings, Contains(HasSubstr("clock")));
  EXPECT_THAT(result.result().meta.warnings, Contains(HasSubstr("process ids")));
}

// --- tools that call tools --------------------------------------------------------------------

ToolDefinition renamer() {
  return writing_tool("Rename", [](ToolRun& call) -> Result<std::string> {
    const auto read = call.call("Read", R"({"file_path":"f1"})");
    if (!read) return read.error();
    const auto moved = call.call("Move", R"({"source":"f1","destination":"g1"})");
    if (!moved) return moved.error();
    if (call.flag("fails")) return fail(ErrorKind::kConflict, "custom.failed", "as it was asked");
    return std::string("{}");
  });
}

TEST_F(ToolRuns, NestedCallsAreRecordedSeparately) {
  Workspace& workspace = open({.tools = {renamer()}});
  auto transaction = workspace.begin_stored({.agent = "ann"});
  ASSERT_EQ(said(transaction->call("Rename", "{}")), "{}");
  EXPECT_EQ(*transaction->read("g1"), "file 1\n");
  std::map<std::string, json> by_tool;
  for (const json& record : records()) {
    if (record["kind"] == "call") by_tool[record["tool"]] = record;
  }
  ASSERT_EQ(by_tool.size(), 3U);
  EXPECT_EQ(by_tool["Move"]["parent_execution_id"], by_tool["Rename"]["execution_id"]);
  EXPECT_EQ(by_tool["Read"]["parent_execution_id"], by_tool["Rename"]["execution_id"]);
  EXPECT_FALSE(by_tool["Rename"].contains("parent_execution_id"));
  EXPECT_EQ(by_tool["Move"]["agent"], "ann");
  EXPECT_EQ(by_tool["Move"]["reason"], "called by the tool Rename");
}

TEST_F(ToolRuns, ChangesOfNestedCallsAreDroppedIfTheToolFails) {
  Workspace& workspace = open({.tools = {renamer()}});
  auto transaction = workspace.begin();
  EXPECT_EQ(said(transaction->call("Rename", R"({"fails":true})")), "custom.failed");
  EXPECT_TRUE(transaction->proposal().is_empty());
  EXPECT_EQ(*transaction->read("f1"), "file 1\n");
}

TEST_F(ToolRuns, AToolThatCallsItselfIsRefused) {
  const auto calling = [](std::string other) {
    return [other = std::move(other)](ToolRun& call) -> Result<std::string> {
      const auto inner = call.call(other, "{}");
      if (!inner) return inner.error();
      return *inner;
    };
  };
  Workspace& workspace =
      open({.tools = {writing_tool("Self", calling("Self")), writing_tool("A", calling("B")),
                      writing_tool("B", calling("A"))}});
  auto transaction = workspace.begin();
  EXPECT_EQ(said(transaction->call("Self", "{}")), "call.cycle");
  const CallResult round = transaction->call("A", "{}");
  EXPECT_EQ(said(round), "call.cycle");
  EXPECT_THAT(round.error().message, HasSubstr("A -> B -> A"));
}

TEST_F(ToolRuns, ANestedCallHasThePermissionsOfTheCaller) {
  tree_.write("galley.toml", "[agents.reader]\ncapabilities = [\"fs:read\"]\n");
  Workspace& workspace = open({.tools = {renamer()}});
  auto transaction = workspace.begin({.agent = "reader"});
  EXPECT_THAT(said(transaction->call("Rename", "{}")), HasSubstr("polic"));
  EXPECT_TRUE(transaction->proposal().is_empty());
}

// --- between a call and its tool --------------------------------------------------------------

TEST_F(ToolRuns, AReadOfTheSameContentIsAnsweredFromTheCache) {
  Workspace& workspace = open();
  auto first = workspace.begin();
  const CallResult read = first->call("Read", R"({"file_path":"f1"})");
  EXPECT_FALSE(read.result().meta.cached);
  auto second = workspace.begin();
  const CallResult again = second->call("Read", R"({"file_path":"f1"})");
  EXPECT_TRUE(again.result().meta.cached);
  EXPECT_EQ(again.json(), read.json());
  ASSERT_TRUE(second->write("f1", "new\n"));
  const CallResult changed = second->call("Read", R"({"file_path":"f1"})");
  EXPECT_FALSE(changed.result().meta.cached);
  EXPECT_THAT(changed.json(), HasSubstr("new"));
}

TEST_F(ToolRuns, TheCacheDoesNotAnswerAnAgentThatMayNotReadTheFile) {
  tree_.write("galley.toml", "[agents.narrow]\ncapabilities = [\"fs:read:f2\"]\n");
  Workspace& workspace = open();
  EXPECT_TRUE(workspace.begin()->call("Read", R"({"file_path":"f1"})"));
  auto narrow = workspace.begin({.agent = "narrow"});
  EXPECT_FALSE(narrow->call("Read", R"({"file_path":"f1"})"));
}

TEST_F(ToolRuns, LimitsOfTheConfigurationApply) {
  tree_.write("galley.toml", "[tools.Read]\ncalls_per_minute = 2\n");
  Workspace& workspace = open();
  auto transaction = workspace.begin();
  EXPECT_TRUE(transaction->call("Read", R"({"file_path":"f1"})"));
  EXPECT_TRUE(transaction->call("Read", R"({"file_path":"f2"})"));
  EXPECT_EQ(said(transaction->call("Read", R"({"file_path":"f3"})")), "limit.rate");
  clock_.pass(std::chrono::minutes(1));
  EXPECT_TRUE(transaction->call("Read", R"({"file_path":"f3"})"));
}

TEST_F(ToolRuns, TimeMemoryAndCallsAtOnceAreThoseOfTheConfiguration) {
  tree_.write("galley.toml",
              "[tools.Own]\ntimeout_ms = 1000\nmax_concurrent = 1\nmax_queued = 0\n"
              "[tools.Bash]\nmax_memory_bytes = 100000000\n");
  std::string second;
  std::chrono::milliseconds spent{900};
  Workspace& workspace = open({.tools = {writing_tool("Own", [&](ToolRun&) -> Result<std::string> {
                                 second = said(workspace_->begin()->call("Own", "{}"));
                                 clock_.pass(spent);
                                 return std::string("{}");
                               })}});
  auto transaction = workspace.begin();
  EXPECT_EQ(said(transaction->call("Own", "{}")), "{}");
  EXPECT_EQ(second, "limit.tool_queue");
  spent = std::chrono::milliseconds(1100);
  EXPECT_EQ(said(transaction->call("Own", "{}")), "tool.timeout");
  EXPECT_TRUE(transaction->call("Bash", R"({"command":"true"})"));
  EXPECT_EQ(runner_.commands().back().limits.max_memory_bytes, 100'000'000U);
}

TEST_F(ToolRuns, AToolThatThrowsThreeTimesIsUnhealthyForAMinute) {
  int runs = 0;
  Workspace& workspace = open({.tools = {writing_tool("Bad", [&](ToolRun&) -> Result<std::string> {
                                 ++runs;
                                 throw std::runtime_error("broken");
                               })}});
  auto transaction = workspace.begin();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(said(transaction->call("Bad", "{}")), "tool.threw");
  EXPECT_EQ(said(transaction->call("Bad", "{}")), "tool.unhealthy");
  EXPECT_EQ(runs, 3);
  clock_.pass(std::chrono::minutes(1));
  EXPECT_EQ(said(transaction->call("Bad", "{}")), "tool.threw");
}

TEST_F(ToolRuns, AToolGetsOnlyTheSecretsOfItsTable) {
  tree_.write("galley.toml", "[tools.Bash]\nsecrets = [\"OTHER\"]\n");
  Workspace& workspace = open();
  auto transaction = workspace.begin();
  CallOptions options;
  options.secrets = [](const std::string&) { return std::optional<std::string>("value-of-it"); };
  EXPECT_EQ(said(transaction->call("Bash", R"({"command":"echo $ENV.TOKEN"})", options)),
            "secret.unknown");
  EXPECT_TRUE(transaction->call("Bash", R"({"command":"echo $ENV.OTHER"})", options));
  EXPECT_EQ(runner_.commands().back().environment.at("OTHER"), "value-of-it");
}

// --- reads side by side -----------------------------------------------------------------------

TEST_F(ToolRuns, ParallelReadsAnswerInTheOrderOfTheCalls) {
  Workspace& workspace = open();
  auto transaction = workspace.begin_stored();
  ASSERT_TRUE(transaction->write("f7", "staged\n"));
  std::vector<std::string> paths;
  for (int i = 0; i < 20; ++i) paths.push_back("f" + std::to_string(i));
  const size_t before = records().size();
  const auto results = inner(*transaction).call_all(reads(paths));
  ASSERT_EQ(results.size(), 20U);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(results[i].ok) << i;
    const std::string path = "f" + std::to_string(i);
    EXPECT_EQ((*results[i].data)["filePath"], path);
    const std::string text = (*results[i].data)["content"];
    EXPECT_THAT(text, HasSubstr(i == 7 ? "staged" : "file " + std::to_string(i)));
    EXPECT_FALSE(results[i].meta.execution_id.empty());
  }
  const auto all = records();
  ASSERT_EQ(all.size(), before + 20);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(all[before + i]["input"]["file_path"], paths[i]);
  EXPECT_EQ(overlay_of(*transaction).reads().size(), 19U) << "each is read as if in turn";
}

TEST_F(ToolRuns, TheFirstReadThatFailsEndsTheList) {
  Workspace& workspace = open();
  auto transaction = workspace.begin();
  const auto results = inner(*transaction).call_all(reads({"f1", "f2", "none", "f3", "f4"}));
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results.back().error->reason, "path.not_found");
}

TEST_F(ToolRuns, ParallelReadsAreCheckedAgainstTheRules) {
  tree_.write("galley.toml", "[agents.narrow]\ncapabilities = [\"fs:read:f1*\"]\n");
  Workspace& workspace = open();
  auto transaction = workspace.begin({.agent = "narrow"});
  const auto results =
      inner(*transaction).call_all(reads({"f1", "f10", "f11", "f12", "f2", "f13"}));
  ASSERT_EQ(results.size(), 5U);
  EXPECT_EQ(results.back().error->code, ToolErrorCode::kPermission);
}

}  // namespace
}  // namespace galley
